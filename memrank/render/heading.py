"""What was asked and how it was understood: the first lines of the table and of the explanation."""

from memrank.result import Result, utc_text
from memrank.text.inert import clip
from memrank.types import Period

QUERY = 200
EVIDENCE = 120


def heading_lines(result: Result) -> list[str]:
    """The query; the moment, the sensitivity with its evidence, and the period where one is named."""
    evidence = f" ({clip(result.time_evidence, EVIDENCE)})" if result.time_evidence else ""
    lines = [
        f"query: {clip(result.query.text, QUERY)}",
        f"as of {utc_text(result.query.as_of)}, {result.sensitivity.value}{evidence}",
    ]
    if result.period is not None:
        lines.append(f"period: {_period(result.period)}")
    if result.asks_previous:
        lines.append("asks for an earlier value: nothing is demoted for having been replaced")
    return lines


def _period(period: Period) -> str:
    start = utc_text(period.start) if period.start else "open"
    end = utc_text(period.end) if period.end else "open"
    return f"“{clip(period.text, EVIDENCE)}” = {start} to {end}"
