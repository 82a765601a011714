"""What there is to say about a golden set: for people, and as JSON."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from memrank.evals.checked import Balance, Checked, RuleShare
from memrank.evals.finding import Finding
from memrank.evals.labels import Split
from memrank.render.grid import Column, grid_lines, table_width
from memrank.render.terminal import Look
from memrank.score.intervals import Estimate
from memrank.text.counted import counted
from memrank.text.inert import clip

SCHEMA = "memrank.evalset-check/1"
LABEL = 40
TEXT = 200
MOST = 10
"""Findings of one kind in a table; JSON has all."""


def checked_json(found: Sequence[Checked]) -> dict[str, object]:
    """Every set as one object, numbers whole; NaN is null."""
    return {"schema": SCHEMA, "passed": all(one.passed for one in found), "sets": [_body(one) for one in found]}


def _body(one: Checked) -> dict[str, object]:
    agreed = one.agreement
    return {
        "folder": str(one.folder),
        "kind": one.kind,
        "passed": one.passed,
        "version": one.manifest.version if one.manifest else None,
        "licence": one.manifest.licence if one.manifest else None,
        "counts": dict(one.counts),
        "parts": {name: asdict(part) for name, part in one.parts.items()},
        "rules": {
            name: {"right_first": rule.share, "right": rule.right, "queries": rule.queries}
            for name, rule in one.rules.items()
        },
        "agreement": agreed
        and {
            "queries": agreed.queries,
            "kappa": _figure(agreed.kappa),
            "correlation": {name: _figure(value) for name, value in agreed.correlation.items()},
            "mae": {name: _figure(value) for name, value in agreed.mae.items()},
        },
        "findings": [asdict(finding) for finding in one.findings],
    }


def _figure(given: Estimate) -> dict[str, float | int | None]:
    values = {"value": given.mean, "low": given.low, "high": given.high}
    return {**{name: None if math.isnan(value) else value for name, value in values.items()}, "n": given.n}


def checked_text(one: Checked, seen: Look) -> str:
    """One set for people. No line break at the end."""
    sealed = f"version {clip(one.manifest.version, LABEL)}" if one.manifest else "not sealed"
    head = f"{one.folder}: {'ok' if one.passed else 'faults'}; {sealed}; {_counts(one.kind, one.counts)}"
    blocks = [[head]]
    if one.kind == "queries":
        blocks += [_parts(one, seen), _rules(one, seen), _agreed(one, seen)]
    blocks += [_findings(one.findings, level, seen) for level in ("fault", "remark")]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines)


def _counts(kind: str, counts: Mapping[str, int]) -> str:
    if kind == "queries":
        return (
            f"{counted(counts['memories'], 'memory', 'memories')} of {counted(counts['namespaces'], 'namespace')}, "
            f"{counted(counts['queries'], 'query', 'queries')}, {counted(counts['scored_pairs'], 'scored pair')}"
        )
    return ", ".join(f"{clip(name, LABEL)} {count}" for name, count in counts.items())


def _parts(one: Checked, seen: Look) -> list[str]:
    columns: list[Column[tuple[Split, Balance]]] = [
        Column(title="part", cell=lambda row: row[0], justify="left"),
        Column(title="queries", cell=lambda row: str(row[1].queries)),
        Column(title="groups", cell=lambda row: str(row[1].groups)),
        Column(title="no answer", cell=lambda row: str(row[1].no_answer)),
        Column(title="3+ relevant", cell=lambda row: str(row[1].three_or_more)),
        Column(title="outdated", cell=lambda row: str(row[1].outdated)),
        Column(title="earlier", cell=lambda row: str(row[1].previous)),
        Column(title="scored pairs", cell=lambda row: str(row[1].scored_pairs)),
    ]
    sensitivity: Column[tuple[Split, Balance]] = Column(
        title="sensitivity",
        cell=lambda row: ", ".join(f"{name} {count}" for name, count in row[1].sensitivity.items()),
        justify="left",
    )
    return grid_lines(columns, sensitivity, list(one.parts.items()), width=table_width(seen.width), colour=seen.colour)


def _rules(one: Checked, seen: Look) -> list[str]:
    columns: list[Column[tuple[str, RuleShare]]] = [
        Column(title="plain rule", cell=lambda row: row[0], justify="left"),
        Column(title="right first", cell=lambda row: f"{row[1].share:.3f}", style="cyan"),
    ]
    over: Column[tuple[str, RuleShare]] = Column(
        title="of queries", cell=lambda row: str(row[1].queries), justify="left"
    )
    return grid_lines(columns, over, list(one.rules.items()), width=table_width(seen.width), colour=seen.colour)


def _agreed(one: Checked, seen: Look) -> list[str]:
    agreed = one.agreement
    if agreed is None:
        return []
    rows = [("relevant or not: kappa", agreed.kappa)]
    rows += [(f"{name}: correlation", value) for name, value in agreed.correlation.items()]
    rows += [(f"{name}: difference", value) for name, value in agreed.mae.items()]
    columns: list[Column[tuple[str, Estimate]]] = [
        Column(title="second annotator", cell=lambda row: row[0], justify="left"),
        Column(title="figure", cell=lambda row: interval_text(row[1]), justify="left", style="cyan"),
    ]
    over: Column[tuple[str, Estimate]] = Column(title="pairs", cell=lambda row: str(row[1].n), justify="left")
    return grid_lines(columns, over, rows, width=table_width(seen.width), colour=seen.colour)


def interval_text(given: Estimate) -> str:
    """`0.931 [0.88, 0.97]`; without an interval where there is none, a dash where there is no figure."""
    if math.isnan(given.mean):
        return "-"
    return f"{given.mean:.3f}" + ("" if math.isnan(given.low) else f" [{given.low:.2f}, {given.high:.2f}]")


def _findings(findings: Sequence[Finding], level: str, seen: Look) -> list[str]:
    found = [finding for finding in findings if finding.level == level]
    if not found:
        return []
    columns: list[Column[Finding]] = [
        Column(title=level, cell=lambda row: row.code, justify="left", style="red" if level == "fault" else "yellow"),
        Column(title="where", cell=lambda row: clip(row.where, LABEL), justify="left", widest=LABEL),
    ]
    detail: Column[Finding] = Column(title="what", cell=lambda row: clip(row.detail, TEXT), justify="left")
    return grid_lines(columns, detail, _cut(found), width=table_width(seen.width), colour=seen.colour)


def _cut(found: Sequence[Finding]) -> list[Finding]:
    """The first few of each code, then how many more there are of it."""
    codes: dict[str, list[Finding]] = {}
    for finding in found:
        codes.setdefault(finding.code, []).append(finding)
    shown = []
    for same in codes.values():
        shown += same[:MOST]
        if len(same) > MOST:
            shown.append(replace(same[0], where="", detail=f"{len(same) - MOST} more; --json has all"))
    return shown
