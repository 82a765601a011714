"""Outcomes, labels and reports of evaluations for tests."""

from collections.abc import Mapping, Sequence

import numpy as np

from memrank.evals.labels import Labelled, read_labels
from memrank.evals.outcome import Failed, Judged, Outcome, Scored
from memrank.evals.report import Decile, Figure, GateResult, Report
from memrank.queryrows import Row


def judged(*, relevant: Sequence[bool] = (True, False, False), ids: Sequence[str] = ()) -> Judged:
    """As many memories as `relevant` has, the first ones the best; the last one is excluded and undated."""
    n = len(relevant)
    falling = np.linspace(0.9, 0.1, n)
    ages = np.arange(n, dtype=np.float64) * 10
    if n:
        ages[-1] = np.nan
    return Judged(
        ids=tuple(ids) or tuple(f"m{k}" for k in range(n)),
        relevance=falling,
        freshness=falling,
        score=falling,
        age_days=ages,
        relevant=np.array(relevant, dtype=np.bool_),
        returned=max(0, n - 1),
    )


def scored(
    query_id: str, values: Mapping[str, float], *, latency_ms: float = 5.0, why: str = "shares a word", **more: object
) -> Scored:
    """A read that was compared with its labels."""
    top = (("m0", 0.9, why), ("m1", 0.5, why))
    return Scored(
        **{"query_id": query_id, "values": values, "judged": judged(), "latency_ms": latency_ms, "top": top} | more  # type: ignore[arg-type]
    )


def failed(query_id: str, values: Mapping[str, float], message: str = "no such tenant") -> Failed:
    """A read that raised."""
    return Failed(query_id=query_id, values=values, code="namespace", message=message)


def labelled(query_id: str, query: str = "which rate?", **fields: object) -> Labelled:
    """A golden query; `m0` is relevant where nothing else is said."""
    given = {"id": query_id, "query": query, "relevant": ["m0"], **fields}
    return read_labels(Row(id=query_id, fields=given, notes=()), query_id)


def report(outcomes: Sequence[Outcome], **more: object) -> Report:
    """A report on these outcomes; its figures are no means of theirs."""
    gate = GateResult(metric="P@3", value=0.5, low=0.85, high=None, passed=False)
    figures = {"nDCG@10": Figure(value=0.7, low=0.6, high=0.8, n=9), "P@3": Figure(value=0.5, low=0.4, high=0.6, n=4)}
    values: dict[str, object] = {
        "evalset": "golden",
        "part": "report",
        "spec": "first",
        "spec_sha256": "a" * 64,
        "queries_sha256": "b" * 64,
        "store_version": "c" * 64,
        "seed": 7,
        "resamples": 200,
        "unit": "split_group",
        "queries": len(outcomes),
        "scored": sum(isinstance(one, Scored) for one in outcomes),
        "failed": sum(isinstance(one, Failed) for one in outcomes),
        "unscored": 0,
        "figures": figures,
        "by_category": {"prices": figures},
        "deciles": (Decile(low=0.5, high=0.6, mean=0.55, share=0.5, n=10),),
        "gates": (gate,),
        "outcomes": tuple(outcomes),
    }
    return Report(**values | more)  # type: ignore[arg-type]
