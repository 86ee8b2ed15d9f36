"""Settings: constructor arguments first, then the environment; checked once, with errors that say which and why."""

import ipaddress
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from .errors import SettingsError
from .secret import Secret, mask

if TYPE_CHECKING:
    import httpx

CacheControl = Literal["always", "anthropic", "never"]
OtelChat = Literal["auto", "on", "off"]
Otel = Any
"""`None`, a switch, the address of a collector, or a tracer provider."""
DEFAULT_STEP_TIMEOUT = 2.0
SWITCHES: Mapping[str, bool] = {
    "e_traces_enabled": True,
    "monitors_enabled": True,
    "live_streaming_enabled": True,
    "steer": True,
    "allow_insecure_http": False,
}
"""The switches of a client, and what each of them is where nobody says."""
VARIABLES: Mapping[str, str] = {
    "REASONBLOCKS_DISABLED": (
        "`1` turns us into a no-op: agents run as if the middleware were not there. Read at each run, so it works in "
        "a hurry."
    ),
    "REASONBLOCKS_OTEL_CHAT": (
        "Whose the span of a model call is: `auto` finds out, `on` has ours be the call's, `off` somebody else's."
    ),
    "REASONBLOCKS_TRACEBACK": "`1` has the command line show a defect with all its lines.",
}
"""Variables that no argument stands for, and what they do."""
INSTALL_ENGINE = "pip install 'reasonblocks[engine]'"
_TRUE = ("1", "true", "yes", "on")
_FALSE = ("", "0", "false", "no", "off")


@dataclass(frozen=True)
class Connection:
    """Where rb-api is and the key for it."""

    base_url: "httpx.URL"
    key: Secret = field(repr=False)


def disabled() -> bool:
    """Whether REASONBLOCKS_DISABLED turns everything into a no-op; read at each run, so it works in a hurry."""
    return os.environ.get("REASONBLOCKS_DISABLED", "").strip().lower() in _TRUE


def resolve_connection(
    api_key: str | None, base_url: str | None, *, allow_insecure_http: bool | None = None
) -> Connection | None:
    """The connection that arguments and environment name; `None` where they name neither a key nor a URL."""
    key = _text("api_key", api_key) or _environment("API_KEY")
    url = _text("base_url", base_url) or _environment("BASE_URL")
    if key and not url:
        raise SettingsError(
            "an API key was given without a URL: pass base_url=... or set REASONBLOCKS_BASE_URL to the address of "
            "your rb-api, for example https://rb-api.example.com"
        )
    if url and not key:
        raise SettingsError(
            f"base_url is {mask(url)!r} but there is no API key: pass api_key=... or set REASONBLOCKS_API_KEY"
        )
    if not url or not key:
        return None
    allow = switch("allow_insecure_http", allow_insecure_http)
    return Connection(_checked_url(url, allow), Secret(_checked_key(key)))


def no_engine(why: str) -> str:
    """What to do where the embedded engine is asked for and is not installed."""
    return (
        f"{why}, which asks for the embedded engine, but that is not installed: "
        f"run `{INSTALL_ENGINE}`, or set REASONBLOCKS_API_KEY and REASONBLOCKS_BASE_URL to use a server"
    )


def _checked_key(key: str) -> str:
    if not key.isascii() or not key.isprintable() or " " in key:
        raise SettingsError(
            "api_key holds characters that cannot be in a key (blanks, line breaks or non-ASCII); "
            "copy it again, without quotes or a trailing line break"
        )
    return key


def _checked_url(text: str, allow_insecure_http: bool) -> "httpx.URL":
    shown = mask(text)
    url = _parsed_url("base_url", text)
    if url.scheme not in ("http", "https") or not url.host or not 0 < (url.port or 1) < 65_536:
        raise SettingsError(f"base_url is {shown!r}; expected an address such as https://rb-api.example.com")
    if url.userinfo or url.query or url.fragment:
        raise SettingsError("base_url holds a user, a query or a fragment; expected scheme, host, port and path only")
    if url.scheme == "http" and not is_loopback(url.host) and not allow_insecure_http:
        raise SettingsError(
            f"base_url is {shown!r}: plain http would send your key and your agents' thoughts in the clear; "
            "use https, or pass allow_insecure_http=True if the network between is your own"
        )
    return url.copy_with(raw_path=url.raw_path.rstrip(b"/").removesuffix(b"/v1") or b"/")


def is_loopback(host: str) -> bool:
    """Whether a host name means this very machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def text(name: str, value: object) -> str:
    """Text that an event carries, such as the name of an agent."""
    if not isinstance(value, str):
        raise SettingsError(f"{name} is {value!r:.80}; expected text")
    return value


def mapping(name: str, value: object) -> dict[str, Any]:
    """A mapping, copied: what changes in the caller's later changes nothing here."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise SettingsError(f"{name} is a {type(value).__name__}; expected a mapping")
    return dict(value)


def _environment(name: str) -> str | None:
    return os.environ.get(f"REASONBLOCKS_{name}", "").strip() or None


def _text(name: str, value: object) -> str | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if not isinstance(value, str):
        raise SettingsError(f"{name} is a {type(value).__name__}; expected text")
    return value.strip()


