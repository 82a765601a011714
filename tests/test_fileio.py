"""Atomic writing, canonical JSON, hashes."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.errors import DataError
from memrank.fileio import canonical_json, sha256_hex, write_atomic

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes and links of POSIX")


def test_text_bytes_and_pieces_are_written_as_given(tmp_path: Path) -> None:
    for data in ("é\r\nx\n", "é\r\nx\n".encode(), iter(["é\r\n", "x\n"])):
        write_atomic(tmp_path / "f", data)
        assert (tmp_path / "f").read_bytes() == b"\xc3\xa9\r\nx\n"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_failure_on_the_way_leaves_the_old_file_and_no_scrap(tmp_path: Path) -> None:
    write_atomic(tmp_path / "f", "old")

    def pieces() -> Iterator[str]:
        yield "new"
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write_atomic(tmp_path / "f", pieces())
    with pytest.raises(UnicodeEncodeError):
        write_atomic(tmp_path / "f", "\ud800")
    assert (tmp_path / "f").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_missing_folder_is_a_data_error_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be written") as caught:
        write_atomic(tmp_path / "no" / "f", "x")
    assert "create the folder" in str(caught.value)


def test_a_folder_in_the_way_is_a_data_error(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    with pytest.raises(DataError, match="cannot be written"):
        write_atomic(tmp_path / "f", "x")
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


@posix
def test_the_mode_of_an_existing_file_is_kept_and_a_new_one_follows_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomic(tmp_path / "new", "x")
    finally:
        os.umask(before)
    (tmp_path / "old").write_text("x")
    (tmp_path / "old").chmod(0o604)
    write_atomic(tmp_path / "old", "y")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o604


@posix
def test_a_link_keeps_pointing(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_atomic(tmp_path / "link", "y")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "y"


def test_canonical_json_is_sorted_compact_and_finite() -> None:
    assert canonical_json({"b": [1, 2.5, None], "a": "é"}) == '{"a":"é","b":[1,2.5,null]}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(float("nan"))


@given(st.dictionaries(st.text(), st.integers()))
def test_canonical_json_does_not_depend_on_the_order_of_keys(value: dict[str, int]) -> None:
    assert canonical_json(value) == canonical_json(dict(reversed(value.items())))


def test_sha256_of_text_is_that_of_its_utf8() -> None:
    assert sha256_hex("abc") == sha256_hex(b"abc")
    assert sha256_hex("abc").startswith("ba7816bf")
    assert sha256_hex("\ud800") != sha256_hex("\ud801")
