"""Reads of high stakes that ask a model: prompts, answers and sentences are in the log, whole; no key, and nothing of a
memory that was forgotten.
"""

from pathlib import Path
from typing import Any

import pytest
from faults.lm_server import ACTS, Answer, LmServer
from lmreading import FAST, POOL, QUERY
from reading import pipeline, read, record

from memrank.asrecorded import recorded_result
from memrank.indexing import Analyzer
from memrank.pipeline import Pipeline
from memrank.records import read_record
from memrank.replay import Sources, replay
from memrank.stores import readlog_file
from memrank.stores.forgetting import Gone, Place, Proof, prove, texts_of
from memrank.stores.readlog import Kept, ReadLog
from memrank.stores.readlog_forget import LogPlace
from memrank.stores.readlog_write import _prune
from memrank.stores.sqlite import SqliteStore
from memrank.stores.sqlite_forget import StorePlace

SECRET = 'Zebulon Quigley owes 4,711 guilders to "Häagen" & Søn\nsince the xylophone affair of Tuesday.'
OTHER = "The invoice of February was paid by bank transfer."
KEY = "zz-quite-a-secret-0815-key"
SAID = "the scripted model says so"


def grave(folder: Path, server: LmServer, *, high_stakes: bool = True, store: bool = False, **lm: object) -> Pipeline:
    return pipeline(
        ranker={"judge": "lm"},
        pruner=None,
        high_stakes=high_stakes,
        lm={**FAST, "endpoint": server.url, **lm},
        reads={"log": str(folder / "log.db"), "cache": None, "redact": ["[0-9]{9}"]},
        store=folder / "s.db" if store else None,
    )


def store_of(path: Path) -> SqliteStore:
    store = SqliteStore.create(path, Analyzer("english", "none"))
    store.append([read_record(row, position=0)[0] for row in (record("secret", SECRET), record("other", OTHER))])
    return store


def forget(*places: Place) -> Proof:
    texts = texts_of([memory for place in places for memory in place.held(None, "secret")])
    for place in places:
        place.forget(Gone(namespace=None, id="secret", texts=texts))
    return prove(places, texts)


def raw(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.glob("*.db*")))


def kept(folder: Path, read_id: str) -> Kept:
    return ReadLog(folder / "log.db").load(read_id)


def test_prompts_and_raw_answers_are_recorded(tmp_path: Path) -> None:
    with LmServer([Answer(wrap=lambda text: f"<think>hm</think>\n{text}")]) as server:
        of = grave(tmp_path, server)
        ranking = read(of, POOL, QUERY)
        assert of.close() is None
        (sent,) = server.calls
    (one,) = kept(tmp_path, ranking.meta.read_id).exchanges
    assert one.messages == sent.prompt.messages
    assert (one.model, one.attempt, one.outcome) == ("local/scripted", 1, "answered")
    assert one.answer is not None
    assert one.answer.startswith("<think>hm</think>")


def test_answers_that_were_wrong_and_calls_that_failed_are_recorded_too(tmp_path: Path) -> None:
    with LmServer([ACTS["500"], ACTS["prose"], ACTS["truncated"]]) as server:
        of = grave(tmp_path, server)
        ranking = read(of, POOL, QUERY)
        assert of.close() is None
    found = kept(tmp_path, ranking.meta.read_id).exchanges
    assert sorted((one.outcome, one.answer is None) for one in found) == [
        ("answered", False),
        ("lm_broken", False),
        ("lm_server", True),
    ]
    assert {one.answer for one in found if one.outcome == "answered"} == {
        "I think that the first one helps the most, and the rest not so much."
    }


def test_replay_and_the_record_show_what_the_model_said(tmp_path: Path) -> None:
    with LmServer() as server:
        of = grave(tmp_path, server)
        ranking = read(of, POOL, QUERY)
        assert of.close() is None
        asked = len(server.calls)
        log = ReadLog(tmp_path / "log.db")
        found = log.load(ranking.meta.read_id)
        again = replay(log, found, [], Sources())
        assert len(server.calls) == asked
    assert again.reproduced, again.differences
    assert again.result is not None
    assert {one.justification for one in again.result.results} == {SAID}
    assert {one.justification for one in recorded_result(found)[0].results} == {SAID}


def test_no_key_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", KEY)
    with LmServer([Answer(wrap=lambda text: f"{KEY} 123456789\n{text}")]) as server:
        of = grave(tmp_path, server, api_key_env="THE_KEY")
        pool = [*POOL, record("leak", f"The rate and the key {KEY}, account 123456789.")]
        ranking = read(of, pool, QUERY)
        assert of.close() is None
        assert KEY in str(server.calls[0].headers)
    for one in kept(tmp_path, ranking.meta.read_id).exchanges:
        assert KEY not in str(one.messages) + str(one.answer)
        assert "123456789" not in str(one.messages) + str(one.answer)  # what the spec removes
        assert "[removed]" in str(one.answer)


def test_secrets_between_escaped_quotes_are_removed_too(tmp_path: Path) -> None:
    with LmServer() as server:
        of = grave(tmp_path, server)
        config = 'The rate service has the config {"password": "hunter22horse", "user": "ann"}.'
        ranking = read(of, [*POOL, record("config", config)], QUERY)
        assert of.close() is None
        (sent,) = server.calls
    assert b"hunter22horse" in sent.raw
    assert b"hunter22horse" not in raw(tmp_path)
    (one,) = kept(tmp_path, ranking.meta.read_id).exchanges
    assert "[removed]" in str(one.messages)
    assert "ann" in str(one.messages)


