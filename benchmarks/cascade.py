"""How few candidates a cascade must ask about, by a SIMULATED model: it measures whom to ask, and no model.

    python benchmarks/cascade.py evalsets
    python benchmarks/cascade.py evalsets --part report --aucs .95,.99 --shares .1,.2

No model is asked. In its place stand the labels of the golden sets and seeded noise, so that the judgements of a query
are right to a stated degree: --aucs, the probability that a relevant memory is given more than another one. What comes
out says which candidates are worth asking about when a model of that accuracy is asked; it says nothing of any model.
The noise of a memory depends on the query and on it alone. --alike is how much of it is the embedded judge's own error
(a correlation): 0 is a model whose mistakes have nothing to do with its, which flatters a cascade.

Each FOLDER holds golden sets. memrank reads each query by pipelines/agent-memory.yaml: by the embedded judge, by the
simulated model about all candidates (`judge: lm`), and by `judge: cascade` at each share. Everything but the wire is
what a real read does. Estimates are means over queries with 95 % percentile bootstrap intervals; the share of the gain
is told where the gain of the full judge is one, beyond chance.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import Any
from zlib import crc32

import dspy
import goldens
import judges
import metrics
import numpy as np
import quality
import ranking
import tables

from memrank.pipeline import Pipeline, Ranking
from memrank.registry import build
from memrank.score.intervals import Bootstrap, Estimate, summary
from memrank.spec import RankerSpec, Spec
from memrank.speccascade import CascadeSpec
from memrank.specfile import spec_sha256
from memrank.speclm import LmSpec

SHOWN = ("nDCG@10", "P@3")
MEASURES = (*SHOWN, "pairs", "share_sent")
AIM = 0.95
"""Share of the full judge's gain that a cascade should bring."""
PARTS = {"tuning": ("fit", "choose"), "report": ("report",)}
KEEP = 10
"""Results of a read: the cut of the cascade, and all that the measures look at."""
EVERY = "mean of sets"
GRADES = {1: 0.7, 2: 1.0}
"""How far a graded memory stands out; one that is only listed stands out wholly."""
PLAIN = NormalDist()
LM = LmSpec.model_validate(
    {
        "model": "local/simulated",
        "endpoint": "http://127.0.0.1:9/v1",
        "cache": 0,
        "decoys": 0,
        "concurrency": 1,
        "max_calls": 1000,
        "batch": 200,
        "deadline": "600s",
        "read_deadline": "600s",
    }
)
"""Nobody listens there, and nobody is asked."""


@dataclass
class Simulated:
    """Stands where the predictor of a judge stands, and answers from labels and noise."""

    auc: float
    alike: float
    row: Mapping[str, Any] = field(default_factory=dict)
    """The labelled query that is being read."""
    error: Mapping[str, float] = field(default_factory=dict)
    """How far the embedded judge is off about each memory of it, standardised."""
    lm: None = None

    def __call__(self, **given: Any) -> dspy.Prediction:
        """What it says of the memories given."""
        said = [
            {"id": one.id, "relevance": self.relevance(one.id), "justification": "simulated"}
            for one in given["memories"]
        ]
        return dspy.Prediction(judgements=said)

    def relevance(self, name: str) -> float:
        """In [0, 1]: the probability that a memory that looks like this is relevant, were half of all relevant."""
        apart = PLAIN.inv_cdf(self.auc) * 2**0.5
        own = float(np.random.default_rng([metrics.SEED, crc32(f"{self.row['id']}\n{name}".encode())]).normal())
        noise = self.alike * self.error.get(name, 0.0) + (1 - self.alike**2) ** 0.5 * own
        seen = apart * self.grade(name) + noise
        return float(1 / (1 + np.exp(-apart * (seen - apart / 2))))

    def grade(self, name: str) -> float:
        """By the labels: 0 for what does not help."""
        given = self.row["relevant"]
        if isinstance(given, Mapping):
            return GRADES.get(given.get(name, 0), 0.0)
        return float(name in given)


def errors(row: Mapping[str, Any], said: Mapping[str, float]) -> dict[str, float]:
    """How far the embedded judge is off about each memory, as normal as its ranks: among the relevant ones, and among
    the others.
    """
    relevant = goldens.relevant_ids(row)
    found: dict[str, float] = {}
    for group in ([name for name in said if name in relevant], [name for name in said if name not in relevant]):
        for place, name in enumerate(sorted(group, key=lambda one: (said[one], one))):
            found[name] = PLAIN.inv_cdf((place + 0.5) / len(group))
    return found


Run = list[dict[str, float]]
"""One judge over the queries of a set: the MEASURES of each that apply."""
Estimates = dict[str, Estimate]


def spec_of(judge: str, cascade: CascadeSpec | None = None) -> Spec:
    """The general default by another judge."""
    default = ranking.default_spec()
    changed = {"judge": judge, "cascade": cascade}
    stages = tuple(
        stage.model_copy(update=changed) if isinstance(stage, RankerSpec) else stage for stage in default.stages
    )
    return default.model_copy(update={"stages": stages, "lm": LM})


