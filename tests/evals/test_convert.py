"""An imported set as a folder: it is an evalset, it says how it was made, and it is whole at every moment."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from foreign import beir, locomo, longmemeval, put, put_json

from memrank import fileio
from memrank.errors import DataError, UsageError
from memrank.evals.convert import read_foreign, write_evalset
from memrank.evals.evalset import load
from memrank.evals.manifest import differences, read_manifest
from memrank.stores.readers import read_memories


def written(source: Path, target: Path, **named: Any) -> Path:
    write_evalset(target, read_foreign(source), source=source.name, **named)
    return target


@pytest.mark.parametrize("form", ["beir", "locomo", "longmemeval"])
def test_what_is_written_is_an_evalset(form: str, tmp_path: Path) -> None:
    made = {"locomo": locomo, "longmemeval": longmemeval}
    source = put(tmp_path / "set", beir()) if form == "beir" else put_json(tmp_path / "set", made[form]())
    found = read_foreign(source)
    target = written(source, tmp_path / "made")
    evalset = load(target)
    assert [query.id for query in evalset.queries] == [row["id"] for row in found.queries]
    assert not evalset.notes
    manifest = read_manifest(target)
    assert manifest is not None
    assert (manifest.licence, manifest.version) == (found.licence, "1")
    assert not differences(target, manifest)
    loaded = read_memories(evalset.memories)
    assert [memory.id for memory in loaded.memories] == [row["id"] for row in found.memories]
    assert not loaded.notes
    known = {memory.id for memory in loaded.memories}
    assert all(set(query.relevant) <= known for query in evalset.queries)
    text = (target / "README.md").read_text(encoding="utf-8")
    for part in (
        "# made\n",
        f"(format {form})",
        "Licence: ",
        f"{len(known)} memories",
        f"{len(evalset.queries)} queries",
    ):
        assert part in text


def test_the_same_source_gives_the_same_bytes(tmp_path: Path) -> None:
    source = put_json(tmp_path / "set.json", longmemeval())
    folders = [written(source, tmp_path / name / "set") for name in ("a", "b") if not (tmp_path / name).mkdir()]
    names = sorted(path.name for path in folders[0].iterdir())
    assert names == ["README.md", "manifest.json", "memories.jsonl", "queries.jsonl"]
    for name in names:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()


def test_nothing_is_overwritten_unless_asked(tmp_path: Path) -> None:
    target = written(put(tmp_path / "set", beir()), tmp_path / "made")
    other = put_json(tmp_path / "locomo10.json", locomo())
    with pytest.raises(UsageError, match="there already"):
        written(other, target)
    assert load(target).queries[0].id == "q1"
    written(other, target, force=True)
    assert load(target).queries[0].id == "conv-1/q0"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["locomo10.json", "made", "set"]


def test_force_never_takes_files_that_are_no_part_of_a_set(tmp_path: Path) -> None:
    source = put(tmp_path / "set", beir())
    (target := tmp_path / "made").mkdir()
    (target / "thesis.tex").write_text("mine")
    with pytest.raises(DataError, match=r"holds 'thesis\.tex', which is no part"):
        written(source, target, force=True)
    with pytest.raises(DataError, match=r"holds 'corpus\.jsonl'"):
        written(source, source, force=True)
    assert (target / "thesis.tex").read_text() == "mine"


def test_an_empty_folder_is_filled_and_a_file_is_refused(tmp_path: Path) -> None:
    source = put(tmp_path / "set", beir())
    (tmp_path / "empty").mkdir()
    assert load(written(source, tmp_path / "empty")).queries
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DataError, match="this is no folder"):
        written(source, tmp_path / "file", force=True)
    with pytest.raises(DataError, match="cannot be written") as caught:
        written(source, tmp_path / "no" / "made")
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("create the folder")


KILLED = """
import os, signal, sys
from pathlib import Path
from memrank import fileio
from memrank.evals.convert import read_foreign, write_evalset

write, left = fileio._write_synced, [int(sys.argv[3])]

def dying(path, data):
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    write(path, data)

fileio._write_synced = dying
write_evalset(Path(sys.argv[2]), read_foreign(Path(sys.argv[1])), source="set", force=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("files", [0, 1, 2])
def test_a_kill_on_the_way_leaves_the_old_set(files: int, tmp_path: Path) -> None:
    target = written(put(tmp_path / "set", beir()), tmp_path / "made")
    before = {path.name: path.read_bytes() for path in target.iterdir()}
    other = put_json(tmp_path / "locomo10.json", locomo())
    done = subprocess.run([sys.executable, "-c", KILLED, other, target, str(files)], timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert {path.name: path.read_bytes() for path in target.iterdir()} == before


def test_a_failure_of_the_disk_leaves_the_old_set_and_no_scrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = written(put(tmp_path / "set", beir()), tmp_path / "made")
    before = {path.name: path.read_bytes() for path in target.iterdir()}
    rename, calls = Path.rename, []

    def failing(self: Path, to: Path) -> Path:
        calls.append(self.name)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(DataError, match="No space left on device"):
        written(put_json(tmp_path / "locomo10.json", locomo()), target, force=True)
    assert len(calls) == 3
    assert {path.name: path.read_bytes() for path in target.iterdir()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["locomo10.json", "made", "set"]
    assert fileio.sha256_hex((target / "queries.jsonl").read_bytes()) == load(target).queries_sha256
