"""The measure of a cascade: that its simulated model is as good as it is said to be, and what is made of it."""

import json
import sys
from pathlib import Path
from typing import Any

import cascade
import goldens
import numpy as np
import pytest

from memrank.score.intervals import Bootstrap
from memrank.speccascade import CascadeSpec

NOW = "2026-03-20T09:00:00Z"
WHEN = "2026-03-01T00:00:00Z"
SUBJECTS = ("billing", "search", "login", "export", "backup", "mail")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six questions over sixty memories; the answers share fewer words with them than what was said beside it."""
    there = tmp_path / "tiny"
    there.mkdir()
    memories, rows = [], []
    for subject in SUBJECTS:
        memories.append({"id": f"{subject}-answer", "content": f"For {subject} Oslo is where we went."})
        memories += [
            {"id": f"{subject}-{place}", "content": f"Which city hosts the {subject} service, asked person {place}."}
            for place in range(9)
        ]
        rows.append(
            {
                "id": subject,
                "query": f"Which city hosts the {subject} service?",
                "relevant": [f"{subject}-answer"],
                "split": "fit" if subject == "mail" else "report",
            }
        )
    listed = {
        "memories": [{**row, "group": "a", "timestamp": WHEN} for row in memories],
        "queries": [{**row, "group": "a", "query_time": NOW} for row in rows],
    }
    for name, lines in listed.items():
        (there / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines), encoding="utf-8")
    return there


def simulated(auc: float, alike: float = 0.0) -> cascade.Simulated:
    model = cascade.Simulated(auc, alike)
    model.row = {"id": "q", "relevant": [f"good{place}" for place in range(400)]}
    return model


@pytest.mark.parametrize("auc", [0.6, 0.75, 0.95])
@pytest.mark.parametrize("alike", [0.0, 0.6])
def test_a_simulated_model_is_as_right_as_it_is_said_to_be(auc: float, alike: float) -> None:
    model = simulated(auc, alike)
    names = [f"{kind}{place}" for kind in ("good", "bad") for place in range(400)]
    model.error = cascade.errors(model.row, {name: (hash_of(name) % 997) / 997 for name in names})
    good = np.array([model.relevance(name) for name in names[:400]])
    bad = np.array([model.relevance(name) for name in names[400:]])
    assert float(np.mean(good[:, None] > bad[None, :])) == pytest.approx(auc, abs=0.03)
    assert ((good >= 0) & (good <= 1)).all()


def hash_of(name: str) -> int:
    """The same in every process."""
    return cascade.crc32(name.encode())


def test_it_says_the_same_of_a_memory_whatever_else_is_asked() -> None:
    one, two = simulated(0.8), simulated(0.8)
    two.relevance("bad1")
    assert one.relevance("good1") == two.relevance("good1")
    two.row = {**two.row, "id": "other"}
    assert one.relevance("good1") != two.relevance("good1")


def test_grades_stand_out_by_degrees() -> None:
    model = simulated(0.8)
    model.row = {"id": "q", "relevant": {"a": 2, "b": 1, "c": 0}}
    assert [model.grade(name) for name in "abcd"] == [1.0, 0.7, 0.0, 0.0]


def test_errors_are_those_of_the_embedded_judge() -> None:
    said = {"r1": 0.9, "r2": 0.1, "x1": 0.8, "x2": 0.3, "x3": 0.2}
    found = cascade.errors({"relevant": ["r1", "r2"]}, said)
    assert found["r1"] == -found["r2"] > 0
    assert found["x1"] > found["x2"] == 0 > found["x3"]


def test_a_share_of_none_is_the_embedded_judge_and_one_of_all_is_the_model(folder: Path) -> None:
    reader = cascade.Reader(goldens.GoldenSet(folder), "report")
    assert [row["id"] for row in reader.rows] == list(SUBJECTS[:-1])

    def by(judge: str, share: float | None) -> list[dict[str, float]]:
        spec = cascade.spec_of(judge, None if share is None else CascadeSpec(share=share, margin=1.0))
        return reader.run(spec, cascade.Simulated(0.99, 0.5))

    assert by("cascade", 0.0) == reader.embedded
    assert by("cascade", 1.0) == by("lm", None)
    assert [one["share_sent"] for one in by("cascade", 0.2)] == [0.2] * 5
    assert [one["share_sent"] for one in by("lm", None)] == [1.0] * 5


def test_the_share_of_a_gain_that_chance_explains_is_not_told() -> None:
    bootstrap = Bootstrap([str(place) for place in range(5)], seed=1, resamples=500)

    def of(lm: list[float]) -> dict[cascade.Judge, Any]:
        values = {"embedded": np.zeros(5), "lm": np.array(lm), "cascade": np.array(lm) / 2}
        judges = (cascade.EMBEDDED, cascade.Judge("lm", 0.9, None), cascade.Judge("cascade", 0.9, 0.2))
        return {judge: {"nDCG@10": bootstrap.estimate(values[judge.name])} for judge in judges}

    told = cascade.share_of_gain(of([0.3, 0.4, 0.35, 0.3, 0.4]), cascade.Judge("cascade", 0.9, 0.2))
    assert told is not None
    assert (told.mean, told.low, told.high) == pytest.approx((0.5, 0.5, 0.5))
    assert cascade.share_of_gain(of([0.9, -0.7, 0.8, -0.6, 0.1]), cascade.Judge("cascade", 0.9, 0.2)) is None


def test_the_script_says_that_it_is_simulated(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "figures.json"
    given = ["cascade.py", str(folder), "--aucs", ".99", "--shares", "0,.2", "--alike", "0", "--json", str(out)]
    monkeypatch.setattr(sys, "argv", given)
    cascade.main()
    text = capsys.readouterr().out
    assert "SIMULATED" in text
    assert "cascade 0.2" in text
    rows = json.loads(out.read_text())
    assert [(row["judge"], row["auc"], row["share"]) for row in rows] == [
        ("embedded", None, None),
        ("lm", 0.99, None),
        ("cascade", 0.99, 0.0),
        ("cascade", 0.99, 0.2),
    ]
    assert rows[1]["nDCG@10"]["mean"] > rows[0]["nDCG@10"]["mean"]


@pytest.mark.parametrize(
    "wrong", [["--aucs", "1"], ["--aucs", "x"], ["--shares", "2"], ["--alike", "2"], ["--margin", "-1"]]
)
def test_what_cannot_be_simulated_is_refused(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cascade.parsed(["folder", *wrong])
    assert "usage" in capsys.readouterr().err


def test_a_part_without_queries_is_refused(folder: Path) -> None:
    with pytest.raises(SystemExit, match="no query"):
        cascade.run(cascade.parsed([str(folder), "--sets", "other"]))