class Reader:
    """The queries of one part of a set, that have an answer, read by any judge."""

    def __init__(self, golden: goldens.GoldenSet, part: str) -> None:
        self.golden = golden
        fits = [
            (row, question)
            for row, question in zip(golden.rows, golden.questions, strict=True)
            if row.get("split", "report") in PARTS[part] and goldens.relevant_ids(row)
        ]
        self.rows = [row for row, _ in fits]
        self._questions = [question for _, question in fits]
        self.embedded = self.run(spec_of("embedded"), None, keep=True)

    def run(self, spec: Spec, model: Simulated | None, *, keep: bool = False) -> Run:
        """Every query by one judge."""
        pipeline = self._built(spec, model)
        values = []
        if keep:
            self._said: list[dict[str, float]] = []
        for place, (row, question) in enumerate(zip(self.rows, self._questions, strict=True)):
            if model is not None:
                model.row = row
                model.error = errors(row, self._said[place]) if model.alike else {}
            answer = pipeline(**question, top_k=KEEP, rank_only=True)
            items = (*answer.results, *answer.excluded)
            if keep:
                self._said.append({item.id: item.scores["relevance"] for item in items})
            values.append(self._of(row, answer))
        return values

    def _built(self, spec: Spec, model: Simulated | None) -> Pipeline:
        pipeline = build(spec, ranking.PIPELINES, spec_sha256(spec), store=self.golden.memories)
        if model is not None:
            pipeline.ranker.judge.predict = model
        return pipeline

    @staticmethod
    def _of(row: Mapping[str, Any], answer: Ranking) -> dict[str, float]:
        items = (*answer.results, *answer.excluded)
        said = {item.id: item.scores["relevance"] for item in items}
        measured = metrics.judge(row, [item.id for item in answer.results])
        sent = answer.meta.lm_figures.get("sent", 0)
        return {
            **{name: measured[name] for name in SHOWN if name in measured},
            "share_sent": sent / len(items) if items else 0.0,
            "pairs": judges.pairs(said, goldens.relevant_ids(row)),
        }


@dataclass(frozen=True)
class Judge:
    """One line of the table."""

    name: str
    auc: float | None
    """As asked for; None for the embedded judge."""
    share: float | None
    """Of the cascade; None for the others."""


EMBEDDED = Judge("embedded", None, None)


def measured(reader: Reader, arguments: argparse.Namespace) -> dict[Judge, Run]:
    """Every judge over one set."""
    found, alike = {EMBEDDED: reader.embedded}, arguments.alike
    for auc in arguments.aucs:
        quality.tell(f"{reader.golden.name}: a model of AUC {auc}")
        found[Judge("lm", auc, None)] = reader.run(spec_of("lm"), Simulated(auc, alike))
        for share in arguments.shares:
            spec = spec_of("cascade", CascadeSpec(share=share, margin=arguments.margin))
            found[Judge("cascade", auc, share)] = reader.run(spec, Simulated(auc, alike))
    return found


def estimates(reader: Reader, runs: Mapping[Judge, Run], resamples: int) -> dict[Judge, Estimates]:
    """Every figure of a set; all judges share the resamples."""
    groups, _ = metrics.clusters(reader.rows)
    seed = [metrics.SEED, crc32(reader.golden.name.encode())]
    bootstrap = Bootstrap(groups, seed=seed, resamples=resamples)
    return {
        judge: {name: bootstrap.estimate(np.array([one.get(name, np.nan) for one in values])) for name in MEASURES}
        for judge, values in runs.items()
    }


def across(sets: Sequence[Mapping[Judge, Estimates]]) -> dict[Judge, Estimates]:
    """The mean over sets, each with equal weight."""
    return {
        judge: {
            name: summary(
                float(np.mean([one[judge][name].mean for one in sets])),
                sum(one[judge][name].n for one in sets),
                np.mean([one[judge][name].drawn for one in sets], axis=0),
            )
            for name in MEASURES
        }
        for judge in sets[0]
    }


def share_of_gain(of: Mapping[Judge, Estimates], judge: Judge) -> Estimate | None:
    """A cascade's part of the nDCG@10 that the same model gains when it is asked about all; None where that gain is
    none, or may be.
    """
    base, full, own = (of[one]["nDCG@10"] for one in (EMBEDDED, Judge("lm", judge.auc, None), judge))
    gain = full.minus(base)
    if not gain.low > 0:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = (own.drawn - base.drawn) / gain.drawn
    return summary((own.mean - base.mean) / gain.mean, gain.n, drawn)


