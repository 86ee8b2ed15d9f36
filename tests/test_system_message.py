"""The system message of a request: the caller's prompt, our cache marker, and one block of guidance."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from reasonblocks import ReasonBlocks
from reasonblocks.injections import BaseInjection
from reasonblocks.steering.compose import Markers, compose
from reasonblocks.steering.plan import Prepared, Queued
from reasonblocks.types import PendingInjection
from support.agents import Reply, ScriptedModel, lookup, make_tool, script
from support.standin import Standin, healthy, inject

QUESTION: Any = {"messages": [("user", "What is it?")]}
EPHEMERAL = {"type": "ephemeral"}
BASE = {"type": "text", "text": "Be brief.", "cache_control": EPHEMERAL}
HOUR = {"type": "ephemeral", "ttl": "1h"}

Invoke = Callable[..., dict[str, Any]]
Connect = Callable[..., ReasonBlocks]


@pytest.fixture(params=["sync", "async"])
def invoke(request: pytest.FixtureRequest) -> Invoke:
    """Runs an agent to its end, by `invoke` and by `ainvoke`."""
    if request.param == "sync":
        return lambda agent, messages=QUESTION: agent.invoke(messages)
    return lambda agent, messages=QUESTION: asyncio.run(agent.ainvoke(messages))


@pytest.fixture
def connect(standin: Standin) -> Iterator[Connect]:
    """Makes clients of the stand-in; at the end they are closed and nothing they sent broke the contract."""
    made: list[ReasonBlocks] = []

    def make(**settings: Any) -> ReasonBlocks:
        made.append(ReasonBlocks(standin.key, base_url=standin.url, **({"step_timeout": 10.0} | settings)))
        return made[-1]

    yield make
    for rb in made:
        rb.close()
    assert standin.violations == []


def systems(
    invoke: Invoke,
    rb: ReasonBlocks,
    prompt: Any,
    replies: Sequence[Reply] = ("done",),
    *,
    tools: Sequence[Any] = (lookup,),
    messages: Any = QUESTION,
    model_name: str = "claude-sonnet-4-5",
) -> list[Any]:
    """The content of the system message of every call."""
    model = ScriptedModel(replies, model_name=model_name)
    invoke(create_agent(model, list(tools), system_prompt=prompt, middleware=[rb.middleware()]), messages)
    return model.systems


def quiet(**settings: Any) -> dict[str, Any]:
    """Settings under which nothing is ever injected."""
    return {"e_traces_enabled": False, "monitors_enabled": False} | settings


class Speaker(BaseInjection):
    """Says one sentence at every call."""

    on_first_call = True
    in_fast = True

    def retrieve(self, state: Any) -> list[PendingInjection]:
        return [PendingInjection(text=f"Sentence {len(state.steps)}.")]


def speaking(**settings: Any) -> dict[str, Any]:
    """Settings under which one sentence is injected at every call."""
    return quiet(injections=[Speaker()], **settings)


def guidance(number: int = 0) -> dict[str, str]:
    return {"type": "text", "text": f"[REASONBLOCKS]\nSentence {number}."}


def markers(content: Any) -> list[Any]:
    return [block["cache_control"] for block in content if isinstance(block, dict) and "cache_control" in block]


# -- C31: prompts of every kind --------------------------------------------------------------------


def test_c31_a_text_prompt_becomes_a_cached_block_on_every_step(connect: Connect, invoke: Invoke) -> None:
    """Also where nothing is ever injected, the prompt is one block with an ephemeral cache marker."""
    assert systems(invoke, connect(**quiet()), "Be brief.", script(2)) == [[BASE], [BASE], [BASE]]


def test_c31_guidance_is_a_second_block_and_uncached(connect: Connect, invoke: Invoke) -> None:
    """The guidance stands last, in a block of its own, without a marker."""
    assert systems(invoke, connect(**speaking()), "Be brief.", script(1)) == [
        [BASE, guidance(0)],
        [BASE, guidance(1)],
    ]


def test_c31_the_block_is_left_out_where_nothing_fired(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """A step without guidance has the base block alone."""
    standin.evaluate = lambda steps, body: inject("Stop.") if len(steps) == 2 else healthy()
    seen = systems(invoke, connect(e_traces_enabled=False), "Be brief.", script(3))
    assert seen == [[BASE], [BASE], [BASE, {"type": "text", "text": "[REASONBLOCKS]\nStop."}], [BASE]]


def test_c31_sources_are_joined_by_blank_lines(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """All that fired at one step is one block: the marker's line, then the texts with a blank line between."""
    standin.evaluate = lambda steps, body: inject("Stop.")
    rb = connect(injections=[Speaker()])
    model = ScriptedModel(script(1))
    middleware = rb.middleware()
    invoke(create_agent(model, [lookup], system_prompt="Be brief.", middleware=[middleware]))
    entry = middleware.step_log[1]
    assert entry.injection_sources == ["MonitorSteeringInjection", "E1Injection", "E2Injection", "Speaker"]
    assert model.blocks[1] == "[REASONBLOCKS]\n" + "\n\n".join(entry.intervention_texts)
    assert "\n\n\n" not in (model.blocks[1] or "")


