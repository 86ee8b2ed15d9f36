#!/usr/bin/env python3
"""Fit the calibration of an embedder, and print what it and the lexical screen are worth on texts held out.

python benchmarks/calibration/fit.py                                    the offline default
python benchmarks/calibration/fit.py --embeddings openai:text-embedding-3-small --write
python benchmarks/calibration/fit.py --runs FOLDER --script FILE        and how many healthy contexts pass the screen
"""

import argparse
import json
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import contexts
import figures
import numpy as np
import situations
from figures import Flags, Numbers

from reasonblocks.engine.embedding import calibration
from reasonblocks.engine.embedding.adapter import resolve_embedder
from reasonblocks.engine.embedding.base import Embedder, Vectors
from reasonblocks.engine.embedding.calibration import Calibration
from reasonblocks.engine.embedding.context import views
from reasonblocks.engine.embedding.screen import LexicalScreen

GATES = {"e2": 0.7, "e1": 0.8}
THRESHOLDS = (0.2, 0.23, 0.25, 0.27, 0.3, 0.33)
"""Of the screen, to choose from."""


@dataclass(frozen=True)
class Measured:
    """A split with its cosines."""

    split: situations.Split
    cosines: Numbers
    right: Flags
    compared: Flags

    def chosen(self, rows: list[bool]) -> "Measured":
        """Only some of the texts."""
        kept = situations.Split(
            self.split.situations, [text for text, keep in zip(self.split.texts, rows, strict=True) if keep]
        )
        return Measured(kept, self.cosines[rows], self.right[rows], self.compared[rows])


def measure(split: situations.Split, embedder: Embedder) -> Measured:
    """The cosine of every text with every description; of the views of a text, the one that is nearest counts."""
    descriptions = embedder.embed([situation.description for situation in split.situations])
    cosines = np.array([nearest(text.text, descriptions, embedder) for text in split.texts], np.float64)
    return Measured(split, cosines, split.right(), split.compared())


def nearest(context: str, descriptions: Vectors, embedder: Embedder) -> Numbers:
    """The cosine of a context with each description."""
    found: Numbers = (embedder.embed(views(context)) @ descriptions.T).max(axis=0)
    return found


def fit(measured: Measured, model: str) -> Calibration:
    """The calibration by all pairs that count."""
    pairs = measured.compared
    slope, offset = figures.fitted_logistic(measured.cosines[pairs], measured.right[pairs])
    return Calibration(model, round(slope, 4), round(offset, 4))


def worth(measured: Measured, calibrated: Calibration, screen: bool) -> dict[str, figures.Passed]:
    """What passes each gate, with the screen before it or without."""
    found = {}
    allowed = _screened(measured.split) if screen else np.ones(len(measured.split.texts), bool)
    for gate in GATES.values():
        passes = (measured.cosines >= calibrated.cosine_for(gate)) & allowed[:, None]
        found[str(gate)] = figures.passed(passes, measured.right, measured.compared)
    return found


def _screened(split: situations.Split) -> Flags:
    screen = LexicalScreen.build([situation.description for situation in split.situations])
    return np.array([screen.passes(text.text) for text in split.texts])


def report(measured: Measured, calibrated: Calibration) -> None:
    """Print what a calibration is worth on a split."""
    wrong = measured.cosines[measured.compared & ~measured.right]
    hard = measured.cosines[measured.compared & ~measured.right & measured.split.same_topic()]
    right = measured.cosines[measured.right]
    print(
        f"  {len(measured.split.situations)} descriptions, {len(measured.split.texts)} texts, {len(right)} right and "
        f"{len(wrong)} wrong pairs, {len(hard)} of these on the same subject"
    )
    print(f"  AUROC {figures.auroc(right, wrong):.3f}, against the same subject only {figures.auroc(right, hard):.3f}")
    for screen in (False, True):
        for gate, found in worth(measured, calibrated, screen).items():
            low, high = figures.interval(found.precision, max(1, found.right + found.wrong))
            print(f"  similarity >= {gate}{' after the screen' if screen else '':17} {found} ({low:.2f} to {high:.2f})")
    texts = measured.split.texts
    for kind in ("restated", "shown"):
        for late in (False, True):
            part = measured.chosen([(text.kind, text.late) == (kind, late) for text in texts])
            by_gate = worth(part, calibrated, False)
            print(
                f"    {kind:8} {'after healthy thoughts' if late else 'by itself':22} "
                + ", ".join(f"recall at {gate} {each.recall:.3f}" for gate, each in by_gate.items())
            )


def report_domains(measured: Measured, calibrated: Calibration) -> None:
    """Print the same by domain."""
    for domain in sorted({text.domain for text in measured.split.texts}):
        part = measured.chosen([text.domain == domain for text in measured.split.texts])
        print(f"    {domain:10} " + "; ".join(f"{g}: {f}" for g, f in worth(part, calibrated, False).items()))


def report_screen(measured: Measured, calibrated: Calibration) -> None:
    """Print how many of the right pairs that pass the gate of E2 pass the screen, at several thresholds."""
    screen = LexicalScreen.build([situation.description for situation in measured.split.situations])
    passing = (measured.right & (measured.cosines >= calibrated.cosine_for(GATES["e2"]))).any(axis=1)
    scores = np.array([screen.score(text.text) for text in measured.split.texts])
    healthy = np.array([text.kind == "healthy" for text in measured.split.texts])
    for threshold in THRESHOLDS:
        print(
            f"    threshold {threshold}: {np.mean(scores[passing] >= threshold):.3f} of {passing.sum()} right ones, "
            f"{np.mean(scores[healthy] >= threshold):.3f} of {healthy.sum()} healthy ones"
        )


