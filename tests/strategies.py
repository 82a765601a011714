"""Hypothesis strategies, the one home of them: numbers, arrays and records as memrank meets them."""

from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

AS_OF = datetime(2026, 3, 20, 9, tzinfo=UTC)

shares = st.floats(0, 1, allow_nan=False)
"""A score, a weight or a factor."""

ages = st.floats(0, 1e12, allow_nan=False)
"""Seconds, up to 30,000 years."""

durations = st.floats(1e-3, 1e10, allow_nan=False)
"""Seconds of a half-life or a window."""

WORDS = ("rate", "fee", "fund", "bond", "cash", "loan", "price", "bank", "note", "desk")


def columns(size: int, values: st.SearchStrategy[float] = shares) -> st.SearchStrategy[NDArray[np.float64]]:
    """A float64 column of this many values."""
    return st.lists(values, min_size=size, max_size=size).map(lambda found: np.array(found, dtype=np.float64))


def tied(size: int) -> st.SearchStrategy[NDArray[np.float64]]:
    """A column with many equal values."""
    return columns(size, st.sampled_from([0.0, 0.25, 0.5, 1.0]))


def dates(days_before: int = 800, days_after: int = 3) -> st.SearchStrategy[str]:
    """ISO 8601 instants around AS_OF."""
    first, last = AS_OF - timedelta(days=days_before), AS_OF + timedelta(days=days_after)
    moments = st.datetimes(first.replace(tzinfo=None), last.replace(tzinfo=None))
    return moments.map(lambda moment: moment.isoformat() + "Z")


@st.composite
def records(draw: st.DrawFn, *, least: int = 0, most: int = 12) -> list[dict[str, object]]:
    """Records of one tenant with distinct ids; dates, validity, importance and supersession where they come up."""
    count = draw(st.integers(least, most))
    names = [f"m{i}" for i in range(count)]
    found: list[dict[str, object]] = []
    for name in names:
        record: dict[str, object] = {
            "id": name,
            "content": " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8))),
        }
        optional: dict[str, st.SearchStrategy[object]] = {
            "created_at": dates(),
            "event_date": dates(),
            "expires_at": dates(),
            "valid_at": dates(),
            "invalid_at": dates(),
            "importance": shares,
            "authority": shares,
            "access_count": st.integers(0, 20),
            "memory_type": st.sampled_from(["note", "price"]),
            "superseded_by": st.sampled_from(names),
            "pinned": st.booleans(),
            "agent_id": st.sampled_from(["a", "b"]),
            "tags": st.lists(st.sampled_from(["x", "y"]), max_size=2),
        }
        dated = draw(st.booleans())
        for field, values in optional.items():
            if (field == "created_at" and dated) or draw(st.integers(0, 4)) == 0:
                record[field] = draw(values)
        found.append(record)
    return found
