"""The compared systems on a set small enough to rank by hand, and the tables of both comparisons."""

import json
import math
import sys
from pathlib import Path
from typing import Any

import goldens
import metrics
import numpy as np
import peers
import pytest
import quality
import ranking

from memrank.cli.main import main as command

NOW = "2026-03-20T09:00:00Z"
MEMORIES: list[dict[str, Any]] = [
    {"id": "old", "group": "a", "timestamp": "2025-01-10T00:00:00Z", "content": "The billing service runs in Oslo."},
    {"id": "new", "group": "a", "timestamp": "2026-03-01T00:00:00Z", "content": "The billing service runs in Lima."},
    {"id": "cat", "group": "a", "timestamp": "2026-03-19T00:00:00Z", "content": "Our cat sleeps on the keyboard."},
    {"id": "plain", "group": "a", "content": "Invoices are printed on blue paper.", "importance": 0.9},
    {"id": "soon", "group": "a", "timestamp": "2026-03-21T08:00:00Z", "content": "Billing moves house today."},
    {"id": "later", "group": "a", "timestamp": "2026-04-01T00:00:00Z", "content": "The billing service runs in Rome."},
    {"id": "theirs", "group": "b", "timestamp": "2026-03-01T00:00:00Z", "content": "The billing service runs in Bonn."},
]
QUERIES: list[dict[str, Any]] = [
    {
        "id": "q1",
        "query": "Where does the billing service run now?",
        "query_time": NOW,
        "group": "a",
        "relevant": ["new"],
        "metadata": {"stale": ["old"], "must_not": ["later", "theirs"]},
    },
    {"id": "q2", "query": "Who feeds the fish?", "query_time": NOW, "group": "a", "relevant": []},
    {"id": "q3", "query": "billing", "query_time": NOW, "group": "nobody", "relevant": []},
]
SEEN = {"old", "new", "cat", "plain", "soon"}
WITHOUT_PACKAGES = [name for name in quality.SYSTEMS if not name.startswith(("langchain", "llamaindex"))]