def read_flag(name: str, default: bool) -> bool:
    """A yes or no from the environment."""
    text = (_environment(name) or "").lower()
    if not text:
        return default
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise SettingsError(f"REASONBLOCKS_{name} is {text!r}; expected one of {', '.join((*_TRUE, *_FALSE[1:]))}")


def flag(name: str, value: bool | None, default: bool) -> bool:
    """A switch from its argument, else from the environment."""
    if value is None:
        return read_flag(name.upper(), default)
    if not isinstance(value, bool):
        raise SettingsError(f"{name} is {value!r}; expected True or False")
    return value


def switch(name: str, value: bool | None) -> bool:
    """One of the client's switches."""
    return flag(name, value, SWITCHES[name])


def step_timeout(value: float | None) -> float:
    """Seconds for all that is done before one model call."""
    return seconds("step_timeout", value, DEFAULT_STEP_TIMEOUT)


def seconds(name: str, value: float | None, default: float) -> float:
    """A positive number of seconds from its argument, else from the environment."""
    shown: object = value
    if value is None:
        shown = _environment(name.upper()) or default
    try:
        number = float(shown)  # type: ignore[arg-type]  # whatever it is, the error below says so
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(shown, bool) or not math.isfinite(number) or number <= 0:
        raise SettingsError(f"{name} is {shown!r}; expected a number of seconds above 0, for example {default}")
    return number


def cache_control(value: str | None) -> CacheControl:
    """When the base system prompt is marked for caching."""
    chosen = value if value is not None else (_environment("CACHE_CONTROL") or "always")
    for known in get_args(CacheControl):
        if chosen == known:
            return known  # type: ignore[no-any-return]
    raise SettingsError(f"cache_control is {chosen!r}; expected one of {', '.join(get_args(CacheControl))}")


def otel(value: object) -> Otel:
    """Where spans go, from the argument, else from the environment."""
    given = value if value is not None else _environment("OTEL")
    if isinstance(given, str) and value is None and given.lower() in (*_TRUE, *_FALSE):
        return given.lower() in _TRUE
    if given is None or isinstance(given, bool) or callable(getattr(given, "get_tracer", None)):
        return given
    if not isinstance(given, str):
        raise SettingsError(
            f"otel is {given!r:.80}; expected the address of a collector such as http://localhost:4318, "
            "a TracerProvider, True (the standard OTEL_* variables), False (off), or nothing (what the application "
            "has set up)"
        )
    return _checked_collector(given)


def _parsed_url(name: str, text: str) -> "httpx.URL":
    import httpx  # takes longer than all of us, and who names no server needs none of it

    try:
        return httpx.URL(text.rstrip("/"))
    except (httpx.InvalidURL, ValueError) as error:
        raise SettingsError(f"{name} is {mask(text)!r}, which is not a URL: {error}") from None


def _checked_collector(text: str) -> str:
    shown = mask(text)
    url = _parsed_url("otel", text.strip())
    if url.scheme not in ("http", "https") or not url.host:
        raise SettingsError(f"otel is {shown!r}; expected the address of a collector such as http://localhost:4318")
    if url.userinfo or url.query or url.fragment:
        raise SettingsError(
            "otel holds a user, a query or a fragment; expected scheme, host, port and path only: "
            "keys go into OTEL_EXPORTER_OTLP_HEADERS"
        )
    return str(url).rstrip("/").removesuffix("/v1/traces")


def otel_chat() -> OtelChat:
    """Whether the span of a step is that of its model call, too: found out, or forced by the environment."""
    chosen = (_environment("OTEL_CHAT") or "auto").lower()
    for known in get_args(OtelChat):
        if chosen == known:
            return known  # type: ignore[no-any-return]
    raise SettingsError(f"REASONBLOCKS_OTEL_CHAT is {chosen!r}; expected one of {', '.join(get_args(OtelChat))}")


def profile(value: str | None) -> str:
    """The weight preset of the monitors; names of one's own are resolved by the server."""
    chosen = _text("task_profile", value) or _environment("TASK_PROFILE") or "coding"
    if len(chosen) > 64:
        raise SettingsError(f"task_profile has {len(chosen)} characters; expected at most 64")
    return chosen


def weights(value: Mapping[str, float] | None) -> dict[str, float] | None:
    """Overrides of monitor weights; names are not checked here, for a server may know more monitors."""
    if value is None:
        return None
    for name, weight in mapping("monitor_weights", value).items():
        if not isinstance(name, str) or isinstance(weight, bool) or not isinstance(weight, int | float):
            raise SettingsError(f"monitor_weights[{name!r}] is {weight!r}; expected a number")
        if not math.isfinite(weight):
            raise SettingsError(f"monitor_weights[{name!r}] is {weight!r}; expected a finite number")
    return {name: float(weight) for name, weight in value.items()}


def budget(value: int | None) -> int | None:
    """The token budget that injections are told about."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise SettingsError(f"token_budget is {value!r}; expected a whole number of tokens above 0, or None")
    return value


NOT_GIVEN: Mapping[str, Callable[[], object]] = {
    **{name: partial(switch, name, None) for name in SWITCHES},
    "step_timeout": partial(step_timeout, None),
    "task_profile": partial(profile, None),
    "cache_control": partial(cache_control, None),
    "otel": partial(otel, None),
}
"""What an argument is where it is not given: that of the environment, else its default; raises what cannot work."""
