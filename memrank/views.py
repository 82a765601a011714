"""The answer in the field names of other documents. Each view is filled from the same result; floats are whole."""

from collections.abc import Callable, Mapping
from itertools import chain

import numpy as np

from memrank.errors import UsageError
from memrank.result import Item, Result, iso
from memrank.score.pack import decay_class
from memrank.spec import PrunerSpec, Spec

RECOMMENDED = {"keep_full": "retain", "summarize": "compress", "drop": "drop", "overwrite": "overwrite"}
RETENTION = {"keep_full": "keep_full", "summarize": "summarize", "drop": "drop", "overwrite": "drop"}
CLASSES = ("critical", "high", "medium", "low", "expired")

Rows = list[dict[str, object]]


def memory_read(result: Result, *, include_excluded: bool = False) -> dict[str, object]:
    """The passing entries, best first, then the excluded ones if they are wanted; counts.

    `stale` means excluded for its age, as `stale_count` counts it.
    """
    shown = _judged(result) if include_excluded else result.results
    meta = result.meta
    return {
        "query": result.query.text,
        "ranked_results": [
            {
                "entry_id": item.id,
                "relevance_score": item.scores["relevance"],
                "recency_score": item.scores["freshness"],
                "composite_score": item.score,
                "justification": item.justification,
                "excluded": item.reason is not None,
                "stale": item.reason == "stale",
            }
            for item in shown
        ],
        "retrieval_metadata": {
            "total_candidates": meta.total_candidates,
            "returned_count": meta.returned_count,
            "excluded_count": meta.excluded_count,
            "stale_count": meta.stale_count,
        },
    }


def memory_list(result: Result) -> Rows:
    """The returned memories, best first."""
    return [
        {
            "memory_id": item.id,
            "relevance_score": item.scores["relevance"],
            "recency_score": item.scores["freshness"],
            "combined_score": item.score,
            "relevance_justification": item.justification,
        }
        for item in result.results
    ]


def passages(result: Result) -> dict[str, object]:
    """Every judged passage, the returned ones by rank and then the excluded ones with a combined score of 0; a summary.

    `date_used` is the instant that the age counts from: of a coarse date, the end of its period.
    """
    return {
        "query_id": result.query.id,
        "scored_passages": [
            {
                "passage_id": item.id,
                "semantic_relevance": item.scores["relevance"],
                "temporal_freshness": item.scores["freshness"],
                "combined_score": item.score,
                "excluded": item.reason is not None,
                "reasoning": item.justification,
                "decay_function_applied": item.kernel,
                "date_used": iso(item.date_used),
                "flags": list(item.flags),
            }
            for item in _judged(result)
        ],
        "scoring_summary": {
            "total_passages": result.meta.total_candidates,
            "excluded_count": result.meta.excluded_count,
            "top_passage_id": result.results[0].id if result.results else None,
            "score_distribution": dict(result.meta.score_distribution),
        },
    }


def passage_list(result: Result) -> Rows:
    """The returned passages, best first. The time decay factor is the freshness as code computes it."""
    return [
        {
            "passage_id": item.id,
            "relevance_score": item.scores["relevance"],
            "freshness_score": item.scores["freshness"],
            "combined_score": item.score,
            "time_decay_factor": item.scores["freshness"] if item.recency is None else item.recency,
            "rationale": item.justification,
            "stale_flag": item.stale_flag,
        }
        for item in result.results
    ]


def elements(result: Result, spec: Spec) -> dict[str, object]:
    """Every judged element with its decay class (1 critical to 5 expired) and the action finally taken.

    Raises UsageError where no pruner ran.
    """
    return {
        "scored_elements": [
            {
                "element_id": item.id,
                "decay_score": number,
                "rationale": _rationale(item, number),
                "recommended_action": RECOMMENDED[action],
                "decay": decay,
                "recommended_retention": RETENTION[action],
            }
            for item, number, decay, action in _decayed(result, spec, "elements")
        ]
    }


def element_list(result: Result, spec: Spec) -> dict[str, object]:
    """Every judged element with its decay as a number from 0 to 1. Raises UsageError where no pruner ran."""
    return {
        "decay_scores": [
            {
                "context_id": item.id,
                "decay_score": decay,
                "recommended_retention": RETENTION[action],
                "rationale": _rationale(item, number),
            }
            for item, number, decay, action in _decayed(result, spec, "element-list")
        ]
    }


View = Callable[[Result, Spec], object]

VIEWS: Mapping[str, View] = {
    "memory-read": lambda result, _: memory_read(result),
    "memory-list": lambda result, _: memory_list(result),
    "passages": lambda result, _: passages(result),
    "passage-list": lambda result, _: passage_list(result),
    "elements": elements,
    "element-list": element_list,
}
"""Name on the command line to the view. `memory_read` also stands alone, for `include_excluded`."""


def _judged(result: Result) -> tuple[Item, ...]:
    return tuple(chain(result.results, result.excluded))


def _decayed(result: Result, spec: Spec, view: str) -> list[tuple[Item, int, float, str]]:
    """Each judged item with its class, its decay and its action."""
    judged = _judged(result)
    decays = [(item.decay, item.action) for item in judged]
    known = [(decay, action) for decay, action in decays if decay is not None and action is not None]
    if not result.pruned or len(known) < len(judged):
        hint = "leave out --rank-only, and see that the spec has a pruner.v1 stage"
        raise UsageError(f"the view {view} shows what the pruner decided, and no pruner ran", hint=hint)
    pruner = next((stage for stage in spec.stages if isinstance(stage, PrunerSpec)), PrunerSpec(kind="pruner.v1"))
    classes = decay_class(
        np.array([decay for decay, _ in known], dtype=np.float64),
        np.array(["superseded" in item.flags for item in judged], dtype=np.bool_),
        keep_below=pruner.keep_below,
        summarize_from=pruner.decay_threshold,
        drop_from=pruner.drop_threshold,
    ).tolist()
    return [(item, number, *pair) for item, number, pair in zip(judged, classes, known, strict=True)]


def _rationale(item: Item, number: int) -> str:
    """Why the element decayed as it did, and why its action is another one than its class asks for."""
    parts = [f"{CLASSES[number - 1]}: {item.justification}"]
    parts.extend(f"overwritten by {one.by}" for one in item.adjustments if one.code == "superseded" and one.by)
    if "protected" in item.flags:
        parts.append("protected")
    if item.reason is not None:
        parts.append(f"excluded: {item.reason}")
    elif item.planned != item.action:
        parts.append(f"the budget turned {item.planned} into {item.action}")
    return "; ".join(parts)
