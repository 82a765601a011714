"""Cases: what a predictor is asked in one call, and what the labels say of it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dspy
import numpy as np

from memrank.errors import MemrankError
from memrank.evals.evalset import groups
from memrank.evals.labels import Labelled
from memrank.pipeline import Pipeline
from memrank.slate import Slate
from memrank.stages.lm.asking import shuffled
from memrank.stages.lm.embedded import EmbeddedFreshness
from memrank.stages.lm.showing import Shown, names, shown, shown_query
from memrank.stages.lm.signatures import (
    FreshnessJudgement,
    MemoryRanking,
    PassageFreshness,
    PeriodView,
    QuerySensitivity,
    RelevanceJudgement,
)
from memrank.stages.ranker import embedded_relevance
from memrank.text.sensitivity import read_time
from memrank.types import TimeOfQuery

BATCH = 6
"""Candidates of one case at the most: few and telling ones; the labelled first, then the likeliest others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One call. No text of a memory that tries to instruct its judge is in it: demos are made of cases."""

    id: str
    group: str
    """Cases of one group stand on one side of a split."""
    inputs: Mapping[str, Any] = field(repr=False)
    """The input fields of the signature, without `faults`."""
    outputs: Mapping[str, Any] = field(repr=False)
    """The right answer."""
    by_code: Mapping[str, Any] = field(repr=False)
    """What the judge by code answers."""
    labels: Mapping[str, float] = field(default_factory=dict)
    """What the labels say of each memory shown, in [0, 1]."""

    def example(self) -> dspy.Example:
        """As optimizers take it: the case by its id, and the fields, of which demos are made."""
        fields = {"case": self.id, **self.inputs, "faults": [], **self.outputs}
        return dspy.Example(**fields).with_inputs("case", *self.inputs, "faults")


def cases_of(
    signature: type[dspy.Signature], pipeline: Pipeline, queries: Sequence[Labelled], *, batch: int = BATCH
) -> list[Case]:
    """The cases of queries, in their order; queries that say nothing of what this predictor is asked make none.

    A query that cannot be read is left out.
    """
    base = _base(signature)
    if base is None:
        return []
    of = {MemoryRanking: _ranking, QuerySensitivity: _timing, PassageFreshness: _passages}[base]
    found: list[Case] = []
    for query, group in zip(queries, groups(queries), strict=True):
        if not query.annotated:
            continue
        try:
            slate = pool(pipeline, query)
        except MemrankError:
            continue
        case = of(query, group, slate, batch)
        if case is not None:
            found.append(case)
    return found


def _base(signature: type[dspy.Signature]) -> type[dspy.Signature] | None:
    """The class of ours that a signature is made of: one with other instructions is a class of its own."""
    for known in (MemoryRanking, QuerySensitivity, PassageFreshness):
        if signature.fields.keys() == known.fields.keys():
            return known
    return None


def known(signature: type[dspy.Signature]) -> bool:
    """Whether labels say anything of what a predictor of this signature is asked."""
    return _base(signature) is not None


def pool(pipeline: Pipeline, query: Labelled) -> Slate:
    """The candidates of a golden query as the prefilter leaves them. Raises MemrankError."""
    asked = query.asked
    return pipeline.candidates(asked["query"], as_of=asked.get("as_of"), namespace=asked.get("namespace"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortlist:
    """Some candidates of a pool, as they are shown."""

    places: Mapping[str, int]
    """Name in the prompt to place in the slate, in the order in which they are shown."""
    views: Mapping[str, Shown]


def shortlist(slate: Slate, chosen: Sequence[int]) -> Shortlist:
    """These candidates without those that try to instruct, shuffled by a digest of the query."""
    ids = [slate.memory(k).id for k in chosen]
    place = dict(zip(names(ids), chosen, strict=True))
    views = {name: shown(slate.memory(k), name) for name, k in place.items()}
    order = shuffled([name for name, one in views.items() if not one.suspected], slate.query.text)
    return Shortlist(places={name: place[name] for name in order}, views=views)


def relevance_label(query: Labelled, identity: str) -> float:
    """What was given by hand, else 1 for what speaks to the question and 0 for the rest."""
    pair = query.scores.get(identity)
    if pair is not None and pair.relevance is not None:
        return pair.relevance
    return float(query.fits(identity))


def _ranking(query: Labelled, group: str, slate: Slate, batch: int) -> Case | None:
    first = embedded_relevance(slate)
    told = query.relevant.keys() | query.stale | query.scores.keys() | query.must_not
    likely = np.lexsort((slate.tenant.id_order[slate.rows], -first)).tolist()
    labelled = [k for k in likely if slate.memory(k).id in told]
    others = [k for k in likely if slate.memory(k).id not in told]
    # At least a third are others: without them there is nothing to be told apart.
    chosen = labelled[: max(batch - len(others), batch - batch // 3)]
    listed = shortlist(slate, [*chosen, *others][:batch])
    if len(listed.places) < 2:
        return None
    labels = {name: relevance_label(query, slate.memory(k).id) for name, k in listed.places.items()}
    said = {name: round(float(first[k]), 3) for name, k in listed.places.items()}
    return Case(
        id=query.id,
        group=group,
        inputs={"query": shown_query(slate.query), "memories": [listed.views[name].view for name in labels]},
        outputs={"judgements": [_judged(name, label) for name, label in labels.items()]},
        by_code={"judgements": [_judged(name, value) for name, value in said.items()]},
        labels=labels,
    )


def _judged(name: str, relevance: float) -> RelevanceJudgement:
    if relevance >= 0.85:
        why = "states what is asked"
    elif relevance >= 0.5:
        why = "states a part of it, or an older value"
    elif relevance >= 0.25:
        why = "same subject, not what is asked"
    else:
        why = "says nothing of what is asked"
    return RelevanceJudgement(id=name, relevance=relevance, justification=why)


def _timing(query: Labelled, group: str, slate: Slate, _batch: int) -> Case | None:
    if query.sensitivity is None:
        return None
    asked = slate.query
    rules = read_time(asked.text, asked.as_of)
    period = _period(rules)
    code = {"sensitivity": rules.sensitivity.value, "period": period, "asks_previous": rules.asks_previous}
    return Case(
        id=query.id,
        group=group,
        inputs={"query": shown_query(asked).text, "as_of": asked.as_of.isoformat()},
        outputs={"sensitivity": query.sensitivity.value, "period": period, "asks_previous": query.asks_previous},
        by_code=code,
    )


def _passages(query: Labelled, group: str, slate: Slate, batch: int) -> Case | None:
    told = {name: pair.freshness for name, pair in query.scores.items() if pair.freshness is not None}
    chosen = [k for k in range(len(slate)) if slate.memory(k).id in told][:batch]
    listed = shortlist(slate, chosen)
    if not listed.places:
        return None
    labels = {name: told[slate.memory(k).id] for name, k in listed.places.items()}
    views = [listed.views[name].view for name in labels]
    time = read_time(slate.query.text, slate.query.as_of)
    sensitivity = query.sensitivity.value if query.sensitivity is not None else time.sensitivity.value
    inputs = {
        "query": shown_query(slate.query),
        "sensitivity": sensitivity,
        "period": _period(time),
        "passages": views,
    }
    judged = [FreshnessJudgement(id=name, freshness=value, rationale="by its date") for name, value in labels.items()]
    code = EmbeddedFreshness(PassageFreshness).answer(**inputs)
    return Case(id=query.id, group=group, inputs=inputs, outputs={"judgements": judged}, by_code=code, labels=labels)


def _period(time: TimeOfQuery) -> PeriodView | None:
    if time.period is None:
        return None
    start, end = (None if one is None else one.isoformat() for one in (time.period.start, time.period.end))
    return PeriodView(start=start, end=end)


def drawn(cases: Sequence[Case], most: int, seed: int) -> list[Case]:
    """At most so many of the cases, by a digest of the seed and their ids, whatever order they are given in."""
    return sorted(cases, key=lambda case: _digest(seed, case.id))[:most]


def split(cases: Sequence[Case], seed: int, *, share: float = 0.4) -> tuple[list[Case], list[Case]]:
    """Cases to learn from and cases to validate on, `share` of them about; no group is on both sides."""
    sizes: dict[str, int] = {}
    for case in cases:
        sizes[case.group] = sizes.get(case.group, 0) + 1
    held: set[str] = set()
    count = 0
    for group in sorted(sizes, key=lambda one: _digest(seed, one))[: max(0, len(sizes) - 1)]:
        if count >= share * len(cases):
            break
        held.add(group)
        count += sizes[group]
    return [case for case in cases if case.group not in held], [case for case in cases if case.group in held]


def _digest(seed: int, text: str) -> bytes:
    return hashlib.sha256(f"{seed}\n{text}".encode("utf-8", "surrogatepass")).digest()
