"""A recorded read gives the same again, bit for bit; and "what if" gives what a read under such a spec would give."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import NOW, pipeline, read, record
from strategies import AS_OF, WORDS, dates
from strategies import records as drawn_records

import memrank
from memrank.asrecorded import recorded_result
from memrank.errors import DataError, SpecError, UsageError
from memrank.pipeline import Pipeline, Ranking
from memrank.render.reads import replay_json, replay_text
from memrank.render.terminal import Look
from memrank.replay import Replay, Sources, moves, replay
from memrank.result import to_dict
from memrank.specfile import load_spec
from memrank.stores.readlog import Kept, ReadLog

ROOT = Path(__file__).resolve().parents[1]
SETS = ("agent-memory", "chat-context", "clinical", "finance", "news")


def spec_with_log(folder: Path, name: str, more: str = "") -> Path:
    """A shipped spec that records its reads in `folder/log.db`."""
    text = (ROOT / "pipelines" / f"{name}.yaml").read_text(encoding="utf-8")
    text = text.replace("../evalsets", (ROOT / "evalsets").as_posix())
    target = folder / f"{name}.yaml"
    target.write_text(f"{text}reads: {{log: log.db{more}}}\n", encoding="utf-8")
    return target


def kept(of: Pipeline, ranking: Ranking, folder: Path) -> tuple[ReadLog, Kept]:
    assert of.flush() is None
    log = ReadLog(folder / "log.db")
    return log, log.load(ranking.meta.read_id)


def body(ranking: Ranking | Any) -> dict[str, Any]:
    found = ranking.to_dict() if isinstance(ranking, Ranking) else to_dict(ranking)
    del found["meta"]["latency_ms"]
    return found


def answered(of: Pipeline, folder: Path, ranking: Ranking) -> Replay:
    """The replay of a read, after its record was compared with its answer."""
    log, found = kept(of, ranking, folder)
    result, missing = recorded_result(found)
    assert missing == ()
    assert body(result) == body(ranking)
    return replay(log, found, [], Sources())


@pytest.mark.parametrize("name", SETS)
def test_reads_of_the_golden_sets_are_reproduced(name: str, tmp_path: Path) -> None:
    """With limits of every kind, and as of moments at which not everything was known."""
    of = memrank.load(spec_with_log(tmp_path, name))
    lines = (ROOT / "evalsets" / name / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    options: list[dict[str, Any]] = [{}, {"rank_only": True}, {"top_k": 3}, {"max_tokens": 80}, {"query_id": "q"}]
    for i, line in enumerate(lines[::9]):
        row = json.loads(line)
        asked = {"as_of": row["query_time"], "namespace": row["group"], **options[i % len(options)]}
        ranking = of(row["query"], **asked)
        found = answered(of, tmp_path, ranking)
        assert (found.reproduced, found.differences) == (True, ()), row["id"]


def test_what_if_tells_whether_a_person_would_be_asked_for(tmp_path: Path) -> None:
    of = pipeline(reads={"log": str(tmp_path / "log.db")}, review={"top_score_below": 0.0, "ambiguity_margin": 0.0})
    ranking = read(of, [record("a")])
    log, found = kept(of, ranking, tmp_path)
    asked = replay(log, found, ["review.top_score_below=1.0"], Sources())
    assert asked.review == ((), ("low_top_score",))
    assert replay_json(asked)["review"] == {
        "then": {"needs_review": False, "review_reasons": []},
        "now": {"needs_review": True, "review_reasons": ["low_top_score"]},
    }
    look = Look(width=100, colour=False)
    assert "needs_review: no -> yes (low_top_score)" in replay_text(asked, look).split("\n")
    both = replay(log, found, ["review.top_score_below=1.0", "high_stakes=true", "ranker.top_k=1"], Sources())
    assert "needs_review: no -> yes (low_top_score, high_stakes)" in replay_text(both, look)
    same = replay(log, found, ["review.ambiguity_margin=0.01"], Sources())
    assert same.review == ((), ())
    assert "needs_review" not in replay_text(same, look)
    plain = replay(log, found, [], Sources())
    assert (plain.review, replay_json(plain)["review"]) == (None, None)


@pytest.mark.parametrize("text", ["full", "hashed"])
def test_another_query_than_the_one_that_was_asked_is_refused(text: str, tmp_path: Path) -> None:
    of = pipeline(reads={"log": str(tmp_path / "log.db"), "text": text}, store=None)
    ranking = read(of, [record("a")], "rate \ud800")
    log, found = kept(of, ranking, tmp_path)
    with pytest.raises(UsageError, match="not the one that was asked"):
        replay(log, found, [], Sources(query="rate"))
    assert replay(log, found, [], Sources(query="rate \ud800")).reproduced is (True if text == "full" else None)


def test_a_read_of_high_stakes_is_run_again_over_its_store(tmp_path: Path) -> None:
    """Without a log of its own, and so with a note that is none of the read's."""
    target = spec_with_log(tmp_path, "clinical")
    of = memrank.load(target)
    example = of.spec.example
    assert example is not None
    ranking = of(example.query, as_of=example.as_of)
    log, found = kept(of, ranking, tmp_path)
    again = replay(log, found, [], Sources(spec=load_spec(target)))
    assert again.store is not None
    assert again.store.rerun is True


