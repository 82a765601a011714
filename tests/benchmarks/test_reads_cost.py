"""The script that measures the log runs, records what it says it does, and ends by its limit."""

import json

import pytest
import reads


def test_it_measures_every_kind(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "LIMIT_MS", float("inf"))
    assert reads.main(["--reads", "100", "--repeat", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"reads", "bytes_per_read", *reads.KINDS}
    assert found["reads"] == 100
    assert 1_000 < found["bytes_per_read"] < 200_000
    assert found["cache"]["median_ms"] < found["no log"]["median_ms"]
    monkeypatch.setattr(reads, "LIMIT_MS", -float("inf"))
    assert reads.main(["--reads", "100", "--repeat", "1"]) == 1