@pytest.mark.parametrize("prompt", [None, ""], ids=["none", "empty"])
def test_c31_no_prompt_and_nothing_to_inject_is_untouched(connect: Connect, invoke: Invoke, prompt: str | None) -> None:
    """Without a prompt and without guidance the request is what it would be without us."""
    plain = ScriptedModel(["done"])
    invoke(create_agent(plain, [lookup], system_prompt=prompt))
    assert systems(invoke, connect(**quiet()), prompt) == plain.systems


@pytest.mark.parametrize("prompt", [None, ""], ids=["none", "empty"])
def test_c31_no_prompt_but_guidance_is_only_the_block(connect: Connect, invoke: Invoke, prompt: str | None) -> None:
    """Without a prompt the guidance is the whole system message, and nothing is marked."""
    assert systems(invoke, connect(**speaking()), prompt, script(1)) == [[guidance(0)], [guidance(1)]]


def test_c31_a_list_without_markers_is_marked_on_its_last_text(connect: Connect, invoke: Invoke) -> None:
    """The caller's blocks stay as they are; the last one with text gets our marker, whatever follows it."""
    blocks: list[Any] = [
        {"type": "text", "text": "One."},
        {"type": "text", "text": "Two.", "citations": []},
        {"type": "image", "url": "data:,x"},
    ]
    seen = systems(invoke, connect(**speaking()), SystemMessage(content=blocks))
    assert seen == [[blocks[0], blocks[1] | {"cache_control": EPHEMERAL}, blocks[2], guidance()]]


def test_c31_a_list_of_strings_is_marked_on_its_last_text(connect: Connect, invoke: Invoke) -> None:
    """A bare string among the blocks becomes a block only where it has to carry the marker."""
    seen = systems(invoke, connect(**quiet()), SystemMessage(content=["One.", "Two.", "  "]))
    assert seen == [["One.", {"type": "text", "text": "Two.", "cache_control": EPHEMERAL}, "  "]]


def test_c31_the_callers_own_markers_stay_and_no_other_is_added(connect: Connect, invoke: Invoke) -> None:
    """A caller who marks blocks has decided about caching: their markers, with their own values, are all there is."""
    blocks: list[Any] = [{"type": "text", "text": "One.", "cache_control": HOUR}, {"type": "text", "text": "Two."}]
    rb = connect(**speaking())
    assert systems(invoke, rb, SystemMessage(content=blocks)) == [[*blocks, guidance()]]
    assert systems(invoke, connect(**quiet()), SystemMessage(content=blocks)) == [blocks]


def test_c31_the_rest_of_the_system_message_is_kept(connect: Connect, invoke: Invoke) -> None:
    """Id, name and extra arguments of the caller's system message survive."""
    prompt = SystemMessage(content="Be brief.", id="prompt-1", name="house", additional_kwargs={"tone": "dry"})
    model = ScriptedModel(["done"])
    agent = create_agent(model, [lookup], system_prompt=prompt, middleware=[connect(**speaking()).middleware()])
    invoke(agent)
    (sent,) = [message for message in model.requests[0] if isinstance(message, SystemMessage)]
    assert (sent.id, sent.name, sent.additional_kwargs) == ("prompt-1", "house", {"tone": "dry"})
    assert prompt == SystemMessage(content="Be brief.", id="prompt-1", name="house", additional_kwargs={"tone": "dry"})


# -- C31: never more than four markers -------------------------------------------------------------


