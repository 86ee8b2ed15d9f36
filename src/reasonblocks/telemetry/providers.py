"""Who a chat model's provider is, and whether somebody else already makes spans of its calls."""

import functools
import re
import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..settings import OtelChat


class Provider(NamedTuple):
    """A provider as the conventions name it, and the packages that an instrumentation of its client wraps."""

    name: str
    packages: frozenset[str] = frozenset()


_PROVIDERS = {
    "langchain_anthropic": Provider("anthropic", frozenset({"anthropic"})),
    "langchain_aws": Provider("aws.bedrock", frozenset({"boto3", "botocore"})),
    "langchain_azure_ai": Provider("azure.ai.inference", frozenset({"azure-ai-inference"})),
    "langchain_cohere": Provider("cohere", frozenset({"cohere"})),
    "langchain_deepseek": Provider("deepseek", frozenset({"openai"})),
    "langchain_google_genai": Provider("gcp.gemini", frozenset({"google-genai", "google-generativeai"})),
    "langchain_google_vertexai": Provider("gcp.vertex_ai", frozenset({"google-cloud-aiplatform", "google-genai"})),
    "langchain_groq": Provider("groq", frozenset({"groq"})),
    "langchain_ibm": Provider("ibm.watsonx.ai", frozenset({"ibm-watsonx-ai"})),
    "langchain_mistralai": Provider("mistral_ai", frozenset({"mistralai"})),
    "langchain_ollama": Provider("ollama", frozenset({"ollama"})),
    "langchain_openai": Provider("openai", frozenset({"openai"})),
    "langchain_perplexity": Provider("perplexity", frozenset({"openai"})),
    "langchain_xai": Provider("x_ai", frozenset({"openai"})),
}
_AZURE_OPENAI = Provider("azure.ai.openai", frozenset({"openai"}))
_FRAMEWORKS = ("langchain", "langgraph")
_CLIENTS = frozenset().union(*(provider.packages for provider in _PROVIDERS.values())) - {"boto3", "botocore"}
_INSTRUMENTOR = "opentelemetry.instrumentation.instrumentor"


@dataclass(frozen=True, slots=True)
class Others:
    """What somebody else makes spans of."""

    calls: bool = False
    tools: bool = False


NOBODY = Others()


@functools.lru_cache(64)
def provider_of(kind: type[Any]) -> Provider | None:
    """The provider of a chat model's class, by the package that it, or the class it extends, comes from."""
    for ancestor in kind.__mro__:
        provider = _PROVIDERS.get(ancestor.__module__.partition(".")[0])
        if provider is not None:
            return _AZURE_OPENAI if ancestor.__name__.startswith("Azure") and provider.name == "openai" else provider
    return None


def others(policy: OtelChat, provider: Provider | None) -> Others:
    """Who else makes spans of a model's calls and of tools, as far as the instrumentations of this process tell.

    One of LangChain does both. One of a provider's client does the calls, if it is the client that the model uses;
    where the provider is not known, any of them counts.
    """
    if policy != "auto":
        return Others(calls=policy == "off", tools=policy == "off")
    packages = _instrumented()
    if not packages:
        return NOBODY
    if any(package.startswith(_FRAMEWORKS) for package in packages):
        return Others(calls=True, tools=True)
    return Others(calls=not packages.isdisjoint(provider.packages if provider is not None else _CLIENTS))


def _instrumented() -> set[str]:
    """The packages that instrumentations which are switched on wrap; none where nobody has loaded any."""
    module = sys.modules.get(_INSTRUMENTOR)
    if module is None:
        return set()
    found: set[str] = set()
    kinds: list[Any] = module.BaseInstrumentor.__subclasses__()
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        instance = kind._instance
        if instance is not None and instance.is_instrumented_by_opentelemetry:
            found |= {_package(text) for text in instance.instrumentation_dependencies()}
    return found


def _package(requirement: str) -> str:
    """`openai >= 1.0` is about openai."""
    return re.split(r"[^A-Za-z0-9_.-]", requirement.strip(), maxsplit=1)[0].lower().replace("_", "-")
