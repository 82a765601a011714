"""A recorded read of a model is replayed from what the model said then: it is not asked again."""

from pathlib import Path

from faults.lm_server import LmServer
from lmreading import FAST, POOL, QUERY, relevance
from reading import pipeline, read

from memrank.asrecorded import recorded_result
from memrank.pipeline import Pipeline
from memrank.replay import Sources, replay
from memrank.stores.readlog import ReadLog


def _logging(folder: Path, server: LmServer, **lm: object) -> Pipeline:
    log = {"log": str(folder / "log.db")}
    return pipeline(
        temporal={"sensitivity": "auto", "read_time": "lm"},
        ranker={"judge": "lm"},
        pruner=None,
        lm={**FAST, "endpoint": server.url, **lm},
        reads=log,
    )


def test_a_replay_asks_nobody_and_gives_the_same(tmp_path: Path) -> None:
    with LmServer() as server:
        of = _logging(tmp_path, server)
        ranking = read(of, POOL, QUERY)
        assert of.close() is None
        asked = len(server.calls)
        log = ReadLog(tmp_path / "log.db")
        kept = log.load(ranking.meta.read_id)
        again = replay(log, kept, [], Sources())
        assert len(server.calls) == asked
    assert again.reproduced, again.differences
    result, missing = recorded_result(kept)
    assert missing == ()
    assert {one.id: one.score for one in result.results} == {one.id: one.score for one in ranking.results}
    assert {one.judged_by for one in result.results} == {"lm"}
    assert result.results[0].justification == "what the model said was not recorded"
    assert {one.id: one.scores["relevance"] for one in (*again.result.results, *again.result.excluded)} == relevance(
        ranking
    )
    assert again.result.sensitivity == ranking.result.sensitivity == "real-time"


def test_what_decoys_took_back_is_replayed_as_it_was(tmp_path: Path) -> None:
    with LmServer(opinion=lambda item, query: 0.8) as server:
        of = _logging(tmp_path, server, decoys=1)
        ranking = read(of, POOL, QUERY)
        assert of.close() is None
        asked = len(server.calls)
        log = ReadLog(tmp_path / "log.db")
        again = replay(log, log.load(ranking.meta.read_id), [], Sources())
        assert len(server.calls) == asked
    assert "decoy_answered" in {note.code for note in ranking.notes}
    assert again.reproduced, again.differences
    assert again.result is not None
    assert {one.id: one.flags for one in again.result.results} == {one.id: one.flags for one in ranking.results}
