"""Reading and writing one record: names, repairs, notes, and nothing lost."""

import json
import math
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memrank.errors import DataError
from memrank.fields import ALIASES, NAMES
from memrank.records import read_record, write_record
from memrank.types import Memory, Note


def read(raw: Any, **options: Any) -> tuple[Memory, list[Note]]:
    return read_record(raw, **{"position": 0, **options})


def only(raw: dict[str, object], **options: Any) -> Memory:
    """The memory of a record with an id and a content, where no note is expected."""
    memory, notes = read({"id": "a", "content": "c", **raw}, **options)
    assert notes == []
    return memory


def repaired(raw: dict[str, object], **options: Any) -> tuple[Memory, Note]:
    """The memory and its single note."""
    memory, (note,) = read({"id": "a", "content": "c", **raw}, **options)
    return memory, note


VALUES: dict[str, object] = {
    **dict.fromkeys(ALIASES, "text"),
    **dict.fromkeys(("created_at", "event_date", "updated_at", "last_accessed_at"), "2026-03"),
    **dict.fromkeys(("valid_at", "invalid_at", "expires_at"), "2026-03"),
    "access_count": 3,
    "turn": 4,
    "importance": 0.5,
    "confidence": 0.25,
    "authority": 0.75,
    "pinned": True,
    "tags": ["x"],
    "aliases": ["y"],
    "embedding": [0.5, 1.0],
}


def shown(memory: Memory, field: str) -> object:
    name = "retrieval_count" if field == "access_count" and memory.counts_retrievals else field
    return write_record(memory).get(name)


def test_a_retrieval_count_is_known_as_one_and_written_as_one() -> None:
    assert only({"retrieval_count": 4}).counts_retrievals
    assert not only({"use_count": 4}).counts_retrievals
    assert not only({"access_count": 4, "retrieval_count": 9}).counts_retrievals
    assert write_record(only({"retrieval_count": 4}))["retrieval_count"] == 4


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("inside", [False, True])
def test_every_name_is_read_at_top_level_and_in_metadata(name: str, inside: bool) -> None:
    field = NAMES[name][0]
    given_field = {name: VALUES[field]}
    raw = {"id": "a", "content": "c"}
    raw.pop(field, None)
    memory, notes = read({**raw, "metadata": given_field} if inside else {**raw, **given_field})
    assert shown(memory, field) == VALUES[field]
    assert memory.metadata == {}
    assert notes == []


@pytest.mark.parametrize("field", [field for field in ALIASES if ALIASES[field]])
def test_names_of_one_field_count_in_the_listed_order_and_the_others_stay(field: str) -> None:
    names = (field, *ALIASES[field])
    values = {name: VALUES[field] if name == field else _other(field, at) for at, name in enumerate(names)}
    raw: dict[str, object] = {"id": "a", "content": "c"}
    raw.pop(field, None)
    for at in range(len(names)):
        given_fields = {name: values[name] for name in reversed(names[at:])}
        memory, _ = read({**raw, **given_fields})
        assert shown(memory, field) == values[names[at]]
        assert memory.metadata == {name: values[name] for name in names[at + 1 :]}


def _other(field: str, at: int) -> object:
    value = VALUES[field]
    if isinstance(value, str):
        return f"20{10 + at}" if value == "2026-03" else f"text {at}"
    return [f"{at}"] if isinstance(value, list) else value


def test_top_level_beats_metadata_even_by_an_alias() -> None:
    memory = only({"timestamp": "2026", "metadata": {"created_at": "2020", "source": "s"}})
    assert memory.created_at is not None
    assert memory.created_at.text == "2026"
    assert memory.metadata == {"created_at": "2020", "source": "s"}


def test_unknown_keys_land_in_metadata_and_collisions_keep_both() -> None:
    memory, notes = read({"id": "a", "content": "c", "x": 1, "y": 2, "metadata": {"x": 3, "record.x": 4}})
    assert memory.metadata == {"x": 3, "record.x": 4, "record.record.x": 1, "y": 2}
    assert [(note.level, note.code) for note in notes] == [("info", "key_renamed")]


