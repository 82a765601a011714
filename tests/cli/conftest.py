"""A folder with a spec and its memories."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from calling import MEMORIES, SPEC, write_lines


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """The spec `desk.yaml` over three memories of one tenant."""
    (tmp_path / "desk.yaml").write_text(SPEC)
    write_lines(tmp_path / "memories.jsonl", MEMORIES)
    return tmp_path / "desk.yaml"


@pytest.fixture
def open_desk() -> Iterator[Path]:
    """The same in a folder that other users may read but not write."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    (folder / "desk.yaml").write_text(SPEC)
    write_lines(folder / "memories.jsonl", MEMORIES)
    yield folder / "desk.yaml"
    shutil.rmtree(folder)


@pytest.fixture
def ordinary_user() -> Iterator[None]:
    """The test runs without the rights of root, which no permission stops."""
    if os.name == "nt" or os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    yield
    os.seteuid(0)