def test_no_key_of_a_fallback_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_KEY", KEY)
    with LmServer() as server:
        fallback = {"model": "local/other", "endpoint": server.url, "api_key_env": "OTHER_KEY"}
        of = grave(tmp_path, server, fallbacks=[fallback])
        ranking = read(of, [*POOL, record("leak", f"The rate and the key {KEY}.")], QUERY)
        assert of.close() is None
        assert KEY.encode() in server.calls[0].raw
    (one,) = kept(tmp_path, ranking.meta.read_id).exchanges
    assert KEY not in str(one.messages)
    assert "[removed]" in str(one.messages)


def test_forgetting_what_has_no_letters_leaves_other_reads_alone(tmp_path: Path) -> None:
    with LmServer() as server:
        of = grave(tmp_path, server)
        other = read(of, POOL, QUERY)
        read(of, [record("secret", "!? !? !? !? !? :-)")], "guilders")
        assert of.close() is None
    forget(LogPlace(tmp_path / "log.db"))
    (one,) = kept(tmp_path, other.meta.read_id).exchanges
    assert one.messages
    assert one.answer is not None


def test_other_reads_keep_no_prompt(tmp_path: Path) -> None:
    with LmServer() as server:
        of = grave(tmp_path, server, high_stakes=False)
        ranking = read(of, POOL, QUERY)
        assert of.close() is None
    found = kept(tmp_path, ranking.meta.read_id)
    assert found.exchanges == ()
    assert found.recorded.justifications == {}
    assert SAID.encode() not in raw(tmp_path)


def test_what_was_recorded_does_not_depend_on_which_answer_came_first(tmp_path: Path) -> None:
    orders = []
    for turn, pauses in enumerate([(0.0, 0.1, 0.2), (0.2, 0.1, 0.0)]):
        folder = tmp_path / str(turn)
        folder.mkdir()
        with LmServer([Answer(pause=pause) for pause in pauses]) as server:
            of = grave(folder, server, batch=2, deadline="5s", read_deadline="9s")
            ranking = read(of, POOL, QUERY)
            assert of.close() is None
        orders.append(kept(folder, ranking.meta.read_id).exchanges)
    assert len(orders[0]) == 3
    assert orders[0] == orders[1]


def test_forgetting_erases_what_the_model_was_shown_and_said(tmp_path: Path) -> None:
    store_of(tmp_path / "s.db").close()

    def quotes(answer: Any, prompt: Any) -> Any:
        for row in answer["judgements"]:
            row["justification"] = f"it says: {SECRET}"[:200]
        return answer

    with LmServer([Answer(quotes)] * 9) as server:
        of = grave(tmp_path, server, store=True)
        ranking = read(of, query="guilders")
        assert of.flush() is None
        assert b"Zebulon" in raw(tmp_path)
        assert kept(tmp_path, ranking.meta.read_id).recorded.justifications
        proof = forget(StorePlace(tmp_path / "s.db"), LogPlace(tmp_path / "log.db"))
    assert proof.found == ()
    assert b"Zebulon" not in raw(tmp_path)
    found = kept(tmp_path, ranking.meta.read_id)
    assert [(one.outcome, one.messages, one.answer) for one in found.exchanges] == [("answered", (), None)]
    assert found.recorded.justifications == {}


def test_a_record_on_its_way_brings_nothing_back(tmp_path: Path) -> None:
    store_of(tmp_path / "s.db").close()
    with LmServer() as server:
        first, second = grave(tmp_path, server, store=True), grave(tmp_path, server, store=True)
        read(first, query="guilders")
        assert first.flush() is None
        ranking = read(second, query="guilders two")  # still waits
        forget(StorePlace(tmp_path / "s.db"), LogPlace(tmp_path / "log.db"))
        assert second.flush() is None
    assert b"Zebulon" not in raw(tmp_path)
    assert [one.messages for one in kept(tmp_path, ranking.meta.read_id).exchanges] == [()]


def test_a_prompt_that_quotes_it_goes_as_well(tmp_path: Path) -> None:
    with LmServer() as server:
        of = grave(tmp_path, server)
        ranking = read(of, [record("letter", f"He wrote:\n{SECRET}"), record("other", OTHER)], "guilders")
        read(of, [record("secret", SECRET)], "guilders, please")
        assert of.close() is None
        forget(LogPlace(tmp_path / "log.db"))
    (one,) = kept(tmp_path, ranking.meta.read_id).exchanges
    assert one.messages == ()


def test_a_log_from_before_there_were_models_is_written_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(readlog_file, "MIGRATIONS", readlog_file.MIGRATIONS[:1])
        readlog_file.create(tmp_path / "log.db")
    with LmServer() as server:
        of = grave(tmp_path, server)
        ranking = read(of, POOL, QUERY)
        assert of.close() is None
    assert len(kept(tmp_path, ranking.meta.read_id).exchanges) == 1


def test_old_exchanges_go_with_their_reads(tmp_path: Path) -> None:
    with LmServer() as server:
        of = grave(tmp_path, server)
        read(of, POOL, QUERY)
        assert of.close() is None
    log = ReadLog(tmp_path / "log.db")
    with log.transaction(write=True) as connection:
        connection.execute("UPDATE reads SET at = at - 100")
        connection.execute(
            "INSERT INTO reads SELECT 2, 'newer', at + 100, as_of, query_id, latency_ms, cached FROM reads"
        )
        _prune(connection, 50)
        for table in ("exchanges", "prompts", "records"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
