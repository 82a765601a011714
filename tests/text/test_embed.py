"""Sentence vectors: unit length, the same alone as in a batch, bounded on huge text, close for what means the same."""

import importlib.util
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrank.errors import DependencyError
from memrank.text.embed import DIMENSIONS, MAX_CHARS, StaticEmbedder, static_embedder

EMBEDDER = static_embedder()


@settings(deadline=None, max_examples=40)
@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40), max_size=6))
def test_rows_do_not_depend_on_each_other(texts: list[str]) -> None:
    together = EMBEDDER.embed(texts)
    assert together.shape == (len(texts), DIMENSIONS)
    assert together.dtype == np.float32
    assert np.isfinite(together).all()
    for i, text in enumerate(texts):
        assert together[i].tolist() == EMBEDDER.embed([text])[0].tolist()
        length = float(np.linalg.norm(together[i]))
        assert length == 0 or length == pytest.approx(1, abs=1e-3)


def test_values_are_what_sixteen_bits_hold() -> None:
    vector = EMBEDDER.embed(["The rate is four percent."])
    assert vector.astype(np.float16).astype(np.float32).tolist() == vector.tolist()


def test_text_without_tokens_has_no_direction() -> None:
    assert not EMBEDDER.embed([""]).any()


def test_what_means_the_same_is_closer() -> None:
    car, automobile, bread = EMBEDDER.embed(["He bought a car.", "He purchased an automobile.", "She baked bread."])
    assert float(car @ automobile) > float(car @ bread) + 0.2


def test_only_the_start_of_a_huge_text_counts() -> None:
    start = "rate " * (MAX_CHARS // 5)
    first, second = EMBEDDER.embed([start, start + "bread " * 200_000])
    assert first.tolist() == second.tolist()


def test_it_is_one_for_the_process() -> None:
    assert static_embedder() is EMBEDDER


@pytest.mark.parametrize("found", ["nothing", "a folder", "another package"])
def test_a_package_that_is_missing_or_another_is_an_error_with_a_way_out(
    found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = str(tmp_path / "__init__.py") if found == "another package" else None
    spec = None if found == "nothing" else ModuleSpec("wordllama", None, origin=origin)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    with pytest.raises(DependencyError, match="wordllama") as caught:
        StaticEmbedder()
    assert "pip install" in str(caught.value.hint)
    assert (caught.value.code, caught.value.exit_status) == ("dependency", 2)
