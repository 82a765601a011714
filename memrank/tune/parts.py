"""The three parts of a golden set that compiling needs, whether they are large enough, and whether labels leak.

Settings are searched for on `fit`, decided on by `choose`, shown on `report`; a set without parts is split by group.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memrank.errors import DataError
from memrank.evals.evalset import Evalset, groups
from memrank.evals.labels import Labelled
from memrank.slate import Slate
from memrank.stages.ranker import judged_columns
from memrank.types import Bools, Floats

SHARES = {"fit": 0.5, "choose": 0.25, "report": 0.25}
"""Of the groups, where a set names no parts."""
FEWEST_GROUPS = 4
FEWEST_QUERIES = 20
"""In each part, with something relevant: with fewer no interval says anything."""
PERFECT = 0.999
LEAST_PAIRS = 200
"""Candidates that are not relevant from which on a feature that is never wrong is suspicious."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Queries by their part."""

    fit: tuple[Labelled, ...]
    choose: tuple[Labelled, ...]
    report: tuple[Labelled, ...]
    drawn: bool
    """Whether the parts were drawn here, by a seed, since the set names none."""


def parts_of(evalset: Evalset, seed: int) -> Parts:
    """The parts of a set. Raises DataError for one that is too small, with the size that is needed."""
    stated = any(query.split is not None for query in evalset.queries)
    found: Mapping[str, Sequence[Labelled]]
    if stated:
        found = {"fit": evalset.part("fit"), "choose": evalset.part("choose"), "report": evalset.part("report")}
    else:
        found = _drawn(evalset.queries, seed)
    for name, queries in found.items():
        _large_enough(evalset, name, queries, stated)
    return Parts(
        fit=tuple(found["fit"]), choose=tuple(found["choose"]), report=tuple(found["report"]), drawn=not stated
    )


def _drawn(queries: Sequence[Labelled], seed: int) -> dict[str, list[Labelled]]:
    of = groups(queries)
    names = sorted(set(of))
    order = np.random.default_rng(seed).permutation(len(names)).tolist()
    ends = np.cumsum([round(share * len(names)) for share in SHARES.values()])
    place = {names[group]: int(np.searchsorted(ends[:-1], rank, side="right")) for rank, group in enumerate(order)}
    found: dict[str, list[Labelled]] = {name: [] for name in SHARES}
    for query, group in zip(queries, of, strict=True):
        found[list(SHARES)[place[group]]].append(query)
    return found


def _large_enough(evalset: Evalset, name: str, queries: Sequence[Labelled], stated: bool) -> None:
    answerable = [query for query in queries if query.relevant]
    several = len(set(groups(answerable))) if answerable else 0
    if len(answerable) >= FEWEST_QUERIES and several >= FEWEST_GROUPS:
        return
    whole = "" if stated else f" (the set names no parts, so its groups were drawn {SHARES})"
    raise DataError(
        f"{evalset.folder}: the part {name} has {len(answerable)} queries with an answer, in {several} groups{whole}: "
        f"too few to compile on",
        hint=f"at least {FEWEST_QUERIES} in {FEWEST_GROUPS} groups in each of fit, choose and report",
    )


def leaks(slates: Sequence[tuple[Labelled, Slate]]) -> list[str]:
    """Names of what tells relevant memories from all others without fail: columns, and the order of ids.

    No honest feature does; one that does was made from the labels, or the set is no test.
    """
    sums: dict[str, list[float]] = {}
    others = 0
    for query, slate in slates:
        ids = [slate.memory(k).id for k in range(len(slate))]
        true = np.array([name in query.relevant for name in ids], dtype=np.bool_)
        if not true.any() or true.all():
            continue
        others += int((~true).sum())
        rank = np.empty(len(ids))
        rank[np.argsort(np.array(ids), kind="stable")] = np.arange(len(ids))
        for name, column in {**judged_columns(slate), "the order of ids": rank}.items():
            sums.setdefault(name, []).append(_auc(column, true))
    if others < LEAST_PAIRS:
        return []
    means = {name: float(np.mean(values)) for name, values in sums.items()}
    return sorted(name for name, mean in means.items() if max(mean, 1.0 - mean) > PERFECT)


def _auc(column: Floats, true: Bools) -> float:
    """Share of pairs in which the relevant one is higher; ties count half."""
    yes, no = column[true][:, None], column[~true][None, :]
    return float(((yes > no) + 0.5 * (yes == no)).mean())
