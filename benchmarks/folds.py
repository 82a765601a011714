"""Does the model travel? Each golden set ranked by coefficients that were fitted without it, beside plain search.

    python benchmarks/folds.py FOLDER ... [--sets x,y] [--json FILE] [--markdown FILE]

For each set found below a FOLDER, the relevance model and the model that recognises outdated values are fitted anew, as
`fit_relevance.py` and `fit_conflict.py` fit the shipped ones, on the same sets but this one. memrank then ranks the set
by pipelines/agent-memory.yaml with these coefficients. A set that no shipped model was fitted on is ranked as shipped.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import fit_conflict
import fit_relevance
import goldens
import metrics
import peers
import quality
import ranking
import tables

import memrank.conflicts
import memrank.score.conflict
import memrank.score.relevance
from memrank.score.conflict import FEATURES, ConflictModel
from memrank.score.relevance import Model

BASELINES = ("bm25", "fusion")
AS_SHIPPED = "memrank, as shipped"
LEFT_OUT = "memrank, fitted without this set"
RESAMPLES = 1000


class UnusedModelError(RuntimeError):
    """Ranking did not go by the coefficients that were put in place."""


class Fits:
    """Fits both models on all sets but one. What is read of a set for the relevance model is read once."""

    def __init__(self, folders: Sequence[Path]) -> None:
        fitted = quality.fitted_on()
        self._relevance = {f.name: f for f in folders if f.name in fitted["relevance"]}
        self._conflict = {f.name: f for f in folders if f.name in fitted["conflict"]}
        self._examples: dict[str, list[fit_relevance.Example]] = {}

    def needed(self, name: str) -> bool:
        """Whether some shipped model was fitted on this set."""
        return name in self._relevance or name in self._conflict

    def absent(self) -> list[str]:
        """Sets that a shipped model was fitted on and that are not here."""
        fitted = quality.fitted_on()
        return sorted({*fitted["relevance"], *fitted["conflict"]} - {*self._relevance, *self._conflict})

    def without(self, name: str) -> tuple[Model, ConflictModel]:
        """Both models, fitted on every other set that the shipped ones were fitted on."""
        for other, folder in self._relevance.items():
            if other not in self._examples:
                quality.tell(f"{name}: reading {other}")
                self._examples[other] = fit_relevance.examples(folder)
        quality.tell(f"{name}: fitting")
        others = [other for other in sorted(self._relevance) if other != name]
        sets = [self._examples[other] for other in others]
        relevance = fit_relevance.fit(sets, fit_relevance.all_foreign([self._relevance[other] for other in others]))
        with relevance_in_place(relevance):
            pairs = [fit_conflict.load(self._conflict[other]) for other in sorted(self._conflict) if other != name]
        coefficients, bias = fit_conflict.fit(pairs)
        named = dict(zip(FEATURES, coefficients.tolist(), strict=True))
        return relevance, ConflictModel(coefficients=named, intercept=bias)


@contextmanager
def relevance_in_place(model: Model) -> Iterator[mock.Mock]:
    """This relevance model instead of the shipped one; the mock tells whether it was asked for."""
    with ExitStack() as stack:
        asked = mock.Mock(return_value=model)
        for module in (memrank.score.relevance, fit_conflict):
            stack.enter_context(mock.patch.object(module, "shipped", asked))
        yield asked


@contextmanager
def in_place(relevance: Model, conflict: ConflictModel) -> Iterator[None]:
    """Both models instead of the shipped ones. Raises UnusedModelError where nothing was ranked by them."""
    with relevance_in_place(relevance) as asked, mock.patch.object(memrank.conflicts, "shipped") as paired:
        paired.return_value = conflict
        yield
    if not asked.called or not paired.called:
        raise UnusedModelError("the ranking did not go by the coefficients fitted for it")


def measure(golden: goldens.GoldenSet, fits: Fits, resamples: int) -> dict[str, quality.Estimates]:
    """The estimates of plain search, and of memrank as shipped and fitted without this set."""
    bootstrap = metrics.Bootstrap(golden.rows, golden.name, resamples)
    runs: dict[str, list[list[str]]] = {}
    named: dict[str, Callable[[goldens.GoldenSet], list[list[str]]]] = {AS_SHIPPED: ranking.memrank}
    named |= {name: peers.PEERS[name].run for name in BASELINES}
    for name, system in named.items():
        quality.tell(f"{golden.name}: {name}")
        runs[name] = system(golden)
    if fits.needed(golden.name):
        models = fits.without(golden.name)
        quality.tell(f"{golden.name}: {LEFT_OUT}")
        with in_place(*models):
            runs[LEFT_OUT] = ranking.memrank(golden)
    else:
        runs[LEFT_OUT] = runs[AS_SHIPPED]
    return {
        name: bootstrap.estimates([metrics.judge(row, got) for row, got in zip(golden.rows, runs[name], strict=True)])
        for name in (LEFT_OUT, AS_SHIPPED, *BASELINES)
    }


def rows(results: dict[str, dict[str, quality.Estimates]], unfitted: Sequence[str]) -> tables.Cells:
    """The lines of the table."""
    out = []
    for name, systems in results.items():
        lines = []
        for system, label in peers.labels(systems).items():
            lines.append([label, *(tables.figure(systems[system].get(shown)) for shown in tables.SHOWN)])
        cells = []
        for shown in tables.SHOWN:
            change, rival = quality.differences(systems, LEFT_OUT).get(shown, (None, ""))
            cells.append(tables.figure(change, signed=True, name=rival))
        lines.append(["without this set - best of the two", *cells])
        title = f"{name} (never fitted on)" if name in unfitted else name
        out += [[title if place == 0 else "", *line] for place, line in enumerate(lines)]
    return out


def plain(results: dict[str, dict[str, quality.Estimates]]) -> dict[str, Any]:
    """Everything as plain values for --json."""
    return {
        name: {
            system: {shown: quality.plain(estimate) for shown, estimate in found.items()}
            for system, found in systems.items()
        }
        for name, systems in results.items()
    }


def main() -> None:
    """Fit, rank, print the table, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--sets", help="leave out only these, one after the other")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all measures")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="the table as Markdown")
    arguments = parser.parse_args()
    folders = goldens.find(arguments.folders)
    names = quality.chosen(arguments.sets, [folder.name for folder in folders], "set")
    fits = Fits(folders)
    results = {
        folder.name: measure(goldens.GoldenSet(folder), fits, RESAMPLES) for folder in folders if folder.name in names
    }
    quality.tell("")
    unfitted = [name for name in results if not fits.needed(name)]
    if len(results) > 1:
        systems = (LEFT_OUT, AS_SHIPPED, *BASELINES)
        results[quality.EVERY] = {name: metrics.across([one[name] for one in results.values()]) for name in systems}
    table = rows(results, unfitted)
    head = ["set", "system", *tables.SHOWN]
    lower = " and ".join(sorted(metrics.LOWER_IS_BETTER))
    said = [f"Mean [95 % bootstrap interval]; {lower}: lower is better."]
    if absent := fits.absent():
        said.append(f"Shipped coefficients were fitted on more sets, which are not here: {', '.join(absent)}.")
    sys.stdout.write("\n".join([tables.aligned(head, table), "", *said, ""]))
    if arguments.markdown:
        text = "\n".join([tables.markdown(head, table), "", *(f"{line}\n" for line in said)])
        arguments.markdown.write_text(text, encoding="utf-8")
    if arguments.json:
        arguments.json.write_text(json.dumps(plain(results), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
