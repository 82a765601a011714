"""How often a report part was read."""

from pathlib import Path

import pytest

from memrank.errors import DataError
from memrank.tune.ledger import count, ledger_of, times_read


def test_every_reading_counts_by_its_data(tmp_path: Path) -> None:
    path = ledger_of(tmp_path / "a.compiled.json")
    assert path == ledger_of(tmp_path / "b.json")
    assert times_read(path, "k") == 0
    assert [count(path, "k"), count(path, "k"), count(path, "other")] == [1, 2, 1]
    assert times_read(path, "k") == 2


@pytest.mark.parametrize("data", ["", "[]", '{"schema": "memrank.reportreads/1", "reads": {"k": -1}}', '{"reads": {}}'])
def test_a_file_that_is_no_count_is_refused_and_kept(data: str, tmp_path: Path) -> None:
    path = ledger_of(tmp_path / "a.json")
    path.write_text(data)
    with pytest.raises(DataError, match=r"it is no JSON|is no count of readings"):
        count(path, "k")
    assert path.read_text() == data
