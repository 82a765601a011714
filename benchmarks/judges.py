"""What a language model adds to the embedded judge, and what it costs: both, and the cascade, on a sample of queries.

    python benchmarks/judges.py FOLDER ... --model local/qwen --endpoint http://127.0.0.1:8095/v1 --schema
    python benchmarks/judges.py FOLDER ... --model openai/gpt-4o-mini --queries 200 --candidates 100 --batch 20

Each FOLDER holds golden sets. The sample takes as many queries of each set as of the others, from the part that nothing
was fitted on and of those that have an answer. memrank reads each of them by pipelines/agent-memory.yaml with so many
candidates, once by every judge; nothing is kept from read to read. Then the same candidates are judged in batches of
several sizes. No read starts once the time is up: n says how many queries are in a figure. Estimates are means with
their 95 % percentile bootstrap intervals.
"""

import argparse
import hashlib
import itertools
import json
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import goldens
import metrics
import numpy as np
import quality
import ranking
import tables

from memrank.pipeline import Pipeline, Ranking
from memrank.registry import build
from memrank.score.agreement import spearman
from memrank.score.intervals import Bootstrap, Estimate
from memrank.spec import PrefilterSpec, RankerSpec, Spec
from memrank.specfile import spec_sha256
from memrank.speclm import LmSpec

JUDGES = ("embedded", "lm", "cascade")
SHOWN = ("nDCG@10", "MRR@10", "R@1", "pairs")
USED = ("sent", "share_sent", "failed", "calls", "tokens", "seconds", "invalid", "timeouts")
RESAMPLES = 1000
AIM = 0.95
"""Share of the full judge's gain that a cascade should bring."""


@dataclass(frozen=True)
class Sampled:
    """A query of the sample: its set, its labelled row, and what is asked for it."""

    golden: goldens.GoldenSet
    row: Mapping[str, Any]
    question: Mapping[str, Any]

    @property
    def relevant(self) -> set[str]:
        """What helps to answer."""
        return goldens.relevant_ids(self.row)


def sample(sets: Sequence[goldens.GoldenSet], count: int, seed: str) -> list[Sampled]:
    """So many queries, drawn by a digest of seed and id, each set in turn."""
    queues = []
    for golden in sets:
        fits = [
            Sampled(golden, row, question)
            for row, question in zip(golden.rows, golden.questions, strict=True)
            if row.get("split", "report") == "report" and goldens.relevant_ids(row)
        ]
        queues.append(sorted(fits, key=lambda one: hashlib.sha256(f"{seed}\n{one.row['id']}".encode()).digest()))
    rounds = itertools.zip_longest(*queues)
    return list(itertools.islice((one for turn in rounds for one in turn if one is not None), count))


def spec_of(judge: str, lm: LmSpec, candidates: int) -> Spec:
    """The general default with another judge and so many candidates."""
    changed = {PrefilterSpec: {"top_k": candidates}, RankerSpec: {"judge": judge}}
    default = ranking.default_spec()
    stages = tuple(stage.model_copy(update=changed.get(type(stage), {})) for stage in default.stages)
    return default.model_copy(update={"stages": stages, "lm": lm})


class Readers:
    """Pipelines by set and spec, each built once."""

    def __init__(self) -> None:
        self._built: dict[tuple[str, str], Pipeline] = {}

    def read(self, of: Sampled, spec: Spec, candidates: int) -> Ranking:
        """The read of one query."""
        key = of.golden.name, spec_sha256(spec)
        if key not in self._built:
            self._built[key] = build(spec, ranking.PIPELINES, key[1], store=of.golden.memories)
            asked = {name: of.question.get(name) for name in ("as_of", "namespace")}
            self._built[key].candidates(of.question["query"], **asked)  # the store is read before anything is timed
        return self._built[key](**of.question, top_k=candidates, rank_only=True)


@dataclass
class Clock:
    """Seconds that may be spent on reads by a model."""

    seconds: float
    began: float = field(default_factory=time.monotonic)

    @property
    def is_up(self) -> bool:
        """Whether no further query may start."""
        return time.monotonic() - self.began >= self.seconds


@dataclass(frozen=True)
class Judged:
    """One query as one judge read it."""

    measures: Mapping[str, float]
    used: Mapping[str, float]
    bias: float
    """Position bias within the batches of this read; NaN where fewer than three were judged by the model."""