def rows(results: Mapping[str, Mapping[Judge, Estimates]]) -> tables.Cells:
    """The lines of the table."""
    out = []
    for name, of in results.items():
        for judge, found in of.items():
            gain = share_of_gain(of, judge) if judge.name == "cascade" else None
            cells = [
                name if judge == EMBEDDED else "",
                "" if judge.auc is None else f"{judge.auc:g}",
                judge.name if judge.share is None else f"cascade {judge.share:g}",
                *(tables.figure(found[shown] if found[shown].n else None) for shown in (*SHOWN, "pairs")),
                f"{found['share_sent'].mean:.3f}",
                "" if judge.name != "cascade" else "no gain" if gain is None else tables.figure(gain),
            ]
            out.append(cells)
    return out


HEAD = ["set", "simulated AUC", "judge", *SHOWN, "own AUC", "share sent", "share of the gain"]


def said(results: Mapping[str, Mapping[Judge, Estimates]], arguments: argparse.Namespace) -> list[str]:
    """What must be known to read the table, and whether the aim is reached."""
    lines = [
        f"SIMULATED: judgements come from the labels and seeded noise ({arguments.alike:g} of it the embedded judge's "
        "own error), none from a model. Own AUC: of the relevance that the whole pool ends with.",
        "Share of the gain: of nDCG@10, over the embedded judge, of what the same model brings when asked about all; "
        "above 1 the cascade is better than that.",
    ]
    for share in arguments.shares:
        reached, told = [], 0
        for name, of in results.items():
            for auc in arguments.aucs:
                gain = share_of_gain(of, Judge("cascade", auc, share))
                told += gain is not None
                if gain is not None and gain.mean >= AIM:
                    reached.append(f"{name} {auc:g}")
        if told:
            named = f": {', '.join(reached)}" if reached else ""
            lines.append(f"{AIM:.0%} of the gain at share {share:g}: {len(reached)} of {told} with a gain{named}.")
    return lines


def plain(results: Mapping[str, Mapping[Judge, Estimates]]) -> list[dict[str, Any]]:
    """All figures as plain values."""
    return [
        {
            "set": name,
            "judge": judge.name,
            "auc": judge.auc,
            "share": judge.share,
            **{shown: quality.plain(one) for shown, one in found.items() if one.n},
            "share_of_gain": None
            if judge.name != "cascade" or (gain := share_of_gain(of, judge)) is None
            else quality.plain(gain),
        }
        for name, of in results.items()
        for judge, found in of.items()
    ]


def _numbers(low: float, high: float, text: str) -> tuple[float, ...]:
    found = tuple(sorted({float(part) for part in text.split(",")}))
    if not all(low <= one <= high for one in found):
        raise ValueError(f"from {low:g} to {high:g}")
    return found


def aucs(text: str) -> tuple[float, ...]:
    """Accuracies that can be simulated."""
    return _numbers(0.5, 0.9999, text)


def shares(text: str) -> tuple[float, ...]:
    """Shares of the candidates."""
    return _numbers(0.0, 1.0, text)


def parsed(given: Sequence[str] | None = None) -> argparse.Namespace:
    """The arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--sets", help="only these, by name, with commas")
    parser.add_argument("--part", choices=sorted(PARTS), default="report", help="of the queries (report)")
    parser.add_argument(
        "--aucs", type=aucs, default=aucs("0.75,0.85,0.95,0.98,0.995"), help="0.75,0.85,0.95,0.98,0.995"
    )
    parser.add_argument(
        "--shares", type=shares, default=shares("0,0.05,0.1,0.2,0.3,0.5"), help="0,0.05,0.1,0.2,0.3,0.5"
    )
    parser.add_argument(
        "--alike", type=float, default=0.5, help="how alike the errors of both judges are, 0 to 1 (0.5)"
    )
    parser.add_argument("--margin", type=float, default=CascadeSpec().margin, help="of the cascade (the default's)")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--json", type=Path, metavar="FILE", help="all figures")
    arguments = parser.parse_args(given)
    if not (0 <= arguments.alike <= 1 and 0 <= arguments.margin <= 1):
        parser.error("--alike and --margin are from 0 to 1")
    return arguments


def run(arguments: argparse.Namespace) -> tuple[list[dict[str, Any]], str]:
    """All figures as plain values, and as text."""
    results: dict[str, Mapping[Judge, Estimates]] = {}
    wanted = None if arguments.sets is None else set(arguments.sets.split(","))
    for folder in goldens.find(arguments.folders):
        if wanted is not None and folder.name not in wanted:
            continue
        reader = Reader(goldens.GoldenSet(folder), arguments.part)
        if reader.rows:
            runs = measured(reader, arguments)
            results[folder.name] = estimates(reader, runs, arguments.resamples)
    quality.tell("")
    if not results:
        raise SystemExit("no query with an answer in this part of these sets")
    if len(results) > 1:
        results[EVERY] = across(list(results.values()))
    return plain(results), "\n".join([tables.aligned(HEAD, rows(results)), "", *said(results, arguments)])


def main() -> None:
    """Measure, print the table, and write what was asked for."""
    arguments = parsed()
    body, text = run(arguments)
    sys.stdout.write(f"{text}\n")
    if arguments.json:
        arguments.json.write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
