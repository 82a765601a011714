"""Forgetting: nothing of the text is left in any byte, and what others say stays."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reading import NOW, pipeline, read, record
from strategies import AS_OF

from memrank.indexing import Analyzer
from memrank.pipeline import Pipeline
from memrank.records import read_record
from memrank.stores import sqlite_forget
from memrank.stores.forgetting import Gone, Place, Proof, prove, texts_of
from memrank.stores.readlog import ReadLog
from memrank.stores.readlog_forget import LogPlace
from memrank.stores.sqlite import SqliteStore
from memrank.stores.sqlite_forget import StorePlace
from memrank.types import Memory

SECRET = 'Zebulon Quigley owes 4,711 guilders to "Häagen" & Søn\nsince the xylophone affair of Tuesday.'
OTHER = "The invoice of February was paid by bank transfer."


def store_of(path: Path, *rows: object) -> SqliteStore:
    given = rows or (record("secret", SECRET, aliases=["the xylophonist"]), record("other", OTHER))
    store = SqliteStore.create(path, Analyzer("english", "none"))
    store.append([read_record(row, position=i)[0] for i, row in enumerate(given)])  # type: ignore[arg-type]
    return store


def logged(folder: Path) -> Pipeline:
    return pipeline(store=folder / "s.db", reads={"log": str(folder / "log.db"), "cache": None})


def forget(places: list[Place], name: str, namespace: str | None = None) -> Proof:
    texts = texts_of([memory for place in places for memory in place.held(namespace, name)])
    for place in places:
        place.forget(Gone(namespace=namespace, id=name, texts=texts))
    return prove(places, texts)


def gone(name: str, texts: Sequence[str]) -> Gone:
    return Gone(namespace=None, id=name, texts=tuple(texts))


def raw(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.glob("*.db*")))


def test_store_and_log_hold_it_before_and_not_after(tmp_path: Path) -> None:
    store_of(tmp_path / "s.db").close()
    of = logged(tmp_path)
    ranking = read(of, query="guilders")
    quoting = read(of, query=f"Is it true that {SECRET}?")
    assert of.flush() is None
    places: list[Place] = [StorePlace(tmp_path / "s.db"), LogPlace(tmp_path / "log.db")]
    texts = texts_of(places[0].held(None, "secret"))
    assert prove(places, texts).found == ()  # that others say it is no trace: both still do
    assert prove(places, texts).shared > 0
    proof = forget(places, "secret")
    assert (proof.found, proof.shared) == ((), 0)
    assert proof.bytes_scanned == sum(Path(file).stat().st_size for file in proof.files)
    assert proof.pieces > 3
    left = raw(tmp_path)
    for piece in (b"Zebulon", b"guilders to", b"xyloph", "Häagen".encode(), b"H\\u00e4agen", b"owes"):
        assert piece not in left, piece
    log = ReadLog(tmp_path / "log.db")
    kept = log.load(quoting.meta.read_id)
    assert kept.recorded.query.text == "Is it true that [forgotten]?"
    assert not kept.query_known
    found = {candidate.id: candidate for candidate in log.load(ranking.meta.read_id).candidates}
    assert (found["secret"].memory, found["secret"].forgotten) == (None, True)
    assert found["other"].memory is not None
    assert [item.id for item in read(of, query="guilders").results] == ["other"]


def test_a_record_on_its_way_does_not_bring_it_back(tmp_path: Path) -> None:
    store_of(tmp_path / "s.db").close()
    first, second = logged(tmp_path), logged(tmp_path)
    read(first, query="guilders")
    assert first.flush() is None
    for name, of in (("one", first), ("two", second)):
        read(of, query=f"guilders {name}")  # still waits
    forget([StorePlace(tmp_path / "s.db"), LogPlace(tmp_path / "log.db")], "secret")
    assert (first.flush(), second.flush()) == (None, None)
    assert b"Zebulon" not in raw(tmp_path)
    with closing(sqlite3.connect(tmp_path / "log.db")) as connection:
        assert connection.execute("SELECT count(*) FROM reads").fetchone() == (3,)


def test_no_version_of_it_comes_back_and_no_summary(tmp_path: Path) -> None:
    """The log has never seen the memory; a record of another version of it, with a summary, waits elsewhere."""
    long = f"{SECRET} " + "It went on and on about the matter. " * 30
    store = store_of(tmp_path / "s.db", record("secret", long), record("other", OTHER))
    pruner = {"max_tokens": 60, "keep_last_turns": 0, "keep_below": 0.0, "decay_threshold": 0.0, "drop_threshold": 1.0}
    of = pipeline(store=tmp_path / "s.db", pruner=pruner, reads={"log": str(tmp_path / "log.db")})
    other = pipeline(reads={"log": str(tmp_path / "log.db")})
    read(other, [record("x", "An invoice.")])
    assert other.flush() is None
    assert any(item.summary for item in read(of, query="guilders").results)
    store.record_use(None, ["secret"], AS_OF)
    forget([StorePlace(tmp_path / "s.db"), LogPlace(tmp_path / "log.db")], "secret")
    assert of.flush() is None
    assert b"guilders to" not in raw(tmp_path)


def test_summaries_of_it_go(tmp_path: Path) -> None:
    long = f"{SECRET} " + "It went on and on about the matter. " * 30
    store_of(tmp_path / "s.db", record("secret", long), record("other", OTHER)).close()
    pruner = {"max_tokens": 60, "keep_last_turns": 0, "keep_below": 0.0, "decay_threshold": 0.0, "drop_threshold": 1.0}
    of = pipeline(store=tmp_path / "s.db", pruner=pruner, reads={"log": str(tmp_path / "log.db")})
    ranking = read(of, query="guilders")
    assert any(item.summary for item in ranking.results)
    assert of.flush() is None
    assert forget([StorePlace(tmp_path / "s.db"), LogPlace(tmp_path / "log.db")], "secret").found == ()
    assert b"guilders to" not in raw(tmp_path)


def test_terms_that_only_it_used_leave_the_vocabulary(tmp_path: Path) -> None:
    store = store_of(tmp_path / "s.db", record("a", "zebra paid"), record("b", "invoice paid"))
    StorePlace(tmp_path / "s.db").forget(gone("a", ["zebra paid"]))
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        assert {row[0] for row in connection.execute("SELECT term FROM vocabulary")} == {"invoic", "paid"}
    # A number that is given out again must not be taken for the old term by whoever held it.
    store.append([Memory(id="a", content="quagga paid")])
    of = pipeline(store=tmp_path / "s.db")
    assert "quagga" in read(of, query="quagga").results[0].content


def test_a_reader_that_held_the_old_terms_reads_anew(tmp_path: Path) -> None:
    store = store_of(tmp_path / "s.db", record("a", "invoice paid"), record("b", "zebra paid"))
    of = pipeline(store=tmp_path / "s.db")
    read(of, query="zebra")
    StorePlace(tmp_path / "s.db").forget(gone("b", ["zebra paid"]))
    store.append([Memory(id="b", content="quagga paid")])
    judged = {item.id: item.scores["relevance"] for item in read(of, query="zebra").results}
    fresh = {
        item.id: item.scores["relevance"] for item in read(pipeline(store=tmp_path / "s.db"), query="zebra").results
    }
    assert judged == fresh


def test_what_another_memory_says_is_no_trace(tmp_path: Path) -> None:
    store_of(tmp_path / "s.db", record("a", SECRET), record("b", SECRET)).close()
    proof = forget([StorePlace(tmp_path / "s.db")], "a")
    assert proof.found == ()
    assert proof.shared > 0


def test_only_the_namespace_that_is_named(tmp_path: Path) -> None:
    store = store_of(tmp_path / "s.db", record("a", SECRET, namespace="n"), record("a", OTHER, namespace="m"))
    place = StorePlace(tmp_path / "s.db")
    assert sorted(place.namespaces("a"), key=str) == ["m", "n"]
    assert forget([place], "a", "n").found == ()
    assert [(memory.namespace, memory.content) for memory in store.export()] == [("m", OTHER)]


def test_a_trace_is_found(tmp_path: Path) -> None:
    """The proof can fail: here the pages of the store were copied beside it, where SQLite keeps its log."""
    store_of(tmp_path / "s.db").close()
    before = (tmp_path / "s.db").read_bytes()
    place = StorePlace(tmp_path / "s.db")
    texts = texts_of(place.held(None, "secret"))
    place.forget(gone("secret", texts))
    (tmp_path / "s.db-journal").write_bytes(before)
    assert prove([place], texts).found == (str(tmp_path / "s.db-journal"),)


def test_what_another_process_still_reads_is_found_until_it_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_of(tmp_path / "s.db").close()
    monkeypatch.setattr(sqlite_forget, "STORE", replace(sqlite_forget.STORE, patience=0.01))
    place = StorePlace(tmp_path / "s.db")
    texts = texts_of(place.held(None, "secret"))
    with closing(sqlite3.connect(tmp_path / "s.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM memories").fetchone()
        assert place.forget(gone("secret", texts)) == 1
        assert str(tmp_path / "s.db") in prove([place], texts).found
    assert place.forget(gone("secret", texts)) == 0
    assert prove([place], texts).found == ()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=12, max_size=3000))
def test_no_text_leaves_a_trace(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("forget")
    memory = Memory(id="secret", content=f"qqq{text}zzz")
    with SqliteStore.create(folder / "s.db", Analyzer("english", "none")) as store:
        store.append([memory, Memory(id="other", content=OTHER)])
    place = StorePlace(folder / "s.db")
    texts = texts_of([memory])
    assert place.forget(gone("secret", texts)) == 1
    assert prove([place], texts).found == ()
    assert memory.content.encode() not in raw(folder)


def test_moments_and_names_are_not_looked_for() -> None:
    memory = read_record(record("an-identity-of-some-length", SECRET, session_id="a-long-session-name"), position=0)[0]
    assert texts_of([memory]) == (SECRET,)
    assert NOW not in texts_of([memory])