def judged(of: Sampled, answer: Ranking) -> Judged:
    """The measures of a read and what it used."""
    items = (*answer.results, *answer.excluded)
    measures = metrics.judge(of.row, [item.id for item in answer.results])
    said = {item.id: item.scores["relevance"] for item in items}
    by_model = sum(item.judged_by == "lm" for item in items)
    figures = answer.meta.lm_figures
    sent = figures.get("sent", 0)
    used = {
        "sent": sent,
        "share_sent": sent / len(items) if items else 0.0,
        "failed": sum(item.judged_by == "failed" for item in items),
        "calls": answer.meta.lm_calls,
        "tokens": answer.meta.lm_tokens,
        "seconds": answer.meta.latency_ms / 1e3,
        "invalid": figures.get("invalid", 0),
        "timeouts": figures.get("timeouts", 0),
    }
    bias = figures.get("position_bias", math.nan) if by_model > 2 else math.nan
    return Judged({**measures, "pairs": pairs(said, of.relevant)}, used, bias)


def pairs(said: Mapping[str, float], relevant: set[str]) -> float:
    """Of all pairs of a relevant candidate and another, the share that relevance alone puts right; ties count half.

    NaN where the candidates are all of one sort.
    """
    good = np.array([value for name, value in said.items() if name in relevant])
    other = np.array([value for name, value in said.items() if name not in relevant])
    if not len(good) or not len(other):
        return math.nan
    gap = good[:, None] - other[None, :]
    return float(np.mean((gap > 0) + (gap == 0) / 2))


def compare(drawn: Sequence[Sampled], lm: LmSpec, candidates: int, clock: Clock) -> list[dict[str, Judged]]:
    """Every query by every judge, in the order of the sample, as far as the time goes."""
    readers, found = Readers(), []
    for place, of in enumerate(drawn, start=1):
        if clock.is_up:
            break
        quality.tell(f"query {place} of {len(drawn)}: {of.row['id']}")
        found.append({name: judged(of, readers.read(of, spec_of(name, lm, candidates), candidates)) for name in JUDGES})
    return found


def estimates(drawn: Sequence[Sampled], found: Sequence[Mapping[str, Judged]]) -> dict[str, dict[str, Estimate]]:
    """By judge, then by measure: quality, what a read used, and position bias."""
    groups, _ = metrics.clusters([of.row for of in drawn[: len(found)]])
    bootstrap = Bootstrap(groups, seed=metrics.SEED, resamples=RESAMPLES)
    out: dict[str, dict[str, Estimate]] = {}
    for judge in JUDGES:
        rows = [one[judge] for one in found]
        values = {name: [row.measures.get(name, math.nan) for row in rows] for name in SHOWN}
        values |= {name: [row.used[name] for row in rows] for name in USED}
        values["position_bias"] = [row.bias for row in rows]
        out[judge] = {name: bootstrap.estimate(np.array(each, dtype=np.float64)) for name, each in values.items()}
    return out


def share_of_gain(of: Mapping[str, Mapping[str, Estimate]], measure: str) -> float | None:
    """The cascade's part of what the full judge gains over the embedded one; None where that gains nothing."""
    gain = of["lm"][measure].mean - of["embedded"][measure].mean
    if not gain > 0:
        return None
    return (of["cascade"][measure].mean - of["embedded"][measure].mean) / gain


@dataclass(frozen=True)
class Batch:
    """One query judged in batches of one size: what the model said of each memory, and what that took."""

    said: Mapping[str, float]
    missing: int
    seconds: float
    tokens: int
    calls: int
    bias: float


def in_batches(
    drawn: Sequence[Sampled], lm: LmSpec, candidates: int, sizes: Sequence[int], clock: Clock
) -> list[dict[int, Batch]]:
    """Every query in batches of each size, as far as the time goes."""
    readers, found = Readers(), []
    for of in drawn:
        if clock.is_up:
            break
        by_size = {}
        for size in sizes:
            quality.tell(f"{of.row['id']} in batches of {size}")
            spec = spec_of(
                "lm", lm.model_copy(update={"batch": size, "max_calls": 4 * candidates, "decoys": 0}), candidates
            )
            by_size[size] = _batch(readers.read(of, spec, candidates))
        found.append(by_size)
    return found