@pytest.mark.parametrize("empty", [None, "", [], {}])
def test_null_and_empty_values_are_absent(empty: object) -> None:
    raw: dict[str, object] = {name: empty for name in NAMES if NAMES[name][0] not in ("id", "content")}
    assert only({**raw, "metadata": empty}) == Memory(id="a", content="c")
    assert only({"created_at": empty, "ts": "2026"}).created_at is not None


@pytest.mark.parametrize(
    "raw",
    [
        *({}, {"id": "a"}, {"content": "c"}, {"id": None, "content": "c"}, {"id": "", "content": "c"}),
        *({"id": True, "content": "c"}, {"id": {}, "content": "c"}, {"id": math.nan, "content": "c"}),
        *({"id": "a", "content": None}, {"id": "a", "content": True}, [], "text", None, 3),
    ],
    ids=repr,
)
def test_a_record_that_cannot_be_used_is_a_data_error(raw: object) -> None:
    with pytest.raises(DataError, match=r"^(record 7|memory 'a')"):
        read(raw, position=7)


@pytest.mark.parametrize(("value", "text"), [(7, "7"), (7.0, "7"), (7.5, "7.5"), (10**30, str(10**30)), (-1, "-1")])
def test_numbers_as_identifiers_become_text(value: object, text: str) -> None:
    memory = only({"id": value, "namespace": value, "session": value, "superseded_by": value})
    assert {memory.id, memory.namespace, memory.session_id, memory.superseded_by} == {text}


def test_a_list_namespace_joins_and_an_odd_one_stays_a_tenant_of_its_own() -> None:
    assert only({"namespace": ["users", 7, "notes"]}).namespace == "users/7/notes"
    memory, note = repaired({"namespace": {"b": 1, "a": 2}, "user_id": "u"})
    assert memory.namespace == '{"a":2,"b":1}'
    assert (note.level, note.code) == ("repair", "value_converted")
    assert repaired({"group": False})[0].namespace == "false"


def test_tags_are_a_list_or_a_text_with_commas() -> None:
    assert only({"tags": ["a, b", 3]}).tags == ("a, b", "3")
    assert only({"topics": "a, b,,c "}).tags == ("a", "b", "c")
    assert only({"aliases": "Smith, John"}).aliases == ("Smith, John",)
    memory, note = repaired({"tags": {"a": 1}})
    assert memory.tags == ()
    assert memory.metadata == {"tags": {"a": 1}}
    assert note.level == "repair"
    memory, note = repaired({"tags": ["a", {"b": 1}]})
    assert memory.tags == ("a",)
    assert memory.metadata == {"tags": ["a", {"b": 1}]}
    assert note.level == "repair"


@pytest.mark.parametrize("field", ["importance", "confidence", "authority"])
@pytest.mark.parametrize("value", [-0.1, 1.5, 7, math.nan, math.inf, 10**400, True, "high", [1], {"a": 1}, "nan"])
def test_a_share_out_of_range_is_not_given_and_kept_as_it_was(field: str, value: object) -> None:
    memory, notes = read({"id": "a", "content": "c", field: value})
    assert getattr(memory, field) is None
    assert field in memory.metadata
    assert notes[0].level == "repair"
    assert notes[0].code == "value_unreadable"
    json.dumps(write_record(memory), allow_nan=False)


def test_importance_follows_the_declared_scale() -> None:
    assert only({"importance": 7}, importance_scale=10).importance == 0.7
    assert only({"salience": 7, "importance_scale": "1-10"}).importance == 0.7
    assert only({"importance": 40, "metadata": {"importance_scale": 100}}).importance == 0.4
    assert only({"importance": 0.5, "importance_scale": "0-1"}, importance_scale=10).importance == 0.5
    assert only({"importance": 0}).importance == 0.0
    assert only({"confidence": 1}, importance_scale=10).confidence == 1.0
    memory, notes = read({"id": "a", "content": "c", "importance": 70}, importance_scale=10)
    assert memory.importance is None
    assert memory.metadata == {"importance": 70}
    assert len(notes) == 1
    memory, note = repaired({"importance": 0.5, "importance_scale": "stars"})
    assert memory.importance == 0.5
    assert memory.metadata == {"importance_scale": "stars"}
    assert note.level == "repair"


