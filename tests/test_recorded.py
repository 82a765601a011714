"""Columns and counts as bytes: what comes back has the same bits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from memrank.recorded import pack, pack_counts, unpack, unpack_counts

FINITE = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0.0, -0.0, 1.0, -1.0, 5e-324]))


@st.composite
def columns(draw: st.DrawFn) -> dict[str, np.ndarray]:
    n = draw(st.integers(0, 20))
    names = draw(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=6, unique=True))
    return {name: draw(hnp.arrays(np.float64, n, elements=FINITE)) for name in names}


@given(columns())
def test_columns_come_back_bit_by_bit(numbers: dict[str, np.ndarray]) -> None:
    found = unpack(pack(numbers))
    assert list(found) == list(numbers)
    for name, values in numbers.items():
        assert found[name].tobytes() == values.tobytes()
        assert not found[name].flags.writeable


@given(hnp.arrays(np.int64, st.integers(0, 50), elements=st.integers(0, 2**31)))
def test_counts_come_back(counts: np.ndarray) -> None:
    assert unpack_counts(pack_counts(counts)).tolist() == counts.tolist()


@pytest.mark.parametrize("data", [b"", b"x", b"{}", b'{"n": 1}\n', b"\xff\n", pack({"a": np.arange(3.0)})[:-1]])
def test_damaged_columns_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="these are no columns"):
        unpack(data)


@pytest.mark.parametrize("data", [b"", b"\x03abc", b"\x04abc"])
def test_damaged_counts_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="these are no counts"):
        unpack_counts(data)