def _batch(answer: Ranking) -> Batch:
    items = (*answer.results, *answer.excluded)
    said = {item.id: item.scores["relevance"] for item in items if item.judged_by == "lm"}
    return Batch(
        said=said,
        missing=len(items) - len(said),
        seconds=answer.meta.latency_ms / 1e3,
        tokens=answer.meta.lm_tokens,
        calls=answer.meta.lm_calls,
        bias=answer.meta.lm_figures.get("position_bias", math.nan),
    )


def agreements(found: Sequence[Mapping[int, Batch]], sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    """For each two sizes: rank correlation (mean over queries) and mean absolute error over what both judged."""
    for one, two in itertools.combinations(sizes, 2):
        ranks, gaps = [], []
        for batches in found:
            both = sorted(set(batches[one].said) & set(batches[two].said))
            left = [batches[one].said[name] for name in both]
            right = [batches[two].said[name] for name in both]
            gaps += [abs(a - b) for a, b in zip(left, right, strict=True)]
            if len(set(left)) > 1 and len(set(right)) > 1:
                ranks.append(spearman(left, right))
        yield {
            "sizes": [one, two],
            "rank_correlation": _mean(ranks),
            "mae": _mean(gaps),
            "queries": len(ranks),
            "memories": len(gaps),
        }


def sizes_used(found: Sequence[Mapping[int, Batch]], sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    """What each size of batch took, over all queries."""
    for size in sizes:
        rows = [one[size] for one in found]
        yield {
            "size": size,
            "judged": sum(len(row.said) for row in rows),
            "missing": sum(row.missing for row in rows),
            "calls": sum(row.calls for row in rows),
            "tokens": sum(row.tokens for row in rows),
            "seconds": round(sum(row.seconds for row in rows), 1),
            "position_bias": _mean([row.bias for row in rows if size > 1 and not math.isnan(row.bias)]),
        }


def _mean(values: Sequence[float]) -> float | None:
    return round(float(np.mean(values)), 3) if values else None


def shown(of: Mapping[str, Mapping[str, Estimate]]) -> str:
    """The tables of quality and of use."""
    best = [[judge, *(tables.figure(found[name]) for name in SHOWN)] for judge, found in of.items()]
    for judge in JUDGES[1:]:
        changes = [of[judge][name].minus(of["embedded"][name]) for name in SHOWN]
        best.append([f"{judge} - embedded", *(tables.figure(change, signed=True) for change in changes)])
    cost = [
        [judge, *(f"{found[name].mean:.3g}" for name in USED), tables.figure(found["position_bias"])]
        for judge, found in of.items()
    ]
    head = ["a read, on average", *USED, "position bias"]
    return "\n\n".join([lines(["judge", *SHOWN], best), lines(head, cost)])


def gained(of: Mapping[str, Mapping[str, Estimate]]) -> str:
    """What the cascade brings, in a sentence or two."""
    share = share_of_gain(of, "nDCG@10")
    gain = of["lm"]["nDCG@10"].minus(of["embedded"]["nDCG@10"])
    sent = of["cascade"]["sent"].mean / of["lm"]["sent"].mean if of["lm"]["sent"].mean else math.nan
    if share is None:
        return (
            f"nDCG@10: the model gains nothing over the embedded judge; the cascade sends {sent:.0%} of its candidates."
        )
    said = (
        f"nDCG@10: the cascade brings {share:.0%} of the model's gain (aim {AIM:.0%}) for {sent:.0%} of its candidates."
    )
    return said if gain.low > 0 else f"{said} The gain itself may be none: that share says nothing."


def table_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of plain values as aligned text."""
    cells = [["" if value is None else str(value) for value in row.values()] for row in rows]
    return lines(list(rows[0]), cells)


def lines(head: Sequence[str], cells: tables.Cells) -> str:
    """Aligned text without blank lines."""
    return tables.aligned(head, cells).replace("\n\n", "\n")


def measured(arguments: argparse.Namespace, lm: LmSpec) -> tuple[dict[str, Any], str]:
    """All figures as plain values, and as text."""
    sets = [goldens.GoldenSet(folder) for folder in goldens.find(arguments.folders)]
    clock = Clock(arguments.seconds)
    drawn = sample(sets, max(arguments.queries, arguments.batch_queries), arguments.seed)
    body: dict[str, Any] = {"model": lm.model, "candidates": arguments.candidates, "batch": lm.batch}
    text = []
    found = compare(drawn[: arguments.queries], lm, arguments.candidates, clock)
    if found:
        of = estimates(drawn, found)
        body["queries"] = [one.row["id"] for one in drawn[: len(found)]]
        body["judges"] = {
            judge: {name: quality.plain(one) for name, one in each.items() if one.n} for judge, each in of.items()
        }
        body["share_of_gain"] = share_of_gain(of, "nDCG@10")
        text += [f"{len(found)} queries, {arguments.candidates} candidates each", shown(of), gained(of)]
    sizes = [size for size in arguments.sizes if size <= arguments.batch_candidates]
    batched = in_batches(drawn[: arguments.batch_queries], lm, arguments.batch_candidates, sizes, clock)
    if batched and sizes:
        body["batches"] = list(sizes_used(batched, sizes))
        body["agreement"] = list(agreements(batched, sizes))
        text += [f"{len(batched)} queries, {arguments.batch_candidates} candidates each, in batches"]
        text += [table_of(rows) for rows in (body["batches"], body["agreement"]) if rows]
    quality.tell("")
    return body, "\n\n".join(text or ["the time was up before the first query"])


def parsed(given: Sequence[str] | None = None) -> tuple[argparse.Namespace, LmSpec]:
    """The arguments, and the model that they name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--model", required=True, help="provider and name, as lm.model of a spec")
    parser.add_argument("--endpoint", help="an OpenAI-compatible server, as lm.endpoint")
    parser.add_argument("--api-key-env", help="name of the variable that holds the key")
    parser.add_argument("--schema", action="store_true", default=None, help="the server keeps to a JSON schema")
    parser.add_argument("--queries", type=int, default=12, help="how many queries all judges read (12; 0: none)")
    parser.add_argument("--candidates", type=int, default=6, help="candidates of each (6)")
    parser.add_argument("--batch", type=int, default=20, help="memories in one call (20)")
    parser.add_argument("--decoys", type=int, default=1, help="as lm.decoys (1); none where sizes are compared")
    parser.add_argument("--sizes", type=_sizes, default=(1, 10, 20), help="sizes of batches to compare (1,10,20)")
    parser.add_argument("--batch-queries", type=int, default=1, help="queries of that comparison (1; 0: none)")
    parser.add_argument("--batch-candidates", type=int, default=20, help="candidates of each (20)")
    parser.add_argument("--concurrency", type=int, default=1, help="calls at the same time (1)")
    parser.add_argument("--deadline", default="300s", help="seconds of one call (300s); a read has ten times that")
    parser.add_argument("--seconds", type=float, default=600.0, help="no query starts after so long (600)")
    parser.add_argument("--seed", default="1", help="which queries are drawn (1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all figures")
    arguments = parser.parse_args(given)
    if min(arguments.candidates, arguments.batch_candidates) < 1 or min(arguments.queries, arguments.batch_queries) < 0:
        parser.error("a number of queries is 0 or more, one of candidates 1 or more")
    deadline = float(arguments.deadline.removesuffix("s"))
    lm = LmSpec.model_validate(
        {
            "model": arguments.model,
            "endpoint": arguments.endpoint,
            "api_key_env": arguments.api_key_env,
            "response_schema": arguments.schema,
            "batch": arguments.batch,
            "decoys": arguments.decoys,
            "concurrency": arguments.concurrency,
            "deadline": f"{deadline}s",
            "read_deadline": f"{deadline * 10}s",
            "max_calls": 1000,
            "cache": 0,
        }
    )
    return arguments, lm


def _sizes(text: str) -> tuple[int, ...]:
    sizes = tuple(sorted({int(part) for part in text.split(",")}))
    if sizes[0] < 1:
        raise ValueError("a batch holds 1 memory or more")
    return sizes


def main() -> None:
    """Measure, print the tables, and write what was asked for."""
    arguments, lm = parsed()
    body, text = measured(arguments, lm)
    sys.stdout.write(f"{text}\n")
    if arguments.json:
        arguments.json.write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
