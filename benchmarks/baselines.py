"""What plain rules score on the golden sets, and how well two annotators agree: writes both into each set's README.

    python benchmarks/baselines.py FOLDER ... [--check]

Each FOLDER is a golden set whose README has the blocks `baselines` and `agreement`. What is hard on purpose and what
is everyday (categories `everyday...`) stands apart in both. Its manifest is sealed again afterwards. --check writes
nothing and says which README is not current.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tables import figure

from memrank.evals.agreement import Agreement, agreement, second_labels
from memrank.evals.check import seal_evalset
from memrank.evals.evalset import Evalset, groups, load, split_of
from memrank.evals.labels import Labelled
from memrank.evals.measure import measures
from memrank.evals.rules import rankings
from memrank.fileio import write_atomic
from memrank.score.intervals import Bootstrap

SEED, RESAMPLES = 20260320, 2_000
COLUMNS = {
    "P@1": "right first",
    "R@5": "R@5",
    "nDCG@10": "nDCG@10",
    "current_first": "current first",
    "stale@1": "outdated first",
    "must_not@10": "must not",
}
EVERYDAY = "everyday"
"""How the categories of daily use begin; all others are hard on purpose."""

NOTE = """\
Each rule orders what the tenant knew at the time of the query: by BM25, by the cosine of memrank's embedded vectors, or
by the date of the event (else of recording), 50 results. *Right first*: the first result is relevant; the gate of
`memrank evalset check` is .9 for every rule. *Current first*: a current value stands above every outdated one.
*Outdated first*: an outdated value leads. *Must not*: something that must not come back is among the first 10. Means
over the queries that a measure applies to, with 95 % intervals drawn by split group."""

AGREED = """\
{kind}: {queries} queries, {pairs} memories shown. Relevant or not: Cohen's kappa {kappa}. Scores that both have given
({scored} pairs), with 95 % intervals drawn by split group:"""


def kinds(queries: Sequence[Labelled]) -> dict[str, list[int]]:
    """Places of the hard and of the everyday queries; of all under one name where a set has no everyday ones."""
    places: dict[str, list[int]] = {"hard": [], EVERYDAY: []}
    for k, query in enumerate(queries):
        places[EVERYDAY if (query.category or "").startswith(EVERYDAY) else "hard"].append(k)
    return places if places[EVERYDAY] else {"all": places["hard"]}


def baselines(evalset: Evalset) -> str:
    """The table of the rules, for each kind of queries, and for those of them in the part `report`."""
    lines = [f"| rule | queries | {' | '.join(COLUMNS.values())} |", "|---|---|" + "---|" * len(COLUMNS)]
    ranks = rankings(evalset)
    parts: dict[str, list[int]] = {}
    for kind, places in kinds(evalset.queries).items():
        parts[kind] = places
        parts[f"{kind}, report"] = [k for k in places if split_of(evalset.queries[k]) == "report"]
    for part, chosen in parts.items():
        queries = [evalset.queries[k] for k in chosen]
        draws = Bootstrap(groups(queries), seed=SEED, resamples=RESAMPLES)
        for rule, ranked in ranks.items():
            values = [
                measures(query, ranked[k], None, None, None, 0, also=("P@1",))
                for k, query in zip(chosen, queries, strict=True)
            ]
            cells = [
                figure(draws.estimate(np.array([value.get(name, np.nan) for value in values]))) for name in COLUMNS
            ]
            lines.append(f"| {rule} | {part} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", NOTE])


def agreements(evalset: Evalset, second: Sequence[Labelled]) -> str:
    """How well both annotators agree on each kind of queries that both have labelled."""
    found = {
        kind: agreement([evalset.queries[k] for k in places], second) for kind, places in kinds(evalset.queries).items()
    }
    return "\n\n".join(agreed(kind, one) for kind, one in found.items() if one) or "Labelled once."


def agreed(kind: str, found: Agreement) -> str:
    """Kappa, and a table of the scores."""
    scored = next(iter(found.mae.values())).n
    head = AGREED.format(
        kind=kind.capitalize(),
        queries=found.queries,
        pairs=found.kappa.n,
        kappa=figure(found.kappa),
        scored=scored,
    )
    lines = [head, "", "| score | correlation | mean difference |", "|---|---|---|"]
    lines += [f"| {name} | {figure(found.correlation[name])} | {figure(found.mae[name])} |" for name in found.mae]
    return "\n".join(lines)


def rewritten(folder: Path) -> tuple[str, str]:
    """The README of a set as it is, and as it should be. SystemExit where it lacks a block."""
    evalset = load(folder)
    before = (folder / "README.md").read_text(encoding="utf-8")
    blocks = {"baselines": baselines(evalset), "agreement": agreements(evalset, second_labels(folder))}
    text = before
    for name, block in blocks.items():
        pattern = rf"(<!-- begin:{name} -->\n).*?(<!-- end:{name} -->)"
        text, count = re.subn(pattern, lambda match, block=block: f"{match[1]}{block}\n{match[2]}", text, flags=re.S)
        if count != 1:
            raise SystemExit(f"{folder}/README.md holds {count} blocks named {name}; it must hold one")
    return before, text


def main(arguments: Sequence[str] | None = None) -> None:
    """Write, or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--check", action="store_true")
    chosen = parser.parse_args(arguments)
    old = []
    for folder in chosen.folders:
        before, after = rewritten(folder)
        if before == after:
            continue
        old.append(str(folder))
        if not chosen.check:
            write_atomic(folder / "README.md", after)
            seal_evalset(folder)
    if chosen.check and old:
        raise SystemExit(f"not current: {', '.join(old)}; run benchmarks/baselines.py on them")
    sys.stdout.write(f"{len(old)} written\n" if old else "all current\n")


if __name__ == "__main__":
    main()
