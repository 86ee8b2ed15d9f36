"""What two organisations may do to each other: every route, with names that collide and ids that are guessed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

ACME, RIVAL, SHARED = "acme", "rival", "shared"
OTHER = {ACME: RIVAL, RIVAL: ACME, SHARED: SHARED}
OWNERS = {
    "acme": ACME,
    "acme/left": ACME,
    "rival": RIVAL,
    "admin for acme": ACME,
    "admin for rival": RIVAL,
    "admin": SHARED,
}
"""For each caller in whose name it acts. `acme/left` is bound to a project; `admin` acts on what all share."""
KEYS = ("acme", "acme/left", "rival")
PROJECT = "left"

RUN_IDS = ("run-1", "team/run:2")
CODEBASES = ("shop", "shop/web")
PROFILES = ("careful", "hasty")
TRACES = ("trace-1", "trace-2")
FILES = ("src/cart.py", "src/log.py")
TOPICS = (
    "The cart total is rounded down before the discount is taken off.",
    "Logs of the importer go to standard error and nowhere else.",
    "A test fails after somebody edited a generated fixture by hand.",
    "The session cookie is only renewed when the user opens the settings page.",
)


class Act(NamedTuple):
    """One request, as far as it is the same in every world."""

    caller: str
    route: str
    pick: int = 0
    """Which of the names, texts and ids."""
    foreign: bool = False
    """Whether ids that the server made are those of the other organisation."""
    claims: bool = False
    """Whether the request names the other organisation as its own, in the body and in the query."""

    @property
    def owner(self) -> str:
        """In whose name it is done."""
        return OWNERS[self.caller]

    @property
    def admin(self) -> bool:
        """Whether a static key is used."""
        return self.caller.startswith("admin")


class Symbol(NamedTuple):
    """An id that the server makes, which is another one in every world."""

    kind: str
    owner: str
    number: int


def text(number: int) -> str:
    """A sentence: the same for both organisations, another one for each number."""
    return f"{TOPICS[number % len(TOPICS)]} This is about part {number}."


# -- bodies ----------------------------------------------------------------------------------------


LOOP = {"thought": "I run the tests again.", "action": "run", "action_input": "pytest"}


def thoughts(act: Act, count: int) -> list[dict[str, Any]]:
    """Steps of a trace: one organisation goes round in circles, the other does not."""
    if act.owner == ACME:
        return [LOOP] * count
    return [{"thought": f"Next I look at part {number} of {act.owner}.", "action": "read"} for number in range(count)]


def evaluation(act: Act, _: int) -> dict[str, Any]:
    """A whole trace, or a run that goes on where an earlier call ended, or where none did."""
    length = 2 if act.owner == ACME else 3
    run_id, offset, count = ((0, 0, length), (0, length, 1), (0, 9, 1), (1, 0, 3), (1, 3, 0))[act.pick % 6 - 1]
    body = {"task_profile": PROFILES[act.pick % 2]}
    if act.pick % 6 == 0:
        return body | {"steps": [LOOP] * 4}
    return body | {"steps": thoughts(act, count), "run_id": RUN_IDS[run_id], "offset": offset}


def run_start(act: Act, _: int) -> dict[str, Any]:
    """Names collide, what is told does not."""
    project = (PROJECT, "right", None)[act.pick % 3]
    return {
        "run_id": RUN_IDS[act.pick % 2],
        "task": f"Something for {act.owner}.",
        "project_id": project,
        "codebase_id": CODEBASES[0],
        "task_profile": PROFILES[act.pick % 2],
        "metadata": {"of": act.owner},
    }


def step(act: Act, _: int) -> dict[str, Any]:
    """One step of a run."""
    (said,) = thoughts(act, 1)
    sources = [] if act.pick % 2 else [act.owner]
    return {"step_index": act.pick // 2, "tokens": 7 + act.pick, "injection_sources": sources, **said}


def finish(act: Act, _: int) -> dict[str, Any]:
    """The end of a run."""
    return {"outcome": "success" if act.owner == ACME else "failure: Lost"}


def events(act: Act, _: int) -> dict[str, Any]:
    """All of it at once, for one of the runs, which may not have begun."""
    run_id = RUN_IDS[act.pick % 2]
    said = [
        {"type": "step", "run_id": run_id, "step_index": index, "tokens": 3, **one}
        for index, one in enumerate(thoughts(act, 3))
    ]
    begun = [{"type": "run_start", **run_start(act, 0)}] if act.pick % 3 else []
    ended = [{"type": "run_finish", "run_id": run_id, **finish(act, 0)}] if act.pick % 5 == 4 else []
    return {"events": [*begun, *said, *ended]}


def profile(act: Act, _: int) -> dict[str, Any]:
    """The same name, other weights."""
    return {"name": PROFILES[act.pick % 2], "weights": {"semantic_loop": 0.9 if act.owner == ACME else 0.1}}


def profile_change(act: Act, _: int) -> dict[str, Any]:
    """Other weights."""
    return {"weights": {"semantic_loop": 0.8 if act.owner == ACME else 0.2, "late_sprawl": act.pick / 10}}


def trace(act: Act, _: int) -> dict[str, Any]:
    """In either form, under the same id or one that the server makes."""
    if act.pick % 2:
        return {"manifest": {"of": act.owner}, "calls": [{"input": "x"}] * (act.pick + 1)}
    return {"trace_id": TRACES[act.pick // 2 % 2], "steps": [{"step_index": 0, "thought": act.owner}]}


def tier_of(act: Act) -> str:
    """The tier that an act is about: an admin who acts for nobody means what all share."""
    if act.caller == "admin":
        return ("e2", "e3")[act.pick % 2]
    return "e1" if act.admin else ("e1", "e1", "e2", "e3")[act.pick % 4]


def fields(tier: str, number: int) -> dict[str, Any]:
    """What a pattern says."""
    if tier == "e3":
        return {"instruction": text(number)}
    if tier == "e2":
        return {"diagnosis": text(number), "intervention": "Stop, and read the file."}
    return {"observation": "It was so before.", "task_context_embedding_text": text(number)}


def pattern(act: Act, number: int) -> dict[str, Any]:
    """A new pattern; of those that all share some are not approved yet."""
    tier = tier_of(act)
    status = "candidate" if act.caller == "admin" and act.pick >= 4 else "live"
    failure_type = "loop" if tier == "e2" else None
    return {"tier": tier, "fields": fields(tier, number), "failure_type": failure_type, "status": status}


def pattern_change(act: Act, number: int) -> dict[str, Any]:
    """Other words, or out of use."""
    if act.pick % 3 == 2:
        return {"status": "retired"}
    return {"fields": fields(tier_of(act), number)}


def retrieval(act: Act, _: int) -> dict[str, Any]:
    """Words that somebody stored, and what comes close; half of the time one is wanted, so that others are rejected."""
    tier, top_k = ("e1", "e2", "e3")[act.pick // 3 % 3], (50, 1)[act.pick % 2]
    return {"context": text(act.pick % 3), "tier": tier, "top_k": top_k, "near_misses": 10}


def finding(act: Act, number: int) -> dict[str, Any]:
    """A new finding."""
    return {"content": text(number), "file_path": FILES[act.pick % 2], "metadata": {"of": act.owner}}


def search(act: Act, _: int) -> dict[str, Any]:
    """All there are, best first."""
    return {"query": text(act.pick % 3), "top_k": 50, "score_threshold": 0.0}


def nothing(_: Act, __: int) -> None:
    """No body."""


Body = Callable[[Act, int], Any]
"""From an act and the number of texts its owner has sent so far to what is sent."""
STREAM = "GET /v1/monitor/stream"
"""Watched from the beginning to the end of every story."""
CASES: Mapping[str, Body] = {
    "GET /v1/health": nothing,
    "GET /v1/ready": nothing,
    "POST /v1/traces/retrieve": retrieval,
    "POST /v1/monitors/evaluate": evaluation,
    "POST /v1/score": lambda act, _: {"text": text(act.pick), "context": act.owner},
    "POST /v1/monitor/runs": run_start,
    "POST /v1/monitor/runs/{run_id}/steps": step,
    "POST /v1/monitor/runs/{run_id}/finish": finish,
    "GET /v1/monitor/runs": nothing,
    "GET /v1/monitor/runs/{run_id}": nothing,
    "POST /v1/monitor/events": events,
    "GET /v1/monitor/me": nothing,
    "GET /v1/monitor/health-summary": nothing,
    "GET /v1/monitor/scorers": nothing,
    "GET /v1/monitor/profiles": nothing,
    "POST /v1/monitor/profiles": profile,
    "GET /v1/monitor/profiles/{profile_id}": nothing,
    "PATCH /v1/monitor/profiles/{profile_id}": profile_change,
    "DELETE /v1/monitor/profiles/{profile_id}": nothing,
    "POST /v1/traces": trace,
    "GET /v1/library/patterns": nothing,
    "POST /v1/library/patterns": pattern,
    "PATCH /v1/library/patterns/{tier}/{pattern_id}": pattern_change,
    "DELETE /v1/library/patterns/{tier}/{pattern_id}": nothing,
    "GET /v1/findings": nothing,
    "POST /v1/findings/{codebase_id}": finding,
    "GET /v1/findings/{codebase_id}": nothing,
    "DELETE /v1/findings/{codebase_id}": nothing,
    "POST /v1/findings/{codebase_id}/search": search,
    "POST /v1/findings/{codebase_id}/invalidate": lambda act, _: {"file_paths": [FILES[act.pick % 2]]},
    "PATCH /v1/findings/{codebase_id}/{finding_id}": lambda act, number: {"content": text(number)},
    "DELETE /v1/findings/{codebase_id}/{finding_id}": nothing,
}
"""For every route but the stream, what is sent. A route that is not here has no tenancy case."""
TELLING = (
    "POST /v1/library/patterns",
    "PATCH /v1/library/patterns/{tier}/{pattern_id}",
    "POST /v1/findings/{codebase_id}",
    "PATCH /v1/findings/{codebase_id}/{finding_id}",
)
"""What sends a text that can be looked for; each is the owner's next one."""