def library_texts() -> list[str]:
    """What the E2 patterns of the package are compared by."""
    from reasonblocks.engine.patterns.fields import embedding_text
    from reasonblocks.engine.patterns.library import load_library

    return [embedding_text("e2", pattern.fields) for pattern in load_library().patterns if pattern.tier == "e2"]


def report_healthy(name: str, found: list[str], embedder: Embedder, calibrated: Calibration) -> None:
    """Print how many contexts pass the screen of the shipped library, and the gate after it, and how long that took."""
    texts = library_texts()
    screen, vectors = LexicalScreen.build(texts), embedder.embed(texts)
    scores = np.array([screen.score(context) for context in found])
    began = time.perf_counter()
    passing = [context for context in found if screen.passes(context)]
    microseconds = (time.perf_counter() - began) / len(found) * 1e6
    gate = calibrated.cosine_for(GATES["e2"])
    matched = sum(nearest(context, vectors, embedder).max() >= gate for context in passing)
    shares = ", ".join(f"{np.mean(scores >= t):.3f} at {t}" for t in THRESHOLDS)
    print(
        f"    {name:18} {len(passing)} of {len(found)} pass the screen, {matched} of these the gate of e2 as well; "
        f"{microseconds:.0f} us each (share by threshold: {shares})"
    )


def entry(fitted: Measured, held_out: Measured, untouched: Measured, calibrated: Calibration) -> dict[str, Any]:
    """What `calibration.json` says about a model."""
    return {
        "slope": calibrated.slope,
        "offset": calibrated.offset,
        "fitted": {
            "on": date.today().isoformat(),
            "by": "benchmarks/calibration/fit.py",
            "situations_sha256": situations.digest(),
            **_shown(fitted, calibrated),
        },
        "held_out": _shown(held_out, calibrated),
        "untouched": _shown(untouched, calibrated),
    }


def _shown(measured: Measured, calibrated: Calibration) -> dict[str, Any]:
    wrong = measured.compared & ~measured.right
    shown: dict[str, Any] = {
        "pairs": int(measured.compared.sum()),
        "auroc": round(figures.auroc(measured.cosines[measured.right], measured.cosines[wrong]), 4),
    }
    parts = {
        kind: measured.chosen([text.kind == kind for text in measured.split.texts]) for kind in ("restated", "shown")
    }
    for screen in (False, True):
        shown["after_the_screen" if screen else "by_the_gate_alone"] = {
            gate: {
                "precision": round(found.precision, 4),
                "recall": round(found.recall, 4),
                **{
                    f"recall_where_{kind}": round(worth(part, calibrated, screen)[gate].recall, 4)
                    for kind, part in parts.items()
                },
            }
            for gate, found in worth(measured, calibrated, screen).items()
        }
    return shown


def write(model: str, found: dict[str, Any]) -> Path:
    """Put the calibration of a model into the package's file."""
    path = Path(calibration.__file__).with_name(calibration.FILE)
    content = json.loads(path.read_text("utf-8"))
    content[model] = found
    path.write_text(json.dumps(dict(sorted(content.items())), indent=2) + "\n", "utf-8")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--embeddings", metavar="SETTING", help="as REASONBLOCKS takes it; the offline default if none")
    parser.add_argument("--write", action="store_true", help="put the result into the package's calibration.json")
    parser.add_argument("--runs", type=Path, metavar="FOLDER", help="recorded runs (*.jsonl.gz), for the screen")
    parser.add_argument(
        "--script", type=Path, metavar="FILE", help="a load driver with build_thoughts(), for the screen"
    )
    arguments = parser.parse_args()
    embedder = resolve_embedder(arguments.embeddings)
    fitted, held_out = (measure(split, embedder) for split in situations.load())
    untouched = measure(situations.load_untouched(held_out.split), embedder)
    calibrated = fit(fitted, embedder.name)
    print(f"{embedder.name}: slope {calibrated.slope:.4f}, offset {calibrated.offset:.4f}")
    print(
        ", ".join(
            f"similarity {gate} is a cosine of {calibrated.cosine_for(gate):.3f}" for gate in (0.5, 0.7, 0.8, 0.9)
        )
    )
    for name, measured in (("fitted", fitted), ("held out", held_out), ("untouched", untouched)):
        print(f"{name}:")
        report(measured, calibrated)
        report_domains(measured, calibrated)
        print("  the screen, on right pairs that pass the gate of e2:")
        report_screen(measured, calibrated)
    if arguments.runs or arguments.script:
        print("the screen before the shipped E2 library, on contexts of agents with whom nothing is wrong:")
        if arguments.script:
            report_healthy("scripted", contexts.scripted(arguments.script), embedder, calibrated)
        for name, found in (contexts.recorded(arguments.runs) if arguments.runs else {}).items():
            report_healthy(name, found, embedder, calibrated)
    if arguments.write:
        print(f"written to {write(embedder.name, entry(fitted, held_out, untouched, calibrated))}")


if __name__ == "__main__":
    main()
