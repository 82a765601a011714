"""Foreign golden sets: what becomes of each format, and that what is wrong is named with its file and line."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
from foreign import CORPUS, QUESTIONS, TREC, beir, lines, locomo, longmemeval, put, put_json
from hypothesis import given, settings
from hypothesis import strategies as st

from memrank.errors import DataError
from memrank.evals.convert import read_foreign
from memrank.evals.labels import read_labels
from memrank.evals.readers.converted import Converted
from memrank.evals.readers.locomo import read_locomo
from memrank.evals.readers.longmemeval import read_longmemeval
from memrank.queryrows import Row
from memrank.types import Notes


def by_id(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in rows}


def codes(found: Converted) -> dict[str, int]:
    return {note.code: note.count for note in found.notes}


# BEIR


def test_a_beir_folder(tmp_path: Path) -> None:
    found = read_foreign(put(tmp_path / "set", beir()))
    assert found.form == "beir"
    assert found.memories == [
        {"id": "d1", "content": "Tides\nThe moon pulls the sea."},
        {"id": "d2", "content": "Copper conducts heat.", "metadata": {"url": "https://example.org"}},
        {"id": "d 3", "content": "Old tides"},
    ]
    assert found.queries == [
        {
            "id": "q1",
            "query": "What pulls the sea?",
            "relevant": {"d1": 2, "d 3": 1},
            "metadata": {"upstream": {"relevant": ["d2"]}},
        },
        {"id": "q2", "query": "What conducts heat?", "relevant": ["d2"]},
    ]
    assert codes(found) == {"query_unjudged": 1}


def test_the_files_of_judgements_are_the_split_where_there_are_several(tmp_path: Path) -> None:
    files = {**beir(qrels_test="q1 d1 1\n"), "qrels/train.tsv": "query-id\tcorpus-id\tscore\nq2\td2\t1\n"}
    found = by_id(read_foreign(put(tmp_path / "set", files)).queries)
    assert {name: row["split"] for name, row in found.items()} == {"q1": "report", "q2": "fit"}
    assert "split" not in read_foreign(put(tmp_path / "one", beir())).queries[0]


def test_a_query_in_two_files_of_judgements_is_refused(tmp_path: Path) -> None:
    files = {**beir(), "qrels/train.tsv": "q2 d2 1\n"}
    with pytest.raises(DataError, match=r"train\.tsv: the query 'q2' is judged in another file"):
        read_foreign(put(tmp_path / "set", files))


def test_where_documents_are_dated_queries_are_asked_when_the_newest_was_there(tmp_path: Path) -> None:
    dated = [
        {"_id": "d1", "text": "a", "timestamp": "2024-05-01T10:00:00Z", "event_date": "2030"},
        {"_id": "d2", "text": "b", "metadata": {"date": "2024-06"}},
        {"_id": "d3", "text": "c"},
    ]
    found = read_foreign(put(tmp_path / "set", beir(corpus=lines(dated))))
    assert {row["query_time"] for row in found.queries} == {"2024-07-01T00:00:00Z"}
    assert found.memories[0]["created_at"] == "2024-05-01T10:00:00Z"


def test_unknown_ids_are_left_out_with_a_note_and_nothing_known_is_refused(tmp_path: Path) -> None:
    judged = "q1\td1\t1\nq1\tgone\t1\nq2\tgone\t1\nq9\td1\t1\n"
    found = read_foreign(put(tmp_path / "set", beir(qrels_test=judged)))
    assert [row["relevant"] for row in found.queries] == [["d1"]]
    assert codes(found) == {"unknown_query": 1, "unknown_document": 2, "nothing_relevant": 1, "query_unjudged": 1}
    with pytest.raises(DataError, match="no query has a relevant document"):
        read_foreign(put(tmp_path / "none", beir(qrels_test="q1\tgone\t1\n")))


def test_of_a_repeated_document_the_last_counts(tmp_path: Path) -> None:
    again = [*CORPUS, {"_id": "d1", "text": "Again."}]
    found = read_foreign(put(tmp_path / "set", beir(corpus=lines(again))))
    assert [row["content"] for row in found.memories if row["id"] == "d1"] == ["Again."]
    assert codes(found)["repeated_id"] == 1


BROKEN = {
    "no JSON": ({"corpus": '{"_id": "a", "text": "x"}\n{"_id": '}, r"corpus\.jsonl:2: not valid JSON"),
    "no object": ({"corpus": "[1]\n"}, r"corpus\.jsonl:1: not a JSON object"),
    "no id": ({"corpus": '\n{"text": "x"}\n'}, r"corpus\.jsonl:2: no id"),
    "a text that is none": ({"corpus": '{"_id": "a", "text": 5}\n'}, r"corpus\.jsonl:1: text is not a text"),
    "a title that is none": ({"corpus": '{"_id": "a", "title": 5}\n'}, r"corpus\.jsonl:1: title is not a text"),
    "no document": ({"corpus": "\n"}, r"corpus\.jsonl: holds no documents"),
    "a query without a text": ({"queries": '{"_id": "q1"}\n'}, r"queries\.jsonl:1: the text of the query: not a text"),
    "a query twice": ({"queries": lines([*QUESTIONS, QUESTIONS[0]])}, r"queries\.jsonl:4: the query 'q1' is repeated"),
    "no query": ({"queries": ""}, r"queries\.jsonl: holds no queries"),
    "a column too few": ({"qrels_test": "query-id\tcorpus-id\tscore\nq1\td1\n"}, r"test\.tsv:2: 2 columns"),
    "an empty cell": ({"qrels_test": "q1\t\t1\n"}, r"test\.tsv:1: an empty column"),
    "a grade that is none": (
        {"qrels_test": "q1\td1\t1\nq1\td2\tyes\n"},
        r"test\.tsv:2: the grade: not a finite number",
    ),
    "NaN": ({"qrels_test": "q1\td1\tNaN\n"}, r"test\.tsv:1: the grade: not a finite number"),
    "another grade": ({"qrels_test": "q1\td1\t1\nq1\td1\t2\n"}, r"test\.tsv:2: 'd1' has been given another grade"),
    "no judgement": ({"qrels_test": "query-id\tcorpus-id\tscore\n"}, r"test\.tsv: holds no judgements"),
}


@pytest.mark.parametrize(("changed", "said"), BROKEN.values(), ids=BROKEN)
def test_what_is_wrong_is_named_with_file_and_line(changed: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        read_foreign(put(tmp_path / "set", beir(**changed)))


def test_compressed_files_are_refused_with_advice(tmp_path: Path) -> None:
    folder = put(tmp_path / "set", beir())
    (folder / "corpus.jsonl").write_bytes(b"\x1f\x8b\x08rest")
    with pytest.raises(DataError, match=r"corpus\.jsonl: is gzip data, not a text file") as caught:
        read_foreign(folder)
    assert caught.value.hint == "unpack it first"


def test_bytes_that_are_no_utf8_are_repaired_with_a_note(tmp_path: Path) -> None:
    folder = put(tmp_path / "set", beir())
    (folder / "corpus.jsonl").write_bytes(lines(CORPUS).encode() + b'{"_id": "d4", "text": "caf\xe9"}\n')
    found = read_foreign(folder)
    assert found.memories[-1]["content"] == "caf�"
    assert codes(found)["bytes_replaced"] == 1


# TREC


def test_a_trec_folder(tmp_path: Path) -> None:
    found = read_foreign(put(tmp_path / "set", TREC))
    assert found.form == "trec"
    assert found.memories == [
        {"id": "FT-1", "content": "A seat & a name\nThe ring sits in Rome."},
        {"id": "FT-2", "content": "Polio is rare."},
    ]
    details = {
        "description": "Identify organizations that take part in it.",
        "narrative": "A relevant document names one & its seat.",
    }
    asked = "Is the disease of Polio under control?"
    assert found.queries == [
        {"id": "301", "query": "International Organized Crime", "relevant": ["FT-1"], "metadata": details},
        {"id": "302", "query": asked, "relevant": ["FT-2"], "metadata": {"description": asked}},
    ]


XML = """\
<topics>
  <topic number="1"><query>coronavirus origin</query><question>Where is it from?</question></topic>
  <topic number="2" type="faceted"><query>R &amp; D</query><subtopic number="1">x</subtopic></topic>
