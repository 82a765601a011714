"""Scorers in the place of memrank's own: what they raise becomes an error of memrank's, once, with their name."""

from collections.abc import Callable
from typing import Any

import pytest
from reading import pipeline, read, record

from memrank.errors import DataError, MemrankError, ScorerError, ServiceError
from memrank.pipeline import Pipeline

PLACES: list[tuple[str, str]] = [("ranker", "judge"), ("temporal", "read_time"), ("pruner", "decay")]


def put(of: Pipeline, place: tuple[str, str], scorer: object) -> Pipeline:
    setattr(getattr(of, place[0]), place[1], scorer)
    return of


class Away:
    """Raises what it was given."""

    def __init__(self, fault: Exception) -> None:
        self._fault = fault

    def __call__(self, *, slate: object) -> Any:
        raise self._fault


@pytest.mark.parametrize("place", PLACES)
def test_what_is_raised_is_translated_once_and_names_the_scorer(place: tuple[str, str]) -> None:
    fault = KeyError("text of a memory")
    with pytest.raises(ScorerError, match=r"^the scorer Away raised KeyError\n") as raised:
        read(put(pipeline(), place, Away(fault)), [record("a")])
    assert raised.value.__cause__ is fault
    assert "text of a memory" not in str(raised.value)
    assert (raised.value.code, raised.value.exit_status) == ("scorer", 4)


@pytest.mark.parametrize("fault", [ServiceError("away"), DataError("bad"), ScorerError("within")])
def test_errors_of_memrank_stay_as_they_are(fault: MemrankError) -> None:
    with pytest.raises(type(fault)) as raised:
        read(put(pipeline(), PLACES[0], Away(fault)), [record("a")])
    assert raised.value is fault


def test_an_answer_without_what_is_asked_for() -> None:
    def silent(*, slate: object) -> None:
        return None

    with pytest.raises(ScorerError, match="silent raised AttributeError"):
        read(put(pipeline(), PLACES[0], silent), [record("a")])


def test_a_defect_of_memranks_own_scorer_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object, slate: object) -> Callable[[], None]:
        raise ZeroDivisionError

    monkeypatch.setattr("memrank.stages.ranker.EmbeddedRelevance.judge", broken)
    with pytest.raises(ZeroDivisionError):
        read(pipeline(), [record("a")])
