"""The file of a conversation: what is no conversation, is damaged or newer, and rows that are not what was written."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memrank.errors import DataError, StoreError
from memrank.indexing import Analyzer
from memrank.stores import conversation, sqlite_door
from memrank.stores.conversation import MIGRATIONS, ConversationFile
from memrank.stores.sqlite import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "talk.db"


@pytest.fixture
def file(path: Path) -> Iterator[ConversationFile]:
    made = ConversationFile(path)
    yield made
    made.close()


def run_sql(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def fill(file: ConversationFile, count: int = 3) -> None:
    file.add((None, {"content": f"text {i}"}) for i in range(count))
    file.record("now", {"mean": 0.5}, [(f"#{i + 1}", 0.5, 2, "keep_full") for i in range(count)])


def test_what_is_kept(file: ConversationFile) -> None:
    assert file.add([(None, {"content": "a"}), ("x", {"content": "b"}), (None, {"content": "c", "id": "other"})]) == 3
    assert file.add([("x", {"content": "B"}), (None, {"content": "d"})]) == 1
    assert [(r["id"], r["content"]) for r in file.records()] == [("#1", "a"), ("x", "B"), ("#3", "c"), ("#4", "d")]
    assert file.count() == 4
    assert file.latest() == {}


def test_a_place_that_is_taken_is_passed_over(file: ConversationFile) -> None:
    file.add([("#2", {"content": "a"}), ("#3", {"content": "b"}), (None, {"content": "c"}), (None, {"content": "d"})])
    assert [r["id"] for r in file.records()] == ["#2", "#3", "#4", "#5"]


def test_a_number_is_never_given_out_again(file: ConversationFile, path: Path) -> None:
    fill(file)
    assert file.forget("#3") == 1
    file.close()
    file.add([(None, {"content": "new"})])
    assert [r["id"] for r in file.records()] == ["#1", "#2", "#4"]
    # Not where names and places have come apart either.
    file.add([("#5", {"content": "named so"}), (None, {"content": "next"})])
    assert file.forget("#6") == 1
    file.add([(None, {"content": "last"})])
    assert [r["id"] for r in file.records()] == ["#1", "#2", "#4", "#5", "#7"]


def test_a_file_of_the_first_version_goes_on_counting(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(conversation, "MIGRATIONS", MIGRATIONS[:1])
        sqlite_door.create(path, conversation.CONVERSATION)
    names = ("#1", "x", "#9", "#12 of them", "#" + "7" * 30)
    run_sql(
        path,
        *(f"""INSERT INTO elements (id, record) VALUES ('{n}', '{{"id": "{n}", "content": "c"}}')""" for n in names),
    )
    with closing(ConversationFile(path)) as file:
        file.add([(None, {"content": "new"})])
        assert [r["id"] for r in file.records()] == [*names, "#10"]


def test_points_of_elements_that_are_there(file: ConversationFile) -> None:
    fill(file, 2)
    assert file.record(None, {}, [("#2", 0.25, 1, "keep_full"), ("gone", 1.0, 4, "drop")]) == 2
    assert file.latest() == {"#2": 0.25}
    assert {name: [p.moment for p in points] for name, points in file.trajectories().items()} == {
        "#1": [1], "#2": [1, 2],
    }  # fmt: skip
    assert [(m.number, m.at, m.elements, m.monitors) for m in file.moments()] == [
        (1, "now", 2, {"mean": 0.5}),
        (2, None, 2, {}),
    ]


def test_an_element_that_cannot_be_kept_stops_the_whole_write(file: ConversationFile) -> None:
    for bad in (float("nan"), object()):
        with pytest.raises(DataError, match="cannot be kept"):
            file.add([("a", {"content": "a"}), ("b", {"content": bad})])
    assert file.count() == 0


def test_forgetting(file: ConversationFile) -> None:
    fill(file)
    assert (file.forget("#2"), file.forget("#2"), file.forget("elsewhere")) == (1, 0, 0)
    assert list(file.trajectories()) == ["#1", "#3"]


def test_a_closed_file_opens_again_and_is_one_file(file: ConversationFile, path: Path) -> None:
    fill(file)
    file.close()
    file.close()
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert file.count() == 3


def test_every_write_reaches_the_disk(file: ConversationFile) -> None:
    with file._door.transaction() as connection:
        found = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    assert found == ["wal", 2]


# Files that are something else


@pytest.mark.parametrize("content", [b"\x00" * 5000, b"{}\n", b"SQLite format 3\x00" + b"\xff" * 4080])
def test_a_file_of_something_else(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"talk\.db"):
        ConversationFile(path)
    assert path.read_bytes() == content


def test_an_empty_file_becomes_one(path: Path) -> None:
    path.touch()
    made = ConversationFile(path)
    assert made.count() == 0
    made.close()


def test_the_database_of_another_application(path: Path, tmp_path: Path) -> None:
    run_sql(path, "CREATE TABLE elements (seq, id, record)")
    with pytest.raises(StoreError, match="another application") as caught:
        ConversationFile(path)
    assert caught.value.hint
    store = tmp_path / "store.db"
    SqliteStore.create(store, Analyzer("english", "none")).close()
    with pytest.raises(StoreError, match="not a memrank conversation"):
        ConversationFile(store)
    ConversationFile(tmp_path / "new.db").close()
    with pytest.raises(StoreError, match="not a memrank store"):
        SqliteStore(tmp_path / "new.db", Analyzer("english", "none")).count()


def test_a_file_of_a_newer_schema(file: ConversationFile, path: Path) -> None:
    fill(file)
    file.close()
    run_sql(path, f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    with pytest.raises(StoreError, match="newer memrank") as caught:
        file.count()
    assert caught.value.hint == "upgrade memrank"
    with pytest.raises(StoreError, match="newer memrank"):
        ConversationFile(path).count()


def test_a_migration_is_whole_or_not_at_all(
    file: ConversationFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(file)
    file.close()
    good = ("ALTER TABLE elements ADD COLUMN extra TEXT",)
    monkeypatch.setattr(conversation, "MIGRATIONS", (*MIGRATIONS, good, ("no SQL",)))
    with pytest.raises(StoreError, match="syntax error"):
        file.count()
    monkeypatch.setattr(conversation, "MIGRATIONS", (*MIGRATIONS, good))
    assert file.count() == 3
    with file._door.transaction() as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS) + 1,)


def test_a_folder_that_is_missing_and_a_path_that_is_one(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be created") as caught:
        ConversationFile(tmp_path / "no" / "talk.db")
    assert caught.value.hint
    with pytest.raises(StoreError, match="it is a folder"):
        ConversationFile(tmp_path)


def test_a_file_that_is_taken_away(file: ConversationFile, path: Path) -> None:
    fill(file)
    file.close()
    path.unlink()
    with pytest.raises(StoreError, match="there is no such conversation"):
        file.count()
    assert not path.exists()


# Damage


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_file_that_was_cut_off(file: ConversationFile, path: Path, share: float) -> None:
    fill(file, 500)
    file.close()
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(StoreError):
        file.records()


def test_damaged_pages(file: ConversationFile, path: Path) -> None:
    fill(file, 500)
    file.close()
    whole = bytearray(path.read_bytes())
    for page in range(4096, len(whole), 4096):
        whole[page : page + 64] = b"\xff" * 64
    path.write_bytes(whole)
    for read in (file.records, file.trajectories, file.moments, file.latest):
        with pytest.raises(StoreError):
            read()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE elements SET record = '{'",
        "UPDATE elements SET record = 'null'",
        "UPDATE elements SET record = '{}'",
        "UPDATE elements SET record = 7",
        "UPDATE elements SET record = x'ff'",
        "UPDATE elements SET record = CAST(x'ff' AS TEXT)",
        'UPDATE elements SET record = \'{"id": "other", "content": "x"}\'',
        'UPDATE elements SET record = \'{"id": "#1", "content": null}\' WHERE seq = 1',
        "DROP TABLE elements",
    ],
)
def test_rows_that_are_no_elements(file: ConversationFile, path: Path, statement: str) -> None:
    fill(file)
    file.close()
    run_sql(path, statement)
    with pytest.raises(StoreError):
        file.records()


@pytest.mark.parametrize("value", ["'{'", "'[]'", "x'ff'", "7"])
def test_monitors_that_are_none(file: ConversationFile, path: Path, value: str) -> None:
    fill(file)
    file.close()
    run_sql(path, f"UPDATE moments SET monitors = {value}")
    with pytest.raises(StoreError, match="pruning 1 has no monitors"):
        file.moments()


def test_a_full_disk_keeps_nothing_of_the_write(file: ConversationFile) -> None:
    fill(file)
    with file._door.transaction() as connection:
        connection.execute("PRAGMA max_page_count = 20")
    with pytest.raises(StoreError, match="disk is full"):
        file.add((None, {"content": "x" * 1000}) for _ in range(200))
    assert file.count() == 3
    file.close()
    assert file.add([(None, {"content": "more"})]) == 1


def test_a_file_that_is_held_while_it_is_made(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_door, "BUSY_SECONDS", 0.05)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match="another process"):
        ConversationFile(path)
    holder.execute("ROLLBACK")
    holder.close()
    ConversationFile(path).close()
