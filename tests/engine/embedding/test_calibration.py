"""What a cosine means: the map, the file it comes from, and what it is worth on pairs it was not fitted on."""

import logging
import math
from collections import Counter
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasonblocks.engine.embedding.calibration import SHIPPED, Calibration, calibration_for
from reasonblocks.engine.embedding.minilm import NAME, MiniLM

DEFAULT = calibration_for(NAME)
COSINES = st.floats(-1.0, 1.0)


@given(COSINES, COSINES)
def test_similarity_grows_with_the_cosine(one: float, other: float) -> None:
    """A nearer text is never less similar, and similarity is a share."""
    low, high = sorted((one, other))
    for calibration in (DEFAULT, Calibration("none")):
        assert 0.0 <= calibration.similarity(low) <= calibration.similarity(high) <= 1.0


@given(st.floats(0.01, 0.99))
def test_the_way_back_leads_to_the_same_similarity(similarity: float) -> None:
    """A gate can be applied to cosines as well."""
    for calibration in (DEFAULT, Calibration("none")):
        assert math.isclose(calibration.similarity(calibration.cosine_for(similarity)), similarity, abs_tol=1e-9)


def test_the_ends_of_the_scale() -> None:
    """Nothing has a similarity of 1 or more, everything one of 0; a cosine that is no number has none."""
    assert DEFAULT.cosine_for(1.0) == math.inf
    assert DEFAULT.cosine_for(0.0) == -math.inf
    assert DEFAULT.similarity(math.nan) == 0.0
    assert DEFAULT.similarity(1.0) > 0.99
    assert DEFAULT.similarity(0.2) < 0.01


def test_c20_the_gates_open_for_what_the_default_model_can_give() -> None:
    """0.7 and 0.8 are cosines that texts with the same meaning have; a gate on raw cosines would hardly ever open."""
    assert 0.5 < DEFAULT.cosine_for(0.7) < DEFAULT.cosine_for(0.8) < 0.7


def test_a_model_without_a_calibration_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    """Its cosine is taken as it is, and the log says how to do better."""
    with caplog.at_level(logging.WARNING, logger="reasonblocks"):
        found = calibration_for("somebody's model")
        assert calibration_for("somebody's model") is found
    assert [found.similarity(cosine) for cosine in (-0.5, 0.3, 1.5)] == [0.0, 0.3, 1.0]
    assert len(caplog.records) == 1
    assert 'no calibration for the embedder "somebody\'s model"' in caplog.text
    assert "benchmarks/calibration/fit.py --write" in caplog.text


# -- the texts it is fitted on ---------------------------------------------------------------------


def test_the_shipped_calibration_was_fitted_on_the_texts_as_they_are(situations: ModuleType) -> None:
    """Whoever changes a text fits again: `python benchmarks/calibration/fit.py --write`."""
    assert SHIPPED[NAME].fitted["situations_sha256"] == situations.digest()


def test_the_texts_are_many_and_split_by_topic(situations: ModuleType) -> None:
    """At least 150 situations over eight domains, each with a restatement and others; no topic is on both sides."""
    fitted, held_out = situations.load()
    both = fitted.situations + held_out.situations
    assert len(both) >= 150
    assert len({situation.domain for situation in both}) == 8
    assert not {text.topic for text in fitted.texts} & {text.topic for text in held_out.texts}
    assert max(Counter((situation.topic, situation.name) for situation in both).values()) == 1
    texts = fitted.texts + held_out.texts
    told = Counter(
        (text.topic, text.situation, text.kind) for text in texts if text.kind != "healthy" and not text.late
    )
    assert all(told[s.topic, s.name, "restated"] == 1 and told[s.topic, s.name, "shown"] >= 2 for s in both)
    assert max(Counter(text.text for text in texts).values()) == 1


def test_every_text_has_one_right_description_at_most(situations: ModuleType) -> None:
    """A text is right for its own situation, has neighbours on the same subject, and kin is not counted as wrong."""
    for split in situations.load():
        right, compared = split.right(), split.compared()
        told = np.array([text.situation is not None for text in split.texts])
        assert right[told].sum(axis=1).tolist() == [1] * told.sum()
        assert not right[~told].any()
        assert compared[right].all()
        assert not compared.all()
        assert (split.same_topic().sum(axis=1) == 4).all()


def test_nothing_untouched_is_fitted_on(situations: ModuleType) -> None:
    """The texts that are only measured are of topics of their own."""
    fitted, held_out = situations.load()
    untouched = situations.load_untouched(held_out)
    assert len(untouched.texts) >= 100
    assert not {text.topic for text in untouched.texts} & {text.topic for text in fitted.texts + held_out.texts}


# -- what it is worth ------------------------------------------------------------------------------


def test_c20_restated_situations_are_found_and_hardly_any_others(situations: ModuleType, fit: ModuleType) -> None:
    """On held-out pairs: nine in ten that pass a gate are right, and four in five restated situations pass."""
    _, held_out = situations.load()
    texts = [text for text in held_out.texts if text.kind == "restated" and not text.late]
    found = fit.worth(fit.measure(situations.Split(held_out.situations, texts), MiniLM()), DEFAULT, False)
    assert found["0.7"].precision >= 0.9
    assert found["0.8"].precision >= 0.95
    assert found["0.7"].recall >= 0.85
    assert found["0.8"].recall >= 0.8


@pytest.mark.slow
def test_the_file_says_what_a_fit_gives(situations: ModuleType, fit: ModuleType) -> None:
    """Fitted again, the numbers and the figures are those that are shipped."""
    model = MiniLM()
    fitted, held_out = (fit.measure(split, model) for split in situations.load())
    untouched = fit.measure(situations.load_untouched(held_out.split), model)
    again = fit.entry(fitted, held_out, untouched, fit.fit(fitted, NAME))
    shipped = SHIPPED[NAME]
    assert again["slope"] == pytest.approx(shipped.slope, abs=0.05)
    assert again["offset"] == pytest.approx(shipped.offset, abs=0.05)
    for part, expected in (("held_out", shipped.held_out), ("untouched", shipped.untouched)):
        for way in ("by_the_gate_alone", "after_the_screen"):
            for gate, figures in expected[way].items():
                assert again[part][way][gate] == pytest.approx(figures, abs=0.01), (part, way, gate)