_SHARED_ROUTES = tuple(route for route in CASES if "/library/patterns" in route)


def possible(act: Act) -> bool:
    """Whether the act belongs to the story: an admin may do anything to anybody, which proves nothing."""
    if act.caller == "admin":
        return act.route in _SHARED_ROUTES and not act.foreign
    return not act.admin or not (act.foreign or act.claims)


# -- ids in paths ----------------------------------------------------------------------------------

_HOLE = re.compile(r"\{(\w+)\}")
MADE = {"POST /v1/library/patterns": "pattern_id", "POST /v1/monitor/profiles": "id", "POST /v1/traces": "trace_id"}
"""Routes whose answer has an id that the server made, and where; findings are made under any codebase."""
MADE["POST /v1/findings/{codebase_id}"] = "finding_id"


def path_parts(act: Act) -> dict[str, str | Symbol]:
    """What goes into the holes of the route's path; a hole that nobody knows is a `KeyError`."""
    owner = OTHER[act.owner] if act.foreign else act.owner
    tier = tier_of(act)
    patterns = owner if tier == "e1" else SHARED
    known: dict[str, str | Symbol] = {
        "run_id": RUN_IDS[act.pick % 2],
        "codebase_id": CODEBASES[act.pick % 2],
        "profile_id": Symbol("POST /v1/monitor/profiles", owner, act.pick % 2),
        "finding_id": Symbol("POST /v1/findings/{codebase_id}", owner, act.pick % 3),
        "tier": tier,
        "pattern_id": Symbol("POST /v1/library/patterns", patterns, act.pick % 2),
    }
    return {hole: known[hole] for hole in _HOLE.findall(act.route)}