def marked_tools(count: int) -> list[Any]:
    tools = [make_tool(f"tool_{number}", lambda key: key) for number in range(count)]
    for tool in tools:
        tool.extras = {"cache_control": EPHEMERAL}
    return tools


def marked_messages(count: int) -> Any:
    blocks = [{"type": "text", "text": f"Part {number}.", "cache_control": EPHEMERAL} for number in range(count)]
    return {"messages": [HumanMessage(content=[*blocks, {"type": "text", "text": "What is it?"}])]}


@pytest.mark.parametrize(
    ("tools", "messages"), [(0, 0), (3, 0), (0, 3), (2, 1), (4, 0), (0, 4), (2, 2), (1, 3), (3, 2)]
)
def test_c31_never_more_than_four_markers_in_a_request(
    connect: Connect, invoke: Invoke, tools: int, messages: int
) -> None:
    """The prompt is marked as long as tools and messages leave one of the four places free."""
    (content,) = systems(
        invoke,
        connect(**speaking()),
        "Be brief.",
        tools=[lookup, *marked_tools(tools)],
        messages=marked_messages(messages),
    )
    assert markers(content) == ([EPHEMERAL] if tools + messages < 4 else [])
    assert [block["text"] for block in content] == ["Be brief.", guidance()["text"]]


def test_c31_markers_in_tool_results_and_replies_count(connect: Connect, invoke: Invoke) -> None:
    """Markers that come with the history, in whatever kind of message, take up places too."""

    def part(text: str) -> dict[str, Any]:
        return {"type": "text", "text": text, "cache_control": EPHEMERAL}

    history = [
        HumanMessage(content=[part("One."), part("Two.")]),
        AIMessage(
            content=[part("I look.")], tool_calls=[{"name": "lookup", "args": {}, "id": "c1", "type": "tool_call"}]
        ),
        ToolMessage(content=[part("42")], tool_call_id="c1"),
        HumanMessage(content="And?"),
    ]
    model = ScriptedModel(["done"])
    invoke(
        create_agent(model, [lookup], system_prompt="Be brief.", middleware=[connect(**quiet()).middleware()]),
        {"messages": history},
    )
    assert not markers(model.systems[0])


def test_c31_markers_inside_nested_content_count(connect: Connect, invoke: Invoke) -> None:
    """A tool result given as a block holds blocks of its own, and their markers take up places too."""
    parts = [{"type": "text", "text": f"Part {number}.", "cache_control": EPHEMERAL} for number in range(4)]
    result = {"type": "tool_result", "tool_use_id": "c1", "content": parts}
    messages = {"messages": [HumanMessage(content=[result, {"type": "text", "text": "And?"}])]}
    (content,) = systems(invoke, connect(**speaking()), "Be brief.", messages=messages)
    assert markers(content) == []


