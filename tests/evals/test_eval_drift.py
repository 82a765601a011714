"""Whether calibration still holds: what was logged against what reviews said since."""

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reading import pipeline, read, record

from memrank.evals.drift import FEWEST_GROUPS, Drift, drift
from memrank.pipeline import Pipeline
from memrank.spec import Spec
from memrank.stores import readlog_review as review
from memrank.stores.readlog import ReadLog
from memrank.stores.readlog_labels import labelled_reads
from memrank.stores.readlog_review import Labels

BEFORE, AT = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
ROWS = [record(name) for name in "abcd"]
ALL = {"top_score_below": 1.0}
"""Every read asks for a person."""


def logged(folder: Path, said: dict[str, float], **more: Any) -> Pipeline:
    given = {"review": ALL, "relevance": said, "ranker": {"weights": {"relevance": 1.0}}, **more}
    return pipeline(reads={"log": str(folder / "log.db")}, **given)


def reviewed(folder: Path, reads: int, right: float, *, said: float = 0.9, at: datetime = AT, **more: Any) -> ReadLog:
    """Reads whose first three results are said to be relevant by `said`; a share `right` of them is, by a person."""
    of = logged(folder, {"a": said, "b": said - 0.01, "c": said - 0.02, "d": 0.0}, **more)
    rng = np.random.default_rng(5)
    ids = [read(of, ROWS, f"rate {k}").meta.read_id for k in range(reads)]
    assert of.close() is None
    log = ReadLog(folder / "log.db")
    for read_id in ids:
        relevant = tuple(name for name in "abc" if rng.uniform() < right)
        found = review.find(log, read_id)
        review.decide(log, found, "edited", at=at, who=None, comment=None, labels=Labels(relevant=relevant))
    return log


def looked(log: ReadLog, spec: Spec | None = None, since: float = 0.0, **more: Any) -> Drift:
    return drift(log, since, spec, resamples=200, **more)


def test_what_is_as_true_as_it_was_said_holds(tmp_path: Path) -> None:
    found = looked(reviewed(tmp_path, 60, 0.89))
    assert (found.verdict, found.reads, found.groups, found.pairs) == ("holds", 60, 60, 180)
    assert found.p > 0.05
    assert found.ece.low <= found.ece.value <= found.ece.high
    assert found.said == pytest.approx(0.89)
    assert found.mended is None


def test_what_is_true_less_often_is_broken_and_says_how_it_would_be_mended(tmp_path: Path) -> None:
    found = looked(reviewed(tmp_path, 60, 0.5))
    assert found.verdict == "broken"
    assert found.p < 0.01
    assert found.ece.value == pytest.approx(found.said - found.relevant / found.pairs)
    assert found.brier.value > 0.3
    assert found.mended is not None
    assert found.mended.method == "platt"
    assert looked(reviewed(tmp_path, 0, 0.5), max_ece=0.6).verdict == "holds"


def test_labels_that_are_all_alike_are_tested_too(tmp_path: Path) -> None:
    found = looked(reviewed(tmp_path, 30, 0.0))
    assert (found.verdict, found.relevant, found.mended) == ("broken", 0, None)


def test_too_few_labels_tell_nothing(tmp_path: Path) -> None:
    found = looked(reviewed(tmp_path, FEWEST_GROUPS - 1, 0.0))
    assert found.verdict == "unknown"
    assert found.pairs == 3 * (FEWEST_GROUPS - 1)


def test_a_log_without_decisions_tells_nothing(tmp_path: Path) -> None:
    of = logged(tmp_path, dict.fromkeys("abcd", 0.5))
    read(of, ROWS)
    assert of.close() is None
    found = looked(ReadLog(tmp_path / "log.db"), of.spec)
    assert (found.verdict, found.reads, found.pairs) == ("unknown", 0, 0)
    assert all(map(math.isnan, (found.said, found.p, found.ece.value, found.brier.value)))


def test_only_what_was_decided_since_counts(tmp_path: Path) -> None:
    log = reviewed(tmp_path, 40, 0.0, at=BEFORE)
    assert looked(log).verdict == "broken"
    assert looked(log, since=BEFORE.timestamp()).reads == 40
    assert looked(log, since=BEFORE.timestamp() + 1).reads == 0