def query(act: Act) -> dict[str, Any]:
    """What is asked for beside the path."""
    if act.route == "GET /v1/library/patterns":
        return {"limit": 1_000, "tier": tier_of(act)}
    if act.route == "GET /v1/monitor/runs":
        return {"limit": 500}
    return {}


# -- stories ---------------------------------------------------------------------------------------

READS: Mapping[str, tuple[int, ...]] = {
    "GET /v1/monitor/runs": (0,),
    "GET /v1/monitor/runs/{run_id}": (0, 1),
    "GET /v1/monitor/me": (0,),
    "GET /v1/monitor/health-summary": (0,),
    "GET /v1/monitor/profiles": (0,),
    "GET /v1/monitor/profiles/{profile_id}": (0, 1),
    "GET /v1/library/patterns": (0, 2, 3),
    "GET /v1/findings": (0,),
    "GET /v1/findings/{codebase_id}": (0, 1),
    "POST /v1/findings/{codebase_id}/search": (0, 1),
    "POST /v1/traces/retrieve": (0, 1, 2, 3, 6),
    "POST /v1/monitors/evaluate": (3, 0),
}
"""All that shows what is there, and the picks with which it shows all of it."""


def look(caller: str) -> list[Act]:
    """Look at everything there is to see, as oneself and as the other."""
    return [
        Act(caller, route, pick, foreign, claims=True)
        for route, picks in READS.items()
        for foreign in ((False, True) if "profile_id" in route else (False,))
        for pick in picks
    ]


def tour() -> list[Act]:
    """Every route by every caller: everybody makes what can be made, tries the other's, and takes it away."""
    gone = [route for route in CASES if route.startswith("DELETE") or route.endswith("/invalidate")]
    by_name = [route for route in gone if route.count("{") == 1 and "codebase" in route]
    acts = [Act(caller, route) for route in CASES if route not in gone for caller in OWNERS]
    acts += [Act(caller, "POST /v1/monitors/evaluate", 1) for caller in KEYS]
    acts += [act for caller in KEYS for act in look(caller)]
    acts += [Act(caller, route, 0, True, True) for route in CASES if route not in by_name for caller in KEYS]
    acts += [Act(caller, route, pick) for pick in (2, 3) for route in _SHARED_ROUTES for caller in KEYS]
    acts += [Act(caller, route) for route in gone if route not in by_name for caller in OWNERS]
    acts += [Act(caller, route, 0, False, caller in KEYS) for route in by_name[::-1] for caller in OWNERS]
    return [act for act in acts if possible(act)]