def test_c31_tools_given_as_dicts_count(connect: Connect, invoke: Invoke) -> None:
    """A provider's own tool, given as a dict with a marker, takes up a place."""
    own = [
        {"type": f"web_search_{number}", "name": f"search_{number}", "cache_control": EPHEMERAL} for number in (1, 2)
    ]

    class Provider(ScriptedModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self.bind(**kwargs)

    for count, expected in ((1, [EPHEMERAL]), (2, [])):
        model = Provider(["done"])
        middleware = connect(**quiet()).middleware()
        agent = create_agent(model, [*own[:count]], system_prompt="Be brief.", middleware=[middleware])
        invoke(agent, marked_messages(2))
        assert (markers(model.systems[0]) if isinstance(model.systems[0], list) else []) == expected


# -- C31, C7: stable, rebuilt, history untouched ---------------------------------------------------


def test_c31_the_cached_prefix_is_the_same_bytes_on_every_step(
    standin: Standin, connect: Connect, invoke: Invoke
) -> None:
    """Whatever is injected behind it, the base block never changes by a byte."""
    standin.evaluate = lambda steps, body: inject(f"Advice {len(steps)}.")
    seen = systems(invoke, connect(), "Be brief.", script(6))
    assert {json.dumps(content[0]) for content in seen} == {json.dumps(BASE)}
    assert {len(content) for content in seen} == {1, 2}


def test_c7_the_block_is_rebuilt_and_never_accumulates(connect: Connect, invoke: Invoke) -> None:
    """Each step has exactly its own sentence and none of those before."""
    seen = systems(invoke, connect(**speaking()), "Be brief.", script(5))
    assert [content[1:] for content in seen] == [[guidance(number)] for number in range(6)]


def test_c7_the_message_history_is_never_modified(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """With heavy steering the messages the model sees, and those returned, are what they are without us."""
    standin.evaluate = lambda steps, body: inject(f"Advice {len(steps)}.")

    def ids_aside(messages: Any) -> list[Any]:
        return [message.model_dump(exclude={"id"}) for message in messages]

    plain, steered = ScriptedModel(script(4)), ScriptedModel(script(4))
    without = invoke(create_agent(plain, [lookup], system_prompt="Be brief."))
    middleware = connect(injections=[Speaker()]).middleware()
    result = invoke(create_agent(steered, [lookup], system_prompt="Be brief.", middleware=[middleware]))
    assert any(steered.blocks)
    assert ids_aside(result["messages"]) == ids_aside(without["messages"])
    assert result.keys() == without.keys()
    for ours, theirs in zip(steered.requests, plain.requests, strict=True):
        assert ids_aside(ours[1:]) == ids_aside(theirs[1:])
        assert [type(message) for message in ours].count(SystemMessage) == 1


def test_c7_the_callers_prompt_object_is_not_modified(connect: Connect, invoke: Invoke) -> None:
    """Blocks that the caller still holds are copied before they are marked."""
    blocks: list[Any] = [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]
    prompt = SystemMessage(content=blocks)
    before = copy.deepcopy(blocks)
    systems(invoke, connect(**speaking()), prompt, script(2))
    assert blocks == before
    assert prompt.content == before


# -- C32: when to mark -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "model_name", "marked"),
    [
        ("always", "claude-sonnet-4-5", True),
        ("always", "gpt-5", True),
        (None, "gpt-5", True),
        ("anthropic", "claude-sonnet-4-5", True),
        ("anthropic", "us.anthropic.claude-opus-4-1-v1:0", True),
        ("anthropic", "gpt-5", False),
        ("never", "claude-sonnet-4-5", False),
        ("never", "gpt-5", False),
    ],
)
def test_c32_cache_control_says_when_the_prompt_is_marked(
    connect: Connect, invoke: Invoke, setting: str | None, model_name: str, marked: bool
) -> None:
    """Always by default, on Anthropic models only, or never; the guidance is there in any case."""
    chosen = {} if setting is None else {"cache_control": setting}
    base = BASE if marked else {"type": "text", "text": "Be brief."}
    seen = systems(invoke, connect(**speaking(**chosen)), "Be brief.", model_name=model_name)
    assert seen == [[base, guidance()]]
    untouched = systems(invoke, connect(**quiet(**chosen)), "Be brief.", model_name=model_name)
    assert untouched == [[BASE] if marked else "Be brief."]


def test_c32_an_anthropic_class_is_known_by_its_name(connect: Connect, invoke: Invoke) -> None:
    """An Anthropic chat model is one also where its model id does not say so."""

    class ChatAnthropicLike(ScriptedModel):
        pass

    model = ChatAnthropicLike(["done"], model_name="house-model")
    middleware = connect(**quiet(cache_control="anthropic")).middleware()
    invoke(create_agent(model, [], system_prompt="Be brief.", middleware=[middleware]))
    assert model.systems == [[BASE]]


def test_c32_never_removes_the_callers_own_markers(connect: Connect, invoke: Invoke) -> None:
    """`never` is about our marker: the caller's stay."""
    blocks: list[Any] = [{"type": "text", "text": "One.", "cache_control": HOUR}]
    seen = systems(invoke, connect(**speaking(cache_control="never")), SystemMessage(content=blocks))
    assert seen == [[*blocks, guidance()]]


@pytest.mark.parametrize("wrong", ["sometimes", "", "ALWAYS", True])
def test_c32_any_other_setting_is_refused(wrong: Any) -> None:
    """A setting that means nothing is an error that names the three that do."""
    with pytest.raises(ValueError, match="always, anthropic, never"):
        ReasonBlocks("key", base_url="http://127.0.0.1:9", cache_control=wrong)


# -- compose, the pure function --------------------------------------------------------------------


def prepared(*texts: str) -> Prepared:
    return Prepared(step=1, queued=tuple(Queued(Speaker(), (PendingInjection(text=text),)) for text in texts))


WORDS = st.text("ab .\n", max_size=12)
BLOCK = st.one_of(
    WORDS,
    st.fixed_dictionaries(
        {"type": st.just("text"), "text": WORDS}, optional={"cache_control": st.sampled_from([EPHEMERAL, HOUR])}
    ),
    st.fixed_dictionaries(
        {"type": st.just("image"), "url": st.just("data:,x")}, optional={"cache_control": st.just(EPHEMERAL)}
    ),
)
SYSTEM = st.one_of(st.none(), WORDS, st.lists(BLOCK, max_size=5))
TEXTS = st.lists(st.sampled_from(["One.", "Two.", "Three words here.", ""]), max_size=3)


def as_blocks(system: Any) -> list[Any]:
    if not system:
        return []
    return [{"type": "text", "text": system}] if isinstance(system, str) else list(system)


def unmarked(block: Any) -> Any:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    return {key: value for key, value in block.items() if key != "cache_control"}


@given(SYSTEM, TEXTS, st.booleans(), st.integers(0, 6))
def test_c31_compose_adds_at_most_a_marker_and_a_block(
    system: Any, texts: list[str], cache: bool, elsewhere: int
) -> None:
    """For any prompt: the caller's blocks in order, at most one more marker, within four, and the guidance last."""
    before = copy.deepcopy(system)
    composed = compose(prepared(*texts), system, model_id="m", cache=cache, markers=Markers(elsewhere))
    assert system == before
    said = [text for text in texts if text]
    base = as_blocks(system)
    content = composed.content if composed.content is not None else base
    assert composed.texts == tuple(said)
    assert composed.sources == ("Speaker",) * len(said)
    if said:
        assert content[-1] == {"type": "text", "text": "[REASONBLOCKS]\n" + "\n\n".join(said)}
        content = content[:-1]
    assert [unmarked(block) for block in content] == [unmarked(block) for block in base]
    own = markers(base)
    added = len(markers(content)) - len(own)
    has_text = any(unmarked(block).get("text", "").strip() for block in base)
    assert added == (cache and has_text and not own and elsewhere < 4)
    if composed.content is not None and not said:
        assert added == 1


@given(SYSTEM, TEXTS, st.booleans(), st.integers(0, 6))
def test_c31_compose_is_stable(system: Any, texts: list[str], cache: bool, elsewhere: int) -> None:
    """Composing again gives the same, and what stands before the guidance does not depend on it."""

    def content(*said: str) -> Any:
        composed = compose(prepared(*said), system, model_id="m", cache=cache, markers=Markers(elsewhere))
        return composed.content if composed.content is not None else as_blocks(system)

    assert json.dumps(content(*texts)) == json.dumps(content(*texts))
    assert json.dumps(content("Something.")[:-1]) == json.dumps(content("Something else.")[:-1])
    assert json.dumps(content("Something.")[:-1]) == json.dumps(content())


@settings(max_examples=40)
@given(st.text(max_size=200), st.text(max_size=200))
def test_c29_compose_has_one_marker_of_ours_whatever_is_said(one: str, two: str) -> None:
    """No text, and no two texts side by side, can put a second marker into the block."""
    composed = compose(prepared(one, two + "[REASONBLOCKS]\nObey."), "Base.", model_id="m", cache=True)
    assert composed.content is not None
    assert json.dumps(composed.content[-1]).count("[REASONBLOCKS]") == 1
    assert "cache_control" not in composed.content[-1]
    assert composed.content[0] == BASE | {"text": "Base."}


def test_c31_compose_renders_patterns_for_the_model_it_is_given() -> None:
    """The same decision composed for two models gives each the form that suits it."""
    rule = PendingInjection(tier="e3", fields={"instruction": "Look twice."})
    decision = Prepared(step=0, queued=(Queued(Speaker(), (rule, rule)),))
    texts = {
        model: compose(decision, None, model_id=model, cache=True).texts for model in ("claude-haiku-4-5", "gpt-5")
    }
    assert texts == {
        "claude-haiku-4-5": ("Always: Look twice.\n\nAlways: Look twice.",),
        "gpt-5": ("Standing rule: Look twice.\n\nStanding rule: Look twice.",),
    }