def test_an_importance_on_a_scale_that_nobody_declared_gets_a_hint() -> None:
    assert "importance_scale: 1-10" in repaired({"importance": 7})[1].detail


@pytest.mark.parametrize(("value", "count"), [(-3, 0), (2.5, 0), ("x", 0), (True, 0), (10**400, 0), (math.nan, 0)])
def test_an_impossible_count_is_zero(value: object, count: int) -> None:
    memory, notes = read({"id": "a", "content": "c", "use_count": value})
    assert memory.access_count == count
    assert "use_count" in memory.metadata
    assert notes[0].level == "repair"


def test_values_given_as_text_are_converted_with_a_note() -> None:
    cases: tuple[tuple[dict[str, object], str, object], ...] = (
        ({"access_count": "3"}, "access_count", 3),
        ({"turn": "12"}, "turn", 12),
        ({"importance": "0.5"}, "importance", 0.5),
        ({"pinned": "True"}, "pinned", True),
        ({"pinned": "no"}, "pinned", False),
        ({"pinned": 1}, "pinned", True),
        ({"superseded_by": ["b"]}, "superseded_by", "b"),
    )
    for raw, field, value in cases:
        memory, note = repaired(raw)
        assert getattr(memory, field) == value
        assert type(getattr(memory, field)) is type(value)
        assert (note.level, note.code) == ("repair", "value_converted")
        assert memory.metadata == {}
    assert only({"access_count": 3.0}).access_count == 3
    memory, note = repaired({"turn": "D1:3"})
    assert memory.turn is None
    assert memory.metadata == {"turn": "D1:3"}
    assert note.code == "value_unreadable"


def test_dates_are_read_with_notes_and_unreadable_ones_are_undated_but_kept() -> None:
    memory, note = repaired({"created_at": "2026-03-20 09:00"})
    assert memory.created_at is not None
    assert memory.created_at.text == "2026-03-20T09:00:00Z"
    assert (note.level, note.stage, note.code) == ("info", "read", "date_without_zone")
    memory, note = repaired({"timestamp": "once upon a time"})
    assert memory.created_at is None
    assert memory.metadata == {"timestamp": "once upon a time"}
    assert (note.level, note.code) == ("repair", "value_unreadable")
    memory, note = repaired({"metadata": {"date": "2024-02-30"}})
    assert memory.event_date is None
    assert memory.metadata == {"date": "2024-02-30"}
    assert note.level == "repair"


def test_the_first_name_that_can_be_read_counts() -> None:
    memory, note = repaired({"created_at": "?", "metadata": {"ts": 1_716_200_000}})
    assert memory.created_at is not None
    assert memory.created_at.text == "2024-05-20T10:13:20Z"
    assert memory.metadata == {"created_at": "?"}
    assert note.level == "repair"


@pytest.mark.parametrize("value", [["a"], [math.nan], [True], "0.1", {"a": 1}, [10**400], [[1.0]]])
def test_an_embedding_that_is_no_vector_is_dropped_but_kept(value: object) -> None:
    memory, notes = read({"id": "a", "content": "c", "embedding": value})
    assert memory.embedding is None
    assert "embedding" in memory.metadata
    assert notes[0].level == "repair"


def test_numbers_of_numeric_libraries_are_read() -> None:
    numpy = pytest.importorskip("numpy")
    memory = only(
        {
            "embedding": numpy.array([1.0, 2.0]),
            "access_count": numpy.int64(3),
            "importance": numpy.float64(0.5),
            "ts": numpy.int64(1_716_200_000),
            "extra": numpy.arange(2),
        }
    )
    assert memory.embedding == (1.0, 2.0)
    assert memory.access_count == 3
    assert memory.importance == 0.5
    assert memory.created_at is not None
    assert memory.metadata == {"extra": [0, 1]}


