# ruff: noqa: E501
import re
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memrank.errors import SpecError
from memrank.spec import Spec
from memrank.specfile import load_spec
from memrank.starter import starter_spec

SEED = starter_spec("fuzz").encode()
PIECES = [
    *(b"{", b"}", b"[", b"]", b":", b": ", b",", b"- ", b"? ", b"\n", b"\n  ", b"\t", b"\r", b"#", b"'", b'"', b"\\", b"|", b">"),
    *(b"&a ", b"*a", b"!x ", b"!!int ", b"<<: ", b"---\n", b"...\n", b"%YAML 1.1\n", b"\0", b"\xff", b"\xef\xbb\xbf"),
    *(b"\xed\xa0\x80", b"\xc2\x85", b"\xe2\x80\xa8", b'"\\ud800"', b'"\\UFFFFFFFF"', b".nan", b"1e999", b"9" * 30, b"null"),
    *(b"true", b"yes", b"-1", b"0.5", b"1:30", b"kind", b"stages", b"weights", b"half_life", b"api_key: sk-0123456789abcdef"),
    *(b"memrank: 1\n", b"[" * 40, b"- " * 40, b"x" * 2000, b"\n" * 50, b" " * 50),
]  # fmt: skip
SHAPE = re.compile(r":[1-9][0-9]*:[1-9][0-9]*: [^\n]+: [^\n]+; [^\n]+")


def check(data: bytes, folder: Path) -> None:
    """A spec, or a SpecError whose every fault has a line and a column and no hidden character; within a second."""
    path = folder / "fuzz.yaml"
    path.write_bytes(data)
    start = time.perf_counter()
    result = load(path)
    assert time.perf_counter() - start < 1.0
    for line in result if isinstance(result, tuple) else ():
        assert SHAPE.fullmatch(line.removeprefix(str(path))), line
        assert line.isprintable(), line
        assert "sk-0123456789abcdef" not in line
    assert result


def load(path: Path) -> Spec | tuple[str, ...]:
    try:
        return load_spec(path).spec
    except SpecError as error:
        return error.faults


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


BOUNDED = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@BOUNDED
@given(data=st.binary(max_size=300))
@example(data=b"")
@example(data=SEED)
@example(data=b"\xef\xbb\xbf")
def test_bytes(data: bytes, folder: Path) -> None:
    check(data, folder)


@BOUNDED
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=30))
def test_pieces_of_yaml(pieces: list[bytes], folder: Path) -> None:
    check(b"".join(pieces), folder)


@BOUNDED
@given(
    edits=st.lists(
        st.tuples(st.integers(0, len(SEED)), st.integers(0, 30), st.sampled_from(PIECES) | st.binary(max_size=3)),
        min_size=1,
        max_size=4,
    )
)
def test_mutated_specs(edits: list[tuple[int, int, bytes]], folder: Path) -> None:
    data = SEED
    for at, drop, put in edits:
        data = data[:at] + put + data[at + drop :]
    check(data, folder)


@BOUNDED
@given(cuts=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=6))
def test_shuffled_lines(cuts: list[tuple[int, int]], folder: Path) -> None:
    lines = SEED.split(b"\n")
    for source, target in cuts:
        lines.insert(target % len(lines), lines[source % len(lines)])
    check(b"\n".join(lines), folder)