def records() -> list[Mapping[str, object]]:
    return [
        record("old", "Dana wants her appointments in the morning.", days=300, superseded_by="new"),
        record("new", "Dana wants her appointments late in the afternoon.", days=2),
        record("was", "Dana pays the invoice by card.", days=90, superseded_by="later", pinned=True),
        record("later", "Dana pays by bank transfer.", days=-3),
        record("gone", "Dana pays in cash.", days=30, superseded_by="never-recorded"),
        record("t1", "Shall we pay Dana on Friday?", days=1, session_id="s", turn=1, role="user"),
        record(
            "t2",
            "Yes, Friday is fine for Dana, I will tell her at once.",
            days=1,
            session_id="s",
            turn=2,
            role="assistant",
        ),
        record("naked", "Dana pays.", days=None),
        *(record(f"f{k}", f"Note {k}: Dana pays the fee number {k} in week {k % 7}.", days=5 + k) for k in range(40)),
    ]


QUERIES = ("How does Dana pay now?", "How did Dana pay before?", "When does Dana want her appointments, on 2026-03-01?")


@pytest.mark.parametrize("embedder", ["none", "wordllama"])
@pytest.mark.parametrize("query", QUERIES)
def test_links_turns_and_unknown_successors_are_reproduced(query: str, embedder: str, tmp_path: Path) -> None:
    """`was` has a successor that was not known at as_of and is in no pool: it must not count as superseded."""
    log = str(tmp_path / "log.db")
    of = pipeline(prefilter={"top_k": 8}, embedder=embedder, reads={"log": log})
    ranking = read(of, records(), query, as_of=(AS_OF - timedelta(days=4)).isoformat())
    assert answered(of, tmp_path, ranking).reproduced
    judged = {item.id: item for item in (*ranking.results, *ranking.excluded)}
    assert "superseded" not in judged["was"].flags


ODD: tuple[tuple[list[Mapping[str, object]], dict[str, Any]], ...] = (
    ([], {}),
    (records(), {"filters": {"role": "nobody"}}),
    (records(), {"query": "\ud800 rate \U0001f600 \u05e9\u05dc\u05d5\u05dd"}),
    (records(), {"query": "zebra quagga"}),
    ([record("e", "")], {}),
    (
        [
            record(
                "u",
                "\u732b\u2028\x1b[31m\U0001f600 'quoted' \"rate\" \\\\",
                namespace="n/m",
                tags=["a"],
                importance=0.9,
            )
        ],
        {},
    ),
    ([record(f"p{k}", pinned=True) for k in range(5)], {"max_tokens": 1}),
    ([record("x", metadata={"deep": {"a": [1, None, 2.5]}}, embedding=[0.1, 0.2])], {}),
    ([record("long", "The rate of the bank. " * 500)], {"max_tokens": 30}),
)


@pytest.mark.parametrize(("given", "asked"), ODD)
@pytest.mark.parametrize("language", ["english", "none"])
def test_odd_reads_are_reproduced(
    given: list[Mapping[str, object]], asked: dict[str, Any], language: str, tmp_path: Path
) -> None:
    index = {"language": language, "embedder": "wordllama"}
    of = pipeline(index=index, reads={"log": str(tmp_path / "log.db")})
    ranking = read(of, given, **{"query": "rate", **asked})
    assert answered(of, tmp_path, ranking).reproduced


