"""What pruning is worth, as a table and as a page: what must be read in it, and nothing of a text that steers."""

import re
from pathlib import Path

import pytest
from speaking import plain_analyzer
from talking import talk, written

from memrank.dialogue.prune import Limits
from memrank.evals.conversations import load_conversations
from memrank.evals.pruning import evaluate_pruning
from memrank.evals.pruningreport import PruningReport, versus
from memrank.render.pruning import CAUSES, meaning, pruning_text, versus_text
from memrank.render.pruningpage import pruning_page

EVIL = "Door? \x1b[31m<script>alert(1)</script> [bold]x[/bold]"


def made(folder: Path, limits: Limits, spec: str, *, talks: int = 12, question: bool = True) -> PruningReport:
    rows = [talk(f"t{k}", question=question, domain="home" if k % 2 else "work") for k in range(talks)]
    if question:
        rows[0]["moments"][0]["later"][0]["question"] = EVIL
    conversations = load_conversations(written(folder / "mine.jsonl", rows))
    return evaluate_pruning(conversations, limits, spec=spec, resamples=100, analyzer=plain_analyzer())


@pytest.fixture(scope="module")
def tight(tmp_path_factory: pytest.TempPathFactory) -> PruningReport:
    limits = Limits(max_tokens=50, keep_last_turns=0, drop_threshold=1.0)
    return made(tmp_path_factory.mktemp("talks"), limits, "tight")


@pytest.fixture(scope="module")
def loose(tmp_path_factory: pytest.TempPathFactory) -> PruningReport:
    limits = Limits(max_tokens=10_000, keep_last_turns=0, drop_threshold=1.0)
    return made(tmp_path_factory.mktemp("talks"), limits, "loose")


def test_the_table(tight: PruningReport) -> None:
    text = pruning_text(tight, width=None, colour=False)
    assert text.startswith("tight on mine, all parts: 12 conversations, 12 moments, 12 later questions\n")
    assert "gate: FAILED, answerable -1.000 [-1.000, -1.000] against the full context" in text
    assert "lost evidence, by why it went: no room in max_tokens (12)" in text
    assert re.search(r"on these conversations it would hold with max_tokens \d+: answerable 1\.000, tokens saved", text)
    assert re.search(r"^ +0\.000 .* home$", text, re.MULTILINE)
    assert "and 2 more, which are in --json" in text
    assert all(re.search(rf"^{re.escape(name)} ", text, re.MULTILINE) for name in tight.figures)
    assert all(meaning(name) for name in tight.figures)


def test_a_gate_that_holds(loose: PruningReport) -> None:
    text = pruning_text(loose, width=80, colour=False)
    assert "gate: passed, answerable 0.000 [0.000, 0.000] against the full context" in text
    assert not any(cause in text for cause in CAUSES.values())
    assert all(len(line) <= 80 for line in text.split("\n") if not line.startswith(("gate", "95", "max_tok", "loose")))


def test_no_questions(tmp_path: Path) -> None:
    report = made(tmp_path, Limits(), "silent", talks=2, question=False)
    assert "gate: FAILED, no moment has a later question" in pruning_text(report, width=None, colour=False)
    assert "No later question became unanswerable" in pruning_page([report])


def test_nothing_mends_it(tmp_path: Path) -> None:
    rows = [talk(f"t{k}") for k in range(3)]
    for row in rows:
        row["elements"][1]["superseded_by"] = "e4"
    conversations = load_conversations(written(tmp_path / "mine.jsonl", rows))
    limits = Limits(max_tokens=10_000, keep_last_turns=0)
    report = evaluate_pruning(conversations, limits, resamples=100, analyzer=plain_analyzer())
    text = pruning_text(report, width=None, colour=False)
    assert "taken for corrected or replaced (3)" in text
    assert "no threshold and no budget was found that mends it" in text


def test_texts_of_a_set_steer_nothing(tight: PruningReport) -> None:
    text, page = pruning_text(tight, width=None, colour=False), pruning_page([tight])
    assert "\x1b" not in text + page
    assert "[bold]x[/bold]" in text
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_side_by_side(tight: PruningReport, loose: PruningReport) -> None:
    found = versus(loose, tight)
    text = versus_text(loose, tight, found, width=None, colour=False)
    assert text.startswith(f"tight minus loose, paired; p corrected for {len(found)} measures\n")
    assert re.search(r"^answerable +-1\.000 .*higher at 0 moments, lower at 12", text, re.MULTILINE)


def test_the_page(tight: PruningReport, loose: PruningReport) -> None:
    page = pruning_page([loose, tight])
    assert page.startswith("<!doctype html>")
    assert "Pruning mine: loose, tight" in page
    assert "tight against loose" in page
    assert page.count("<svg") == 6
    assert page == pruning_page([loose, tight])
    assert len(re.findall("Later questions that only the full context answers</caption>", page)) == 1