def write(folder: Path, memories: list[dict[str, Any]], queries: list[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True)
    for name, rows in (("memories", memories), ("queries", queries)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "sets" / "tiny", MEMORIES, QUERIES)


def test_sets_are_found_at_any_depth(folder: Path) -> None:
    assert goldens.find([folder.parent.parent, folder]) == [folder]


def test_two_sets_of_one_name_are_refused(folder: Path) -> None:
    other = write(folder.parent / "more" / "tiny", MEMORIES, QUERIES)
    with pytest.raises(SystemExit, match="two golden sets are named tiny"):
        goldens.find([folder.parent, other])


def test_no_set_at_all_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no golden set"):
        goldens.find([tmp_path])


def test_a_query_sees_what_its_tenant_knew(folder: Path) -> None:
    first, _, nobody = goldens.GoldenSet(folder).asked
    assert {memory.id for memory in first.memories} == SEEN
    assert not nobody.memories


def test_ages_count_from_the_query(folder: Path) -> None:
    asked = goldens.GoldenSet(folder).asked[0]
    hours = dict(zip([memory.id for memory in asked.memories], asked.hours.tolist(), strict=True))
    assert hours["cat"] == pytest.approx(33)
    assert hours["soon"] == 0
    assert hours["plain"] == pytest.approx(np.median([hours[name] for name in ("cat", "soon", "new", "old")]))


@pytest.mark.parametrize("name", WITHOUT_PACKAGES)
def test_no_system_sees_more(folder: Path, name: str) -> None:
    pytest.importorskip("bm25s")
    run = quality.SYSTEMS[name](goldens.GoldenSet(folder))
    assert len(run) == len(QUERIES)
    assert "new" in run[0]
    assert set(run[0]) <= SEEN
    assert len(run[0]) == len(set(run[0]))
    assert run[2] == []


@pytest.mark.parametrize("name", [name for name in quality.SYSTEMS if name not in WITHOUT_PACKAGES])
@pytest.mark.filterwarnings("default")
def test_the_real_packages_see_no_more(folder: Path, name: str) -> None:
    pytest.importorskip("langchain_classic" if name.startswith("langchain") else "llama_index.core")
    run = quality.SYSTEMS[name](goldens.GoldenSet(folder))
    assert "new" in run[0]
    assert set(run[0]) <= SEEN
    assert run[2] == []


def test_memrank_is_ranked_as_the_command_ranks(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    spec = ranking.PIPELINES / "agent-memory.yaml"
    arguments = ["run", str(spec), "--store", str(folder / "memories.jsonl"), "--rank-only", "--top-k", "50"]
    arguments += ["--queries", str(folder / "queries.jsonl"), "--out", str(out)]
    with pytest.raises(SystemExit) as ended:
        command(arguments)
    assert not ended.value.code
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    printed = [[item["id"] for item in row["results"]] for row in rows]
    assert ranking.memrank(goldens.GoldenSet(folder)) == printed


def test_time_switched_off_is_the_same_pipeline_otherwise() -> None:
    spec = ranking.default_spec()
    stages = {stage.kind: stage for stage in ranking.timeless(spec).stages}
    before = {stage.kind: stage for stage in spec.stages}
    assert stages["temporal.v1"].sensitivity == "time-agnostic"
    assert not stages["ranker.v1"].supersession.infer
    assert before["ranker.v1"].supersession.infer
    assert stages["prefilter.hybrid.v1"] == before["prefilter.hybrid.v1"]


def asked(**columns: list[float]) -> goldens.Asked:
    arrays = {name: np.array(values, dtype=np.float64) for name, values in columns.items()}
    n = len(arrays["similarity"])
    return goldens.Asked(
        id="q",
        text="q",
        now=0.0,
        memories=(),
        tenant=None,
        rows=np.arange(n),
        dated=np.ones(n, dtype=np.bool_),
        **arrays,
    )


def test_formulas_by_hand() -> None:
    given = asked(similarity=[1.0, 0.0], hours=[720.0, 0.0], unused_hours=[168.0, 0.0], importance=[0.5, 1.0])
    assert peers.crewai(given) == pytest.approx([0.5 + 0.15 + 0.1, 0.25 + 0.3 + 0.2])
    assert peers.redis_ams(given) == pytest.approx([0.8 + 0.2 * (0.6 * 0.5 + 0.4 * 0.5), 0.2])
    assert peers.generative_agents(given) == pytest.approx([0 + 0 + 1, 1 + 1 + 0])
    assert peers.halved(np.array([48.0]), 2.0) == pytest.approx([0.5])


def test_rank_fusion_rewards_agreement(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    golden = goldens.GoldenSet(folder)
    monkeypatch.setattr(peers, "words", lambda golden, k1, b: [one.similarity for one in golden.asked])
    assert peers.rrf(golden) == peers.dense(golden)


def measured(folder: Path, *systems: str) -> quality.SetResult:
    return quality.measure(goldens.GoldenSet(folder), systems, 50, {})


def test_the_difference_is_to_the_best_baseline(folder: Path) -> None:
    pytest.importorskip("bm25s")
    found = measured(folder, "memrank", "bm25", "dense", "crewai")
    changes = quality.differences(found.systems)
    for name, (change, rival) in changes.items():
        baselines = [found.systems[system][name].mean for system in ("bm25", "dense")]
        strongest = min(baselines) if name in metrics.LOWER_IS_BETTER else max(baselines)
        assert rival in ("bm25", "dense")
        assert change.mean == pytest.approx(found.systems["memrank"][name].mean - strongest)
    assert set(changes) >= {"nDCG@10", "current_first", "must_not@10", "empty_ok"}


def test_a_missing_package_is_reported_with_the_reason(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_classic", None)
    monkeypatch.setitem(sys.modules, "langchain_classic.retrievers", None)
    missing: dict[str, str] = {}
    found = quality.measure(goldens.GoldenSet(folder), ["dense", "langchain-time-weighted"], 20, missing)
    assert list(found.systems) == ["dense"]
    assert "langchain_classic" in missing["langchain-time-weighted"]
    said = quality.notes({"tiny": found}, missing)
    assert any(line.startswith("Not run: langchain-time-weighted: ") for line in said)


def test_the_table_in_all_its_forms(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder.parent / "second", MEMORIES, QUERIES)
    text, plain = tmp_path / "t.md", tmp_path / "t.json"
    arguments = ["quality.py", str(folder.parent), "--systems", "memrank,dense", "--resamples", "20"]
    monkeypatch.setattr(sys, "argv", [*arguments, "--markdown", str(text), "--json", str(plain)])
    quality.main()
    printed = capsys.readouterr()
    assert printed.err == ""
    for line in ("tiny", "second", quality.EVERY):
        assert f"\n{line} " in printed.out
        assert f"| {line} | dense (wordllama) |" in text.read_text(encoding="utf-8")
    body = json.loads(plain.read_text(encoding="utf-8"))
    values = body["sets"]["tiny"]["systems"]["dense"]["R@10"]
    assert values == {"mean": 1.0, "low": None, "high": None, "queries": 1}  # one query has no spread
    assert body["sets"]["tiny"]["memrank_minus_best_untrained"]["R@10"]["of"] == "dense"
    assert not math.isnan(body["sets"]["tiny"]["systems"]["memrank"]["nDCG@10"]["mean"])


def test_unknown_names_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["quality.py", str(folder), "--systems", "memrnak"])
    with pytest.raises(SystemExit, match="no system memrnak; there are: memrank"):
        quality.main()


def test_as_stated_only_stops_inferring() -> None:
    spec = ranking.default_spec()
    stages = {stage.kind: stage for stage in ranking.as_stated(spec).stages}
    before = {stage.kind: stage for stage in spec.stages}
    assert before["ranker.v1"].supersession.infer
    assert not stages["ranker.v1"].supersession.infer
    assert stages["temporal.v1"] == before["temporal.v1"]