QUESTIONS = st.lists(st.sampled_from([*WORDS, "now", "before", "2025", "yesterday"]), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(given=drawn_records(), words=QUESTIONS, top_k=st.integers(1, 9), as_of=dates(100))
def test_any_read_is_reproduced(given: list[Mapping[str, object]], words: list[str], top_k: int, as_of: str) -> None:
    """Whatever is superseded, expired, pinned or not yet known: the record of the pool is enough."""
    with tempfile.TemporaryDirectory() as name:
        of = pipeline(prefilter={"top_k": top_k}, temporal={"sensitivity": "auto"}, reads={"log": f"{name}/log.db"})
        ranking = read(of, given, " ".join(words), as_of=as_of)
        assert answered(of, Path(name), ranking).reproduced
        of.close()


SETTINGS = (
    ({"temporal": {"half_life": "3d"}}, ["temporal.half_life=3d"]),
    ({"temporal": {"half_life": {"default": "2d", "x": "1h"}}}, ["temporal.half_life={default: 2d, x: 1h}"]),
    (
        {"ranker": {"weights": {"relevance": 0.2, "freshness": 0.8}}},
        ["ranker.weights={relevance: 0.2, freshness: 0.8}"],
    ),
    ({"ranker": {"relevance_threshold": 0.3}}, ["ranker.relevance_threshold=0.3"]),
    ({"ranker": {"top_k": 2}}, ["ranker.top_k=2"]),
    ({"ranker": {"supersession": {"threshold": 0.0}}}, ["ranker.supersession.threshold=0.0"]),
    ({"pruner": {"max_tokens": 60, "keep_last_turns": 0}}, ["pruner.max_tokens=60"]),
)


@pytest.mark.parametrize(("changes", "settings"), SETTINGS, ids=[settings[0] for _, settings in SETTINGS])
def test_what_if_is_what_a_read_under_such_a_spec_gives(
    changes: Mapping[str, Mapping[str, object]], settings: list[str], tmp_path: Path
) -> None:
    stages: dict[str, Any] = {"prefilter": {"top_k": 20}, "pruner": {"keep_last_turns": 0}}
    of = pipeline(**stages, reads={"log": str(tmp_path / "log.db")})
    before = read(of, records(), QUERIES[0])
    log, found = kept(of, before, tmp_path)
    what_if = replay(log, found, settings, Sources())
    other = read(pipeline(**{**stages, **changes}), records(), QUERIES[0])
    assert what_if.result is not None
    wanted, got = body(other), body(what_if.result)
    for name in ("read_id", "spec_sha256"):
        del wanted["meta"][name], got["meta"][name]
    assert got == wanted
    assert what_if.moves == moves(before.result, other.result)
    assert what_if.moves, "the setting changes nothing: a weak test"


def test_what_is_set_goes_before_what_the_call_asked(tmp_path: Path) -> None:
    """One more than asked each time: it is pinned."""
    of = pipeline(reads={"log": str(tmp_path / "log.db")})
    log, found = kept(of, read(of, records(), QUERIES[0], top_k=2), tmp_path)
    assert len((replay(log, found, ["temporal.half_life=9d"], Sources()).result or _none()).results) == 3
    assert len((replay(log, found, ["ranker.top_k=5"], Sources()).result or _none()).results) == 6


def _none() -> Any:
    raise AssertionError("no result")


@pytest.mark.parametrize(
    ("setting", "error", "says"),
    [
        ("prefilter.top_k=5", UsageError, "which memories are judged"),
        ("pruner.keep_last_turns=1", UsageError, "which memories are judged"),
        ("store.path=x", UsageError, "is no setting"),
        ("temporal.half_life", UsageError, "is no setting"),
        ("temporal=3", UsageError, "no such setting"),
        ("temporal.half_life=", SpecError, "half_life"),
        ("temporal.half_life={", UsageError, "no YAML"),
        ("temporal.half_life=3d\nother: 1", UsageError, "more than one"),
        ("temporal.nothing=3d", SpecError, "nothing"),
        ("ranker.weights={relevance: 2}", SpecError, "weights"),
        ("temporal.half_life.default.x=3d", UsageError, "holds one value"),
    ],
)
def test_settings_that_cannot_be(setting: str, error: type[Exception], says: str, tmp_path: Path) -> None:
    half_life = {"default": "14d"} if "default" in setting else "14d"
    of = pipeline(temporal={"half_life": half_life}, reads={"log": str(tmp_path / "log.db")})
    log, found = kept(of, read(of, records()), tmp_path)
    with pytest.raises(error, match=says):
        replay(log, found, [setting], Sources())


def test_hashed_needs_the_query_and_a_store(tmp_path: Path) -> None:
    file = spec_with_log(tmp_path, "finance", ", text: hashed")
    of = memrank.load(file)
    ranking = of("How did gilts react to Bank Rate?", as_of=NOW)
    log, found = kept(of, ranking, tmp_path)
    raw = (tmp_path / "log.db").read_bytes() + (tmp_path / "log.db-wal").read_bytes()
    assert b"gilts" not in raw.lower()
    assert "n301" in {candidate.id for candidate in found.candidates}
    assert len(recorded_result(found)[1]) == len(found.candidates)
    with pytest.raises(UsageError, match="does not hold the text"):
        replay(log, found, [], Sources())
    with pytest.raises(UsageError, match="not the one that was asked"):
        replay(log, found, [], Sources(query="something else"))
    asked = "How did gilts react to Bank Rate?"
    alone = replay(log, found, [], Sources(query=asked))
    assert (alone.reproduced, len(alone.unavailable)) == (None, len(found.candidates))
    with pytest.raises(DataError, match="unavailable"):
        replay(log, found, ["temporal.half_life=3d"], Sources(query=asked))
    whole = replay(log, found, [], Sources(query=asked, spec=load_spec(file)))
    assert (whole.reproduced, whole.unavailable, whole.differences) == (True, (), ())
    assert whole.store is not None
    assert whole.store.rerun is True
    assert whole.result is not None
    assert body(whole.result) == body(ranking)


def test_a_question_that_is_not_wholly_known_is_not_run_again(tmp_path: Path) -> None:
    """Hashed: the filters are not in the log, so that a read without them would be another one."""
    file = spec_with_log(tmp_path, "finance", ", text: hashed")
    of = memrank.load(file)
    ranking = of("gilts", as_of=NOW, filters={"memory_type": "note"})
    log, found = kept(of, ranking, tmp_path)
    told = replay(log, found, [], Sources(query="gilts", spec=load_spec(file)))
    assert told.store is not None
    assert (told.reproduced, told.store.rerun) == (True, None)


def test_off_keeps_ids_and_numbers(tmp_path: Path) -> None:
    of = pipeline(reads={"log": str(tmp_path / "log.db"), "text": "off"})
    log, found = kept(of, read(of, records(), QUERIES[0]), tmp_path)
    raw = (tmp_path / "log.db").read_bytes() + (tmp_path / "log.db-wal").read_bytes()
    assert b"invoice" not in raw
    assert b"Dana" not in raw
    assert found.query_hash is None
    with pytest.raises(UsageError, match="cannot be replayed"):
        replay(log, found, [], Sources(query=QUERIES[0]))


def test_a_spec_and_a_store_that_moved_on_are_told(tmp_path: Path) -> None:
    from memrank.indexing import Analyzer
    from memrank.records import read_record
    from memrank.stores.sqlite import SqliteStore

    store = SqliteStore.create(tmp_path / "s.db", Analyzer("english", "none"))
    store.append([read_record(r, position=i)[0] for i, r in enumerate(records())])
    file = tmp_path / "x.yaml"
    text = (
        "memrank: 1\nname: x\nstore: {kind: sqlite.v1, path: s.db}\nindex: {embedder: none}\nreads: {log: log.db}\n"
        "stages:\n  - {kind: prefilter.hybrid.v1}\n  - {kind: temporal.v1, half_life: 14d}\n  - {kind: ranker.v1}\n"
    )
    file.write_text(text)
    of = memrank.load(file)
    log, found = kept(of, of(QUERIES[0], as_of=NOW), tmp_path)
    same = replay(log, found, [], Sources(spec=load_spec(file)))
    assert same.store is not None
    assert (same.reproduced, same.since, same.store.moved_on, same.store.rerun) == (True, (), False, True)
    store.append([read_record(record("new", "Dana wants nothing."), position=0)[0]])
    file.write_text(text.replace("14d", "3d"))
    moved = replay(log, found, [], Sources(spec=load_spec(file)))
    assert moved.store is not None
    assert (moved.reproduced, moved.store.moved_on, moved.store.changed, moved.store.rerun) == (
        True,
        True,
        ("new",),
        None,
    )
    assert moved.since == ("the spec has changed: stages[1].half_life",)


def test_a_record_that_was_altered_is_not_reproduced(tmp_path: Path) -> None:
    of = pipeline(reads={"log": str(tmp_path / "log.db")})
    log, found = kept(of, read(of, records(), QUERIES[0]), tmp_path)
    numbers = dict(found.recorded.numbers)
    numbers["raw_score"] = numbers["raw_score"] * 0.5
    altered = replace(found, recorded=replace(found.recorded, numbers=numbers))
    told = replay(log, altered, [], Sources())
    assert told.reproduced is False
    assert any(path.endswith("raw_score") for path in told.differences)


def test_secrets_are_removed_and_make_a_replay_need_the_store(tmp_path: Path) -> None:
    secret = "sk-proj-abcDEF1234567890abcdef"
    given = [record("a", f"Dana's key is {secret} for now."), record("b", "Dana's key ring.")]
    of = pipeline(reads={"log": str(tmp_path / "log.db"), "redact": ["ring"]}, high_stakes=True)
    log, found = kept(of, read(of, given, "Dana's key"), tmp_path)
    raw = (tmp_path / "log.db").read_bytes() + (tmp_path / "log.db-wal").read_bytes()
    assert secret.encode() not in raw
    assert [(c.id, c.redacted) for c in found.candidates] == [("a", True), ("b", True)]
    assert found.candidates[0].memory is not None
    assert found.candidates[0].memory.content == "Dana's key is [removed] for now."
    assert replay(log, found, [], Sources()).unavailable == ("a", "b")
