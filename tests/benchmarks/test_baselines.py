"""The tables of plain rules and of agreement in the READMEs of the golden sets are those that are computed."""

import shutil
from pathlib import Path

import baselines
import numpy as np
import pytest
import tables

from memrank.evals.evalset import load
from memrank.score.intervals import Bootstrap

EVALSETS = Path(__file__).resolve().parents[2] / "evalsets"
NAMES = ("agent-memory", "chat-context", "clinical", "finance", "news")


def test_the_tables_are_current(capsys: pytest.CaptureFixture[str]) -> None:
    baselines.main([*(str(EVALSETS / name) for name in NAMES), "--check"])
    assert capsys.readouterr().out == "all current\n"


def test_a_table_that_is_not_is_told_and_written_anew(tmp_path: Path) -> None:
    folder = tmp_path / "news"
    shutil.copytree(EVALSETS / "news", folder)
    whole = (folder / "README.md").read_text(encoding="utf-8")
    (folder / "README.md").write_text(whole.replace("| bm25 | hard | ", "| bm25 | hard | 1"), encoding="utf-8")
    with pytest.raises(SystemExit, match="not current"):
        baselines.main([str(folder), "--check"])
    baselines.main([str(folder)])
    assert (folder / "README.md").read_text(encoding="utf-8") == whole
    assert load(folder).notes == ()


def test_a_readme_without_the_blocks_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "news"
    shutil.copytree(EVALSETS / "news", folder)
    (folder / "README.md").write_text("Nothing.\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="0 blocks named baselines"):
        baselines.main([str(folder)])


def test_hard_and_everyday_queries_stand_apart_where_a_set_has_both() -> None:
    queries = load(EVALSETS / "news").queries
    places = baselines.kinds(queries)
    assert list(places) == ["hard", "everyday"]
    assert sorted([*places["hard"], *places["everyday"]]) == list(range(len(queries)))
    assert {queries[k].category for k in places["everyday"]} == {
        *("everyday", "everyday-several", "everyday-change", "everyday-none")
    }
    assert baselines.kinds([queries[k] for k in places["hard"]]) == {"all": list(range(len(places["hard"])))}


def test_figures_are_short() -> None:
    draws = Bootstrap(["a", "b"], seed=1, resamples=50)
    assert tables.figure(draws.estimate(np.array([np.nan, np.nan]))) == ""
    assert tables.figure(draws.estimate(np.array([0.25, np.nan]))) == ".250"
    assert tables.figure(draws.estimate(np.array([1.0, 1.0]))) == "1.000 [1.00, 1.00]"