def test_values_of_database_drivers_are_read() -> None:
    identity = UUID(int=7)
    stamp = datetime(2026, 3, 20, 9, tzinfo=UTC)
    memory = only({"id": identity, "importance": Decimal("0.5"), "created_at": stamp, "tags": ("a",)})
    assert (memory.id, memory.importance, memory.tags) == (str(identity), 0.5, ("a",))
    assert memory.created_at is not None
    assert memory.created_at.start == stamp
    memory, note = repaired({"agent_id": identity})
    assert memory.agent_id == str(identity)
    assert note.code == "value_altered"


def test_lone_surrogates_become_u_fffd_with_a_note_and_pairs_are_joined() -> None:
    memory, notes = read(
        {"id": "a\ud800", "content": "\udc00b", "tags": ["\ud800"], "k\ud800": {"x": "\ud800y"}, "role": "\ud83d\ude00"}
    )
    assert (memory.id, memory.content, memory.tags, memory.role) == ("a\ufffd", "\ufffdb", ("\ufffd",), "\U0001f600")
    assert memory.metadata == {"k\ufffd": {"x": "\ufffdy"}}
    assert {note.code for note in notes} == {"surrogate_replaced", "value_altered", "metadata_altered"}
    assert {note.level for note in notes} == {"repair"}
    json.dumps(write_record(memory), ensure_ascii=False).encode()


def test_nul_bytes_and_blank_contents_are_kept() -> None:
    assert only({"content": "a\0b"}).content == "a\0b"
    assert only({"content": "", "text": "t"}).content == "t"
    memory, note = repaired({"content": ""})
    assert memory.content == ""
    assert note.level == "info"


def test_contents_that_are_no_text_become_text() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "image", "url": "u"}, "two"]
    memory, note = repaired({"content": parts})
    assert memory.content == "one\ntwo"
    assert memory.metadata == {"content": parts}
    assert note.level == "info"
    memory, note = repaired({"content": {"b": 1, "a": "x"}})
    assert memory.content == '{"a":"x","b":1}'
    assert note.level == "repair"
    assert repaired({"content": 42})[0].content == "42"


@pytest.mark.parametrize("metadata", ["text", 3, ["a"], True])
def test_metadata_that_is_no_object_is_kept_inside_metadata(metadata: object) -> None:
    memory, note = repaired({"metadata": metadata})
    assert memory.metadata == {"metadata": metadata}
    assert note.level == "repair"


def test_huge_numbers_deep_nesting_and_cycles_do_not_crash() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    cycle: dict[str, object] = {}
    cycle["self"] = cycle
    memory, _ = read(
        {"id": "a", "content": "c", "deep": deep, "cycle": cycle, "big": 10**10_000, "odd": {1: {2}}, "ts": 10**5000}
    )
    text = json.dumps(write_record(memory))
    assert read(json.loads(text)).__getitem__(0) == memory
    for _ in range(100_000):  # taken apart by hand: freeing it recursively is not this test's business
        (deep,) = deep  # type: ignore[assignment]
    with pytest.raises(DataError):
        read({"id": [10**10_000] * 2, "content": "c"})


def test_the_input_is_neither_changed_nor_shared() -> None:
    raw: dict[str, Any] = {"id": "a", "content": "c", "x": [1], "metadata": {"y": {"z": 1}, "role": "user"}}
    before = json.dumps(raw)
    memory = only(raw)
    raw["x"].append(2)
    raw["metadata"]["y"]["z"] = 2
    assert memory.metadata == {"y": {"z": 1}, "x": [1]}
    raw["x"].pop()
    raw["metadata"]["y"]["z"] = 1
    assert json.dumps(raw) == before


def test_notes_name_the_memory_and_the_field_but_never_a_value() -> None:
    secret = "my secret"
    _, notes = read(
        {"id": "a", "content": [secret], **{name: {secret: secret} for name in NAMES if name != "id"}}
        | {"content": [secret]}
    )
    assert len(notes) > 10
    assert [note.detail for note in notes if secret in note.detail or not note.detail.startswith("memory 'a': ")] == []


