"""Every way in which a model can fail, through a whole read: complete, flagged, bounded in time and in calls."""

from collections.abc import Sequence

import pytest
from faults.lm_server import (
    ACTS,
    FATAL,
    FAULTY_ANSWERS,
    MEDDLING_ANSWERS,
    REPAIRABLE_ANSWERS,
    TRANSPORT_FAULTS,
    WRAPPED_ANSWERS,
    Act,
    LmServer,
)
from lmreading import IDS, POOL, QUERY, SPARE, asking, codes, embedded, fallen, relevance, timed, whole
from reading import read

FOREVER = 20
"""Acts enough to fail at every call that a read of this pool can make."""
LIMIT = 1.5 + SPARE


@pytest.fixture(scope="module")
def plain() -> dict[str, float]:
    """What the embedded judge says."""
    return relevance(read(embedded(), POOL, QUERY))


@pytest.fixture(scope="module")
def well() -> dict[str, float]:
    """What a model that never fails says."""
    with LmServer() as server:
        ranking = read(asking(server), POOL, QUERY)
        assert fallen(ranking) == []
        assert len(server.calls) == 1
    return relevance(ranking)


def test_the_model_is_heard(plain: dict[str, float], well: dict[str, float]) -> None:
    assert well != plain


@pytest.mark.parametrize("name", sorted(WRAPPED_ANSWERS))
@pytest.mark.parametrize("schema", [False, True])
def test_what_is_wrapped_around_an_answer_is_taken_off(name: str, schema: bool, well: dict[str, float]) -> None:
    with LmServer([ACTS[name]]) as server:
        ranking = read(asking(server, response_schema=schema), POOL, QUERY)
        whole(ranking)
        assert fallen(ranking) == []
        assert len(server.calls) == 1
        assert relevance(ranking) == well


@pytest.mark.parametrize("name", sorted(REPAIRABLE_ANSWERS))
def test_what_is_safe_to_read_is_repaired_with_a_note(name: str) -> None:
    with LmServer([ACTS[name]]) as server:
        ranking = read(asking(server), POOL, QUERY)
        whole(ranking)
        assert fallen(ranking) == []
        assert len(server.calls) == 1
        assert codes(ranking, "repair")


@pytest.mark.parametrize("name", sorted(FAULTY_ANSWERS))
def test_one_invalid_answer_is_asked_again(name: str, well: dict[str, float]) -> None:
    with LmServer([ACTS[name]]) as server:
        ranking, took = timed(asking(server))
        whole(ranking)
        assert fallen(ranking) == []
        assert len(server.calls) <= 2
        assert relevance(ranking) == well or name in ("extra_id", "double_id")
        assert took < LIMIT


@pytest.mark.parametrize("name", sorted(FAULTY_ANSWERS))
def test_invalid_answers_without_end_fall_back_by_memory(name: str, plain: dict[str, float]) -> None:
    with LmServer([ACTS[name]] * FOREVER) as server:
        ranking, took = timed(asking(server))
        whole(ranking)
        assert len(server.calls) <= 2
        assert took < LIMIT
        if name not in ("extra_id", "double_id"):
            assert fallen(ranking)
            assert codes(ranking, "failure")
        now = relevance(ranking)
        assert {identity: now[identity] for identity in fallen(ranking)} == pytest.approx(
            {identity: plain[identity] for identity in fallen(ranking)}
        )


@pytest.mark.parametrize("name", sorted(FAULTY_ANSWERS))
def test_zero_is_what_the_unjudged_get_where_the_spec_says_so(name: str) -> None:
    with LmServer([ACTS[name]] * FOREVER) as server:
        ranking = read(asking(server, on_error="zero"), POOL, QUERY)
        whole(ranking)
        now = relevance(ranking)
        assert [now[identity] for identity in fallen(ranking)] == [0.0] * len(fallen(ranking))


@pytest.mark.parametrize("name", sorted(TRANSPORT_FAULTS))
def test_a_call_that_fails_once(name: str, well: dict[str, float]) -> None:
    with LmServer([ACTS[name]]) as server:
        ranking, took = timed(asking(server))
        whole(ranking)
        assert took < LIMIT
        assert 1 <= len(server.calls) <= 2
        if name not in ("429_absurd", "429_date", "die"):
            assert fallen(ranking) == []
            assert relevance(ranking) == well
        else:
            assert fallen(ranking) == IDS


@pytest.mark.parametrize("name", sorted(TRANSPORT_FAULTS))
def test_a_server_that_always_fails(name: str, plain: dict[str, float]) -> None:
    with LmServer([ACTS[name]] * FOREVER) as server:
        ranking, took = timed(asking(server))
        whole(ranking)
        assert took < LIMIT
        assert 1 <= len(server.calls) <= 2
        assert fallen(ranking) == IDS
        assert relevance(ranking) == plain
        assert codes(ranking, "failure")


@pytest.mark.parametrize("name", sorted(MEDDLING_ANSWERS))
def test_code_reckons_whatever_a_model_reckons(name: str) -> None:
    with LmServer([ACTS[name]] * FOREVER) as server:
        ranking = read(asking(server), POOL, QUERY)
        whole(ranking)
        plain = read(embedded(), POOL, QUERY)
        fresh = {item.id: item.scores["freshness"] for item in (*plain.results, *plain.excluded)}
        assert {item.id: item.scores["freshness"] for item in (*ranking.results, *ranking.excluded)} == fresh
        assert not any("</memory>" in line for note in ranking.notes for line in (note.detail,))


@pytest.mark.parametrize("first", ["503", "nan", "429_soon", "reset"])
@pytest.mark.parametrize("second", ["missing_id", "500", "prose"])
def test_two_different_faults_in_a_row(first: str, second: str) -> None:
    with LmServer([ACTS[first], ACTS[second]]) as server:
        ranking, took = timed(asking(server))
        whole(ranking)
        # One transport and one validation retry at the most, for one batch.
        assert len(server.calls) <= 3
        assert took < LIMIT


@pytest.mark.parametrize("name", sorted(FATAL))
def test_a_refused_key_is_not_tried_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPTED_KEY", "sk-never-to-be-seen")
    with LmServer([ACTS[name]] * FOREVER) as server:
        ranking = read(asking(server, api_key_env="SCRIPTED_KEY", batch=2, concurrency=1), POOL, QUERY)
        whole(ranking)
        assert len(server.calls) == 1
        assert server.calls[0].headers["authorization"] == "Bearer sk-never-to-be-seen"
        assert fallen(ranking) == IDS
        said = " ".join(note.detail for note in ranking.notes)
        assert "SCRIPTED_KEY" in said
        assert "never-to-be-seen" not in said


@pytest.mark.parametrize(
    "acts", [[ACTS["unknown_id"]], [ACTS["missing_id"]], [ACTS["nan"]]], ids=["unknown", "missing", "nan"]
)
def test_the_retry_tells_what_was_wrong(acts: Sequence[Act]) -> None:
    with LmServer(acts) as server:
        read(asking(server), POOL, QUERY)
        assert len(server.calls) == 2
        before, after = ("".join(text for _, text in call.prompt.messages) for call in server.calls)
        assert len(after) > len(before) or "missing" in after or "m" in after
        assert before != after
