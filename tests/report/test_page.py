"""The page of a report: its figures are those of the runs, and nothing in a run becomes markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from reasonblocks.commands.root import reasonblocks
from reasonblocks.report.figures import figures_of, mean_figures
from reasonblocks.report.labels import label_rows, where
from reasonblocks.report.markup import Html, element
from reasonblocks.report.mistakes import false_alarms, misses
from reasonblocks.report.page import report_page
from reasonblocks.report.sets import EvaluatedSet, read_set
from support.recorded import healthy, looping, run, step, write_runs

HOSTILE = "<script>alert('x')</script><img src=https://evil.example/p.png> & \"quoted\" \x00\u202e"
VOID = {"meta", "br"}


def command(*arguments: str | Path) -> Result:
    given = [str(argument) for argument in arguments]
    return CliRunner().invoke(reasonblocks, given, prog_name="reasonblocks")


def replayed(path: Path, runs: list[dict[str, Any]]) -> tuple[Path, Path]:
    """Runs and their replay, as files."""
    write_runs(path, runs)
    output = path.with_suffix(".out")
    assert command("replay", path, "-o", output).exit_code == 0
    return path, output


RUNS = [
    *[healthy(f"ok{index}", 6 + index, dataset="harbour") for index in range(4)],
    looping("disturbed", outcome="success", dataset="harbour", labels={"annotated": True}),
    *[
        looping(
            f"bad{index}",
            dataset="harbour",
            labels={"annotated": True, "mast": ["Step Repetition"], "mistake_step": 1 + 4 * index},
        )
        for index in range(4)
    ],
    healthy("missed", 10, outcome="failure", dataset="harbour", labels={"annotated": True, "failure_mode": "gave up"}),
    *[healthy(f"fine{index}", 5, outcome=None, dataset="harbour", labels={"annotated": True}) for index in range(2)],
]


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> EvaluatedSet:
    """Loops among steady work: one of the loops went well, one of the others did not."""
    return read_set(*replayed(tmp_path_factory.mktemp("harbour") / "runs.jsonl", RUNS))


# -- figures ---------------------------------------------------------------------------------------


def test_headline_figures_are_those_of_the_runs(harbour: EvaluatedSet) -> None:
    """Runs without an outcome count for none of them."""
    found = figures_of(harbour, 8)
    assert (found.name, found.runs, found.failed, found.successful) == ("harbour", 12, 5, 5)
    assert found.alarms_failed.value == pytest.approx(4 / 5)
    assert found.alarms_successful.value == pytest.approx(1 / 5)
    assert found.alarm_ratio.value == pytest.approx(4.0)
    assert found.auroc.value is not None
    assert found.auroc.value > 0.5
    low, high = found.auroc.interval or (1.0, 0.0)
    assert low <= found.auroc.value <= high
    healthy_steps = sum(len(one.replayed) for one in harbour.labelled if not one.failed)
    injections = sum(one.injections for one in harbour.labelled if not one.failed)
    assert found.injections.value == pytest.approx(100 * injections / healthy_steps)
    assert found.longer == sum(len(one.replayed) > 8 for one in harbour.labelled)


def test_each_monitor_has_its_row(harbour: EvaluatedSet) -> None:
    """How often it fires in runs of either outcome."""
    rows = {row.name: row for row in figures_of(harbour, 8).monitors}
    loop = rows["semantic_loop"]
    assert len(rows) >= 6
    assert (loop.fires_failed, loop.fires_successful) == (pytest.approx(4 / 5), pytest.approx(1 / 5))
    assert loop.peak_failed is not None
    assert loop.peak_successful is not None
    assert loop.peak_failed > loop.peak_successful


def test_annotations_are_compared_with_the_monitor_that_should_see_them(harbour: EvaluatedSet) -> None:
    """Of the runs somebody looked at: four loops that were marked, against one that was not and three steady ones."""
    (row,) = label_rows(harbour)
    assert (row.label, row.monitor, row.positives, row.runs) == ("step repetition", "semantic_loop", 4, 8)
    assert row.auroc == pytest.approx((3 + 0.5) / 4)


def test_alarms_near_a_marked_mistake_are_counted(harbour: EvaluatedSet) -> None:
    """At it or within five steps after it, against what chance would give."""
    found = where(harbour)
    assert found is not None
    alarmed = {
        one.recorded.run_id: {at for at, entry in enumerate(one.replayed) if entry.inject} for one in harbour.runs
    }
    hits = [any(at in alarmed[f"bad{index}"] for at in range(1 + 4 * index, 7 + 4 * index)) for index in range(4)]
    assert (found.runs, found.alarmed, found.hit) == (4, 1.0, sum(hits) / 4)
    assert 0 < found.at_random < 1
    assert found.fixed == 0.5  # steps 5 and 6 are near two of the marks at 1, 5, 9 and 13


def test_without_both_outcomes_there_is_no_curve(tmp_path: Path) -> None:
    """What can be said is said: the alarms."""
    found = figures_of(read_set(*replayed(tmp_path / "r.jsonl", [looping("a"), looping("b")])), 8)
    assert (found.auroc.value, found.caught.value, found.alarms_successful.value) == (None, None, None)
    assert (found.alarms_failed.value, found.curve) == (1.0, [])
    assert mean_figures([found])["auroc"].value is None


def test_the_most_confident_mistakes_come_first(harbour: EvaluatedSet) -> None:
    """A loop that went well before steady work that did; steady work that failed before loops that did."""
    alarms, missed = false_alarms(harbour), misses(harbour)
    assert alarms[0].run.recorded.run_id == "disturbed"
    assert alarms[0].evidence[0].monitor == "semantic_loop"
    assert missed[0].run.recorded.run_id == "missed"
    assert missed[0].known == ["failure mode: gave up"]
    peaks = [one.run.peak() for one in missed]
    assert peaks == sorted(peaks)


# -- the page --------------------------------------------------------------------------------------


class Strict(HTMLParser):
    """Every element is closed in order, and nothing is loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.links += [value or "" for name, value in attributes if name in ("src", "href", "xlink:href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(page: str) -> Strict:
    parser = Strict()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


@pytest.mark.parametrize("sets", [1, 2])
def test_a_page_is_whole_and_loads_nothing(harbour: EvaluatedSet, sets: int) -> None:
    """Drawings and style are in it; links lead to places on the page alone."""
    page = report_page([harbour] * sets, 8)
    found = parsed(page)
    assert {"svg", "style", "table", "article"} <= found.seen
    assert found.seen & {"script", "link", "img", "iframe"} == set()
    assert all(link.startswith("#set-") for link in found.links)
    assert re.search(r"@import|url\(", page) is None
    assert ("mean over sets" in page) == (sets == 2)
    assert report_page([harbour] * sets, 8) == page


def test_texts_of_runs_are_escaped(tmp_path: Path) -> None:
    """Wherever they come from: ids, tasks, thoughts, arguments, results, labels, models."""
    steps = [step(HOSTILE, HOSTILE, action_input=HOSTILE, observation=f"Error: {HOSTILE}") for _ in range(10)]
    labels = {"annotated": True, "mast": [HOSTILE], "mistake_step": 2, "mistake_reason": HOSTILE}
    more = {"task": HOSTILE, "model": HOSTILE, "dataset": HOSTILE, "labels": labels}
    runs = [run(HOSTILE, steps, outcome="success", **more), run(HOSTILE + "2", steps, outcome="failure", **more)]
    page = report_page([read_set(*replayed(tmp_path / "r.jsonl", runs))] * 2, 8)
    assert parsed(page).seen & {"script", "img"} == set()
    assert "\x00" not in page
    assert "alert(" in page


def test_markup_is_escaped_by_construction() -> None:
    """Text in it and in attributes; what is markup already stays."""
    assert element("p", "<b>", Html("<br/>"), None, title='"&', hidden=False, open=True) == (
        '<p title="&quot;&amp;" open>&lt;b&gt;<br/></p>'
    )


# -- the command -----------------------------------------------------------------------------------


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    """Nothing is printed; several pairs give a summary, named after their files where the runs do not say."""
    pairs = [replayed(tmp_path / f"set{number}.jsonl", [healthy("a"), looping("b")]) for number in range(2)]
    page = tmp_path / "report.html"
    result = command("report", *pairs[0], *pairs[1], "-o", page, "--prefix", "4")
    assert (result.exit_code, result.output) == (0, "")
    text = page.read_text("utf-8")
    assert all(words in text for words in ("set0", "set1", "mean over sets", "first 4 steps"))


def test_files_that_do_not_fit_are_told_in_one_line(tmp_path: Path) -> None:
    """A replay of something else, a file that is none, files without their pair, an output that is an input."""
    runs, output = replayed(tmp_path / "a.jsonl", [healthy("a")])
    longer = write_runs(tmp_path / "b.jsonl", [healthy("a", 7)])
    page = tmp_path / "report.html"
    for arguments, words in (
        ((longer, output), ["'a'", "6", "7", "reasonblocks replay"]),
        ((runs, runs), ["line 1", "reasonblocks replay"]),
        ((runs, tmp_path / "none"), ["none", "no such file"]),
    ):
        result = command("report", *arguments, "-o", page)
        assert (result.exit_code, result.stdout) == (1, "")
        assert [word for word in words if word not in result.stderr] == []
    assert "overwrite" in command("report", runs, output, "-o", output).stderr
    assert command("report", runs, "-o", page).exit_code == 2
    assert not page.exists()