def test_defaults_are_written_only_where_metadata_would_be_read_in_their_place() -> None:
    assert write_record(Memory(id="a", content="c")) == {"id": "a", "content": "c"}
    memory = only({"access_count": 0, "pinned": False, "metadata": {"use_count": 5, "pinned": True}})
    assert write_record(memory)["access_count"] == 0
    assert write_record(memory)["pinned"] is False
    assert read(write_record(memory))[0] == memory


# Properties

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_odd = _json | st.sampled_from(["2026-03", "2026-03-20 09:00", "true", "0.5", 0.5, 1, "1-10", ["a"], [0.5]])
_keys = st.sampled_from([*NAMES, "importance_scale", "record.text", "x"]) | st.text(max_size=5)
_objects = st.dictionaries(_keys, _odd, max_size=6)


@given(_objects, st.none() | _objects | _odd, st.sampled_from([1.0, 10.0]))
@example({"tags": [""]}, {"tags": ["x"]}, 1.0)
@example({"type": [""]}, {"kind": "x"}, 1.0)
@example({"importance_scale": "1-10", "importance": 5}, {"importance_scale": "1-10"}, 1.0)
@example({"tags": [math.nan], "agent_id": math.inf}, {"aliases": math.nan}, 1.0)
@example({"timestamp": "?"}, {"created_at": "2026"}, 1.0)
def test_whatever_is_read_is_written_and_read_as_the_same_memory(
    raw: dict[str, object], metadata: object, scale: float
) -> None:
    try:
        memory, notes = read(
            {"id": "a", "content": "c", **raw, "metadata": metadata}, importance_scale=scale, position=3
        )
    except DataError:
        return
    text = json.dumps(write_record(memory), allow_nan=False, ensure_ascii=False)
    again, _ = read(json.loads(text.encode()), position=3)
    assert again == memory
    assert all(note.stage == "read" and note.level in ("info", "repair") for note in notes)


@given(_objects, _objects)
def test_no_unknown_key_and_no_losing_name_is_lost(raw: dict[str, object], metadata: dict[str, object]) -> None:
    try:
        memory, _ = read({"id": "a", "content": "c", **raw, "metadata": metadata})
    except DataError:
        return
    for mapping in (raw, metadata):
        for key in mapping.keys() - NAMES.keys() - {"metadata", "importance_scale"}:
            if key.isascii():
                assert key in memory.metadata
    for field in ALIASES:
        read_names = [name for name in NAMES if NAMES[name][0] == field]
        given_values = [
            mapping[name]
            for mapping in ({"id": "a", "content": "c", **raw}, metadata)
            for name in read_names
            if name in mapping and mapping[name] not in (None, "", [], {}, [""])
        ]
        kept = [key for key in memory.metadata if key.removeprefix("record.") in read_names]
        assert len(kept) >= len(given_values) - 1


@given(
    st.builds(
        Memory,
        id=st.text(min_size=1),
        content=st.text(),
        access_count=st.integers(0, 2**53),
        importance=st.none() | st.floats(0, 1),
        pinned=st.booleans(),
        namespace=st.none() | st.text(min_size=1),
        tags=st.lists(st.text(min_size=1)).map(tuple),
        aliases=st.lists(st.text(min_size=1)).map(tuple),
        turn=st.none() | st.integers(-5, 2**53),
        embedding=st.none() | st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=4).map(tuple),
        metadata=st.dictionaries(st.text().map(lambda key: f"my {key}"), _json.filter(lambda v: "nan" not in repr(v))),
        position=st.integers(0, 9),
    )
)
def test_a_memory_made_by_hand_survives_writing(memory: Memory) -> None:
    again, _ = read(write_record(memory), position=memory.position)
    expected = write_record(memory)
    assert write_record(again) == expected
    assert (again.id, again.content, again.tags, again.aliases, again.embedding) == (
        memory.id,
        memory.content,
        memory.tags,
        memory.aliases,
        memory.embedding,
    )
