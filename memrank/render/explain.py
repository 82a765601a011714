"""For `--explain`: each result and each excluded item with its evidence and the whole sum, to be followed by hand."""

from math import prod

from memrank.render.freshness import freshness_text, number, setting, span
from memrank.render.heading import heading_lines
from memrank.result import Adjustment, Item, Result
from memrank.spec import PrunerSpec, RankerSpec, Spec, TemporalSpec
from memrank.text.counted import counted
from memrank.text.inert import clip

CONTENT = 100
"""Characters of a memory's text that are shown."""
LABEL = 80
EVIDENCE = 400


def explain_text(result: Result, spec: Spec) -> str:
    """Plain text; numbers to 4 places, what the spec sets to 6 digits. No line break at the end."""
    ranker = next(stage for stage in spec.stages if isinstance(stage, RankerSpec))
    temporal = next(stage for stage in spec.stages if isinstance(stage, TemporalSpec))
    pruner = next((stage for stage in spec.stages if isinstance(stage, PrunerSpec)), None)

    def block(item: Item) -> list[str]:
        lines = [
            f"text        {clip(item.content, CONTENT)}",
            f"{'model says' if item.judged_by == 'lm' else 'evidence':<11} {clip(item.justification, EVIDENCE)}",
            f"time        {freshness_text(item, result, temporal)}",
            *(_product(item) if result.combine == "bounded" else _sum(item)),
            *_score(item, ranker, pruner),
            *_actions(item),
            *([f"flags       {', '.join(item.flags)}"] if item.flags else []),
        ]
        return [_title(item), *(f"   {line}".rstrip() for line in lines)]

    judged = (*result.results, *result.excluded)
    blocks = [heading_lines(result), *(map(block, judged) if judged else [["no memory was judged"]])]
    return "\n\n".join("\n".join(lines) for lines in blocks)


def _title(item: Item) -> str:
    label = clip(item.id, LABEL)
    kind = f" ({clip(item.memory_type, LABEL)})" if item.memory_type else ""
    if item.reason is None:
        return f"{item.rank}. {label}{kind}: score {number(item.score)}"
    return f"excluded: {label}{kind}: {item.reason}"


def _sum(item: Item) -> list[str]:
    """weight x part, one a line, and their sum; parts without a weight stand last."""
    lines = [
        f"{name:<11} {number(item.scores[name])} x {setting(weight)} = {number(item.scores[name] * weight)}"
        for name, weight in item.weights.items()
    ]
    terms = " + ".join(number(item.scores[name] * weight) for name, weight in item.weights.items())
    return [*lines, *_unweighted(item, set(item.weights)), f"raw_score   {terms} = {number(item.raw_score)}"]


def _product(item: Item) -> list[str]:
    """Relevance times one boost a part, at most 1."""
    boosts = {name: 1.0 + alpha * (item.scores[name] - 0.5) for name, alpha in item.weights.items()}
    relevance = item.scores["relevance"]
    lines = [f"{'relevance':<11} {number(relevance)}"]
    lines += [
        f"{name:<11} 1 + {setting(alpha)} x ({number(item.scores[name])} - 0.5) = {number(boosts[name])}"
        for name, alpha in item.weights.items()
    ]
    terms = " x ".join(map(number, (relevance, *boosts.values())))
    whole = relevance * prod(boosts.values())
    capped = f"min(1, {number(whole)}) = " if whole > 1.0 else ""
    shown = {"relevance", *item.weights}
    return [*lines, *_unweighted(item, shown), f"raw_score   {terms} = {capped}{number(item.raw_score)}"]


def _unweighted(item: Item, shown: set[str]) -> list[str]:
    return [f"{name:<11} {number(value)}, not weighted" for name, value in item.scores.items() if name not in shown]


def _score(item: Item, ranker: RankerSpec, pruner: PrunerSpec | None) -> list[str]:
    """From raw_score to score: the adjustments, or why it is 0."""
    if item.reason is not None:
        return [f"score       0: {_reason(item, ranker, pruner)}"]
    if not item.adjustments:
        return [f"score       {number(item.score)} = raw_score"]
    factors = "".join(map(_factor, item.adjustments))
    return [f"score       {number(item.raw_score)}{factors} = {number(item.score)}"]


def _factor(adjustment: Adjustment) -> str:
    by = f" by {clip(adjustment.by, LABEL)}" if adjustment.by else ""
    return f" x {number(adjustment.factor)} ({adjustment.code}{by})"


def _reason(item: Item, ranker: RankerSpec, pruner: PrunerSpec | None) -> str:
    """Which rule excluded it, with the numbers that the rule compared."""
    age, most = item.age_seconds or 0.0, ranker.stale_after
    match item.reason:
        case "below_relevance":
            relevance, least = number(item.scores["relevance"]), setting(ranker.relevance_threshold)
            return f"relevance {relevance} is below relevance_threshold {least}"
        case "stale" if item.stale_flag and most is not None and age > most:
            return f"age {span(age)} is above stale_after {span(most)}"
        case "stale" if item.planned == "overwrite" and item.adjustments:
            return f"replaced by {clip(item.adjustments[0].by or 'a newer memory', LABEL)}"
        case "below_min_score" if item.raw_score >= ranker.min_score and pruner is not None and item.decay is not None:
            return f"decay {number(item.decay)} reaches drop_threshold {setting(pruner.drop_threshold)}"
        case "below_min_score":
            return f"raw_score {number(item.raw_score)} is below min_score {setting(ranker.min_score)}"
        case "expired" if item.memory.expires_at is not None:
            return f"expired at {item.memory.expires_at.text}"
        case "invalid_then":
            return f"not true at the moment asked about{_validity(item)}"
        case "over_budget":
            return f"its {counted(item.tokens, 'token')} did not fit in the budget"
        case "over_top_k":
            return "enough others rank before it (top_k)"
        case _:
            return f"{item.reason}"


def _validity(item: Item) -> str:
    valid, invalid = item.memory.valid_at, item.memory.invalid_at
    since = f" from {valid.text}" if valid else ""
    until = f" until {invalid.text}" if invalid else ""
    return f": holds{since}{until}" if since or until else ""


def _actions(item: Item) -> list[str]:
    if item.action is None or item.decay is None:
        return []
    planned = f"planned {item.planned}, became " if item.planned != item.action else ""
    return [f"decay       {number(item.decay)}: {planned}{item.action}, {counted(item.tokens, 'token')}"]