def test_reads_that_were_judged_otherwise_are_counted_apart(tmp_path: Path) -> None:
    mended = {"weights": {"relevance": 1.0}, "calibration": {"method": "platt", "slope": 1.0, "intercept": -2.0}}
    log = reviewed(tmp_path, 40, 0.0)
    plain = logged(tmp_path, {}).spec
    other = logged(tmp_path, {}, ranker=mended).spec
    assert (looked(log, plain).reads, looked(log, plain).others) == (40, 0)
    assert (looked(log, other).reads, looked(log, other).others) == (0, 40)
    assert looked(log, plain.model_copy(update={"description": "changed"})).reads == 40


def labels(folder: Path, decide: Any, **more: Any) -> dict[str, bool]:
    of = logged(folder, {"a": 0.9, "b": 0.7, "c": 0.5, "d": 0.3}, **more)
    read_id = read(of, ROWS).meta.read_id
    assert of.close() is None
    log = ReadLog(folder / "log.db")
    decide(log, review.find(log, read_id))
    return {found.kept.candidates[k].id: y for found in labelled_reads(log, 0.0) for k, y in found.labels.items()}


@pytest.mark.parametrize(
    ("decision", "said", "wanted"),
    [
        ("accepted", None, {"a": True, "b": True, "c": True}),
        ("rejected", None, {}),
        ("edited", Labels(relevant=("b", "d")), {"a": False, "b": True, "c": False, "d": True}),
        ("edited", Labels(stale=("a",)), {"a": False, "b": False, "c": False}),
        ("edited", Labels(relevant=("a",), must_not=("a",)), {"a": False, "b": False, "c": False}),
    ],
)
def test_what_a_decision_says_of_memories(
    decision: Any, said: Labels | None, wanted: dict[str, bool], tmp_path: Path
) -> None:
    def decide(log: ReadLog, found: Any) -> None:
        review.decide(log, found, decision, at=AT, who=None, comment=None, labels=said)

    assert labels(tmp_path, decide) == wanted


def test_what_was_left_out_helps_where_that_was_wrong(tmp_path: Path) -> None:
    def decide(log: ReadLog, found: Any) -> None:
        for item in found:
            decision: Any = {"c": "rejected", "d": "accepted"}.get(item.subject or "", "undecided")
            review.decide(log, [item], decision, at=AT, who=None, comment=None)

    ranker = {"weights": {"relevance": 1.0}, "relevance_threshold": 0.6}
    assert labels(tmp_path, decide, high_stakes=True, ranker=ranker) == {"c": True, "d": False}


def test_a_memory_that_no_longer_holds_does_not_help(tmp_path: Path) -> None:
    def decide(log: ReadLog, _: Any) -> None:
        checks = [item for item in review.items(log, undecided=True) if item.kind == "check"]
        assert {item.subject for item in checks} == {"a", "b"}
        for item in checks:
            decision: Any = "rejected" if item.subject == "b" else "accepted"
            review.decide(log, [item], decision, at=AT, who=None, comment=None)

    assert labels(tmp_path, decide, review={**ALL, "check_older_than": "1h"}) == {"b": False}


def test_each_class_of_question_is_looked_at_apart(tmp_path: Path) -> None:
    found = looked(reviewed(tmp_path, 60, 0.5))
    (only,) = found.by_class.values()
    assert (only.verdict, only.reads, only.pairs, only.relevant) == ("broken", found.reads, found.pairs, found.relevant)
    assert (only.ece, only.p) == (found.ece, found.p)


def test_a_class_that_is_broken_stands_out_where_the_whole_holds(tmp_path: Path) -> None:
    of = logged(tmp_path, {"a": 0.9, "b": 0.0, "c": 0.0, "d": 0.0}, temporal={"sensitivity": "auto"})
    asked = [f"rate {k}" for k in range(100)] + [f"what is the rate {k} right now" for k in range(30)]
    ids = [(read(of, ROWS, query).meta, k) for k, query in enumerate(asked)]
    assert of.close() is None
    log = ReadLog(tmp_path / "log.db")
    for meta, k in ids:
        labels = Labels(relevant=() if k >= 100 else ("a",))
        review.decide(log, review.find(log, meta.read_id), "edited", at=AT, who=None, comment=None, labels=labels)
    found = looked(log, max_ece=0.5)
    kinds = {name: held.verdict for name, held in found.by_class.items()}
    assert found.verdict == "holds"
    assert sorted(kinds.values()) == ["broken", "holds"], kinds
    assert sum(held.pairs for held in found.by_class.values()) == found.pairs
    assert math.isfinite(max(held.p for held in found.by_class.values()))