</topics>
"""


@pytest.mark.parametrize(
    ("name", "text", "asked"),
    [
        ("topics.xml", XML, {"1": "coronavirus origin", "2": "R & D"}),
        ("queries.tsv", "1\tfirst one\n2\tsecond\n", {"1": "first one", "2": "second"}),
        ("queries.json", '{"1": "first", "2": "second"}', {"1": "first", "2": "second"}),
        ("topics.jsonl", '{"qid": 1, "title": "first"}\n{"id": "2", "query": "b"}\n', {"1": "first", "2": "b"}),
    ],
)
@pytest.mark.parametrize(
    ("judged", "text_of_them"),
    [
        ("qrels.json", '{"1": {"a": 3}, "2": {"b": 1, "a": 0}}'),
        ("qrels.jsonl", '{"query-id": 1, "corpus-id": "a", "score": 3}\n{"qid": "2", "docid": "b", "relevance": 1}\n'),
        ("qrels/all.txt", "1 0 a 3\n2 Q0 b 1\n2 0 a -2\n"),
    ],
)
@pytest.mark.parametrize(
    ("docs", "documents"),
    [
        ("collection.tsv", "a\tAlpha\nb\tTitle\tBeta\n"),
        ("corpus/part-1.json", '[{"id": "a", "contents": "Alpha"}, {"id": "b", "title": "Title", "contents": "Beta"}]'),
    ],
)
def test_every_form_of_every_part(
    name: str,
    text: str,
    asked: dict[str, str],
    judged: str,
    text_of_them: str,
    docs: str,
    documents: str,
    tmp_path: Path,
) -> None:
    found = read_foreign(put(tmp_path / "set", {name: text, judged: text_of_them, docs: documents}))
    assert {row["id"]: row["query"] for row in found.queries} == asked
    assert {row["id"]: row["relevant"] for row in found.queries} == {"1": {"a": 3}, "2": ["b"]}
    assert {row["id"]: row["content"] for row in found.memories} == {"a": "Alpha", "b": "Title\nBeta"}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"topics.301-350": "<top>\n<title> x\n</top>"}, r"topics\.301-350:1: a topic without a number"),
        ({"topics.301-350": "\n<top>\n<num> 7\n</top>"}, r"topics\.301-350:2: the topic '7' has neither"),
        ({"topics.301-350": "301 no tab\n"}, r"topics\.301-350:1: not an id, a tab and a text"),
        ({"topics.2": "301\ttwice\n"}, r"topics\.301-350:1: the query '301' is repeated"),
        ({"docs.sgml": "<DOC>\n</DOC>"}, r"docs\.sgml:1: a document without <DOCNO>"),
        ({"docs.sgml": "no tab\n"}, r"docs\.sgml:1: not an id, a tab and a text"),
        ({"docs.json": '{"a": 1}'}, r"docs\.json: not a list"),
        ({"qrels.txt": "301 0 FT-1 1\n301 0 FT-1\n"}, r"qrels\.txt:2: the grade: not a finite number"),
        ({"qrels.2": "301 0 FT-1 2\n"}, r"qrels\.txt:1: 'FT-1' has been given another grade for '301'"),
        ({"qrels.json": '{"301": {"FT-1": \n'}, r"qrels\.json:2: not valid JSON"),
        ({"qrels.json": '{"301": ["FT-1"]}'}, r"qrels\.json: '301': not a JSON object"),
    ],
)
def test_wrong_files_of_trec(changed: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        read_foreign(put(tmp_path / "set", {**TREC, **changed}))


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    folder = put(tmp_path / "set", {"docs.tsv": "a\tb\n"})
    with pytest.raises(DataError, match="no topics and no qrels there"):
        read_foreign(folder, "trec")
    with pytest.raises(DataError, match="a folder in no known format"):
        read_foreign(folder)


# LoCoMo


def test_locomo(tmp_path: Path) -> None:
    found = read_foreign(put_json(tmp_path / "locomo10.json", locomo()))
    assert found.form == "locomo"
    shared = {"created_at": "2023-05-08T13:56:00Z", "memory_type": "turn", "namespace": "conv-1"}
    assert found.memories[1] == {
        "id": "conv-1/D1:2",
        "content": "Look! [shared image: a photo of a cat]",
        **shared,
        "session_id": "session_1",
        "turn": 1,
        "speaker": "Ben",
    }
    queries = by_id(found.queries)
    assert {name: row["relevant"] for name, row in queries.items()} == {
        "conv-1/q0": ["conv-1/D2:1"],
        "conv-1/q1": ["conv-1/D1:1", "conv-1/D2:1", "conv-1/D1:2"],
        "conv-1/q2": ["conv-1/D1:2"],
        "conv-1/q4": ["conv-1/D1:1"],
    }
    assert queries["conv-1/q2"] == {
        "id": "conv-1/q2",
        "query": "What did Ana show?",
        "group": "conv-1",
        "relevant": ["conv-1/D1:2"],
        "query_time": "2023-06-03T09:00:00Z",
        "category": "adversarial",
        "split_group": "conv-1",
        "metadata": {"answer": "a cat"},
    }
    assert codes(found) == {"date_without_zone": 3, "no_evidence": 1, "unknown_turn": 1}


def _changed(made: list[dict[str, Any]], path: tuple[str | int, ...], value: object) -> list[dict[str, Any]]:
    inner: Any = made
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return made


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ((0, "sample_id"), None, r"json: \[0\]\.sample_id: not a text"),
        ((0, "conversation"), [], r"\[0\]\.conversation: not a JSON object"),
        ((0, "conversation", "session_1"), {}, r"\[0\]\.conversation\.session_1: not a list"),
        ((0, "conversation", "session_1", 1), "x", r"session_1\[1\]: not a JSON object"),
        ((0, "conversation", "session_1", 1, "dia_id"), "one", r"session_1\[1\]\.dia_id: not the name of a turn"),
        ((0, "conversation", "session_1", 1, "text"), 5, r"session_1\[1\]: text or blip_caption is not a text"),
        ((0, "conversation", "session_1", 1, "speaker"), "", r"session_1\[1\]\.speaker: empty"),
        ((0, "conversation", "session_1_date_time"), "soon", r"session_1_date_time 'soon' cannot be read"),
        ((0, "qa"), None, r"\[0\]\.qa: not a list"),
        ((0, "qa", 1, "question"), 3, r"\[0\]\.qa\[1\]\.question: not a text"),
        ((0, "qa", 1, "category"), 6, r"\[0\]\.qa\[1\]\.category: not one of 1 to 5"),
        ((0, "qa", 1, "category"), True, r"\[0\]\.qa\[1\]\.category: not one of 1 to 5"),
        ((0, "qa", 1, "category"), [], r"\[0\]\.qa\[1\]\.category: not one of 1 to 5"),
        ((0, "qa", 1, "evidence"), [1], r"\[0\]\.qa\[1\]\.evidence: not a list of texts"),
        ((0, "qa"), [], "no question has a turn as its evidence"),
    ],
)
def test_wrong_files_of_locomo(path: tuple[str | int, ...], value: object, said: str, tmp_path: Path) -> None:
    file = put_json(tmp_path / "locomo10.json", _changed(locomo(), path, value))
    with pytest.raises(DataError, match=said):
        read_foreign(file)


# LongMemEval


def test_longmemeval(tmp_path: Path) -> None:
    found = read_foreign(put_json(tmp_path / "longmemeval_s.json", longmemeval()))
    assert found.form == "longmemeval"
    assert found.memories[0] == {
        "id": "a1/s1/0",
        "content": "I run 5 km.",
        "created_at": "2023-04-10T17:50:00Z",
        "memory_type": "turn",
        "namespace": "a1",
        "session_id": "s1",
        "role": "user",
        "turn": 0,
    }
    assert [row["id"] for row in found.memories[:4]] == ["a1/s1/0", "a1/s1/1", "a1/s2/0", "a1/s1#2/0"]
    assert {row["namespace"] for row in found.memories} == {"a1", "a2", "a1_abs"}
    queries = by_id(found.queries)
    assert queries["a1"] == {
        "id": "a1",
        "query": "How far do I run?",
        "query_time": "2023-05-30T23:40:00Z",
        "group": "a1",
        "relevant": ["a1/s1/0", "a1/s2/0"],
        "category": "knowledge-update",
        "split_group": "a1",
        "metadata": {"answer": "8 km", "stale": ["a1/s1/0"], "current": ["a1/s2/0"]},
    }
    assert queries["a2"]["metadata"] == {"answer": 5, "asks_previous": True}
    assert (queries["a1_abs"]["relevant"], queries["a1_abs"]["category"]) == ([], "abstention")
    assert queries["a1_abs"]["split_group"] == "a1"
    assert queries["a1_abs"]["metadata"]["related"] == ["a1_abs/s1/0", "a1_abs/s2/0"]
    assert "a4" not in queries
    assert codes(found) == {"no_evidence": 1}


def test_no_label_reaches_a_memory(tmp_path: Path) -> None:
    found = read_foreign(put_json(tmp_path / "longmemeval_s.json", longmemeval()))
    assert not any("has_answer" in str(row) for row in found.memories)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ((0,), 5, r"in no known format"),
        ((1,), 5, r"json: \[1\]: not a JSON object"),
        ((0, "question_id"), None, r"json: \[0\]: no id"),
        ((0, "question"), None, r"\[0\]\.question: not a text"),
        ((0, "question_date"), "tomorrow", r"\[0\]\.question_date 'tomorrow' cannot be read"),
        ((1, "question_id"), "a1", r"\[1\]: the question 'a1' is repeated"),
        ((0, "haystack_dates"), ["2023/04/10"], r"\[0\]: the haystack has 3 sessions, 3 ids and 1 dates"),
        ((0, "haystack_dates", 1), None, r"\[0\]\.haystack_dates\[1\]"),
        ((0, "haystack_session_ids", 1), {}, r"\[0\]\.haystack_session_ids\[1\]: no id"),
        ((0, "haystack_sessions", 2), "x", r"\[0\]\.haystack_sessions\[2\]: not a list"),
        ((0, "haystack_sessions", 2, 0), "x", r"\[0\]\.haystack_sessions\[2\]\[0\]: not a JSON object"),
        ((0, "haystack_sessions", 2, 0), {"role": "user"}, r"\[0\]\.haystack_sessions\[2\]\[0\]: .*no content"),
    ],
)
def test_wrong_files_of_longmemeval(path: tuple[str | int, ...], value: object, said: str, tmp_path: Path) -> None:
    file = put_json(tmp_path / "longmemeval_s.json", _changed(longmemeval(), path, value))
    with pytest.raises(DataError, match=said):
        read_foreign(file)


def test_a_file_without_evidence_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no question has evidence"):
        read_foreign(put_json(tmp_path / "longmemeval_s.json", longmemeval()[3:]))


# Anything


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=8) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=4,
)


def _places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    steps: list[Any] = (
        list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    )
    return [path, *(place for step in steps for place in _places(value[step], (*path, step)))]  # type: ignore[index]


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_whatever_stands_anywhere_is_read_or_refused(data: st.DataObject) -> None:
    made, read = data.draw(st.sampled_from([(locomo(), read_locomo), (longmemeval(), read_longmemeval)]))
    path = data.draw(st.sampled_from(_places(made)[1:]))
    with contextlib.suppress(DataError):
        found = read(Path("set.json"), _changed(made, path, data.draw(JSON)), Notes())
        for row in found.queries:
            read_labels(Row(id=row["id"], fields=row, notes=()), "set.json")


# Which format


@pytest.mark.parametrize(
    ("form", "name", "said"),
    [
        ("beir", "file.json", "is not a folder, as sets in the format beir are"),
        ("locomo", "folder", "is not a file, as sets in the format locomo are"),
        ("auto", "file.json", "in no known format"),
        ("locomo", "file.json", r"\[0\]\.sample_id: not a text"),
        ("longmemeval", "file.json", r"\[0\]: no id"),
        ("beir", "folder", "qrels: cannot be read"),
        ("auto", "gone", "no such file or folder"),
        ("auto", "broken.json", r"broken\.json:2: not valid JSON: .* at column 1"),
        ("auto", "deep.json", "nested too deeply"),
    ],
)
def test_what_is_in_no_format(form: str, name: str, said: str, tmp_path: Path) -> None:
    put(tmp_path, {"file.json": "{}", "folder/x": "", "broken.json": "[\n", "deep.json": "[" * 100_000})
    with pytest.raises(DataError, match=said):
        read_foreign(tmp_path / name, form)
