"""A golden set and a scripted model for tuning prompts: the model judges well only under instructions of its own."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faults.lm_server import Act, Answer, Call, LmServer, Wire, at_random, completion, literal, response
from faults.scripted_model import fill, rows

from memrank.evals.evalset import Evalset, load
from memrank.pipeline import Pipeline
from memrank.registry import build
from memrank.spec import Spec
from memrank.tune.prompts import Budget, Effort, Prompts, tune_prompts

MARK = "Only a sentence that gives the colour itself states the answer."
"""What the model must be told to judge well; it proposes so itself."""
SMALL = Effort(train=6, validation=5, choose=6, candidates=3)
FAST: Mapping[str, object] = {"deadline": "8s", "read_deadline": "20s", "retry_wait": "0s", "concurrency": 4}
COLOURS = ("red", "blue", "green", "black", "white", "grey")


@dataclass(frozen=True)
class Taught(Act):
    """Judges by shared words, which misleads it, unless its instructions hold MARK; proposes MARK when asked."""

    proposal: str = MARK

    def play(self, call: Call, wire: Wire) -> None:
        prompt = call.prompt
        answer = fill(prompt, wire.server.opinion)
        for name in ("new_instruction", "proposed_instruction"):
            if name in answer:
                answer[name] = self.proposal
        if MARK in prompt.system:
            told = {item["id"]: item for item in prompt.items}
            for row in rows(answer):
                row["relevance"] = 1.0 if "painted" in str(told[row["id"]]["content"]) else 0.0
        wire.send(response(200, completion(literal(json.dumps(answer)))))


def taught(seed: int, share: float, faults: Iterable[Act], act: Act | None = None) -> Iterator[Act]:
    """Faults in this share of the calls, else the model above."""
    return (
        (act or Taught()) if isinstance(one, Answer) and one == Answer() else one for one in _drawn(seed, share, faults)
    )


def _drawn(seed: int, share: float, faults: Iterable[Act]) -> Iterator[Act]:
    return at_random(seed, share, list(faults) or [Answer()])


def golden(folder: Path, *, extra: str = "") -> Evalset:
    """24 queries of as many groups, with five memories each: one states the answer, others share the words."""
    memories, queries = [], []
    for n in range(24):
        name = f"item-{n:02d}"
        texts = [
            f"The {name} was painted {COLOURS[n % 6]}.",
            f"What colour is the {name} now, everybody asks.",
            f"Is the colour of the {name} what it is now? {extra}",
            f"The {name} stands in the hall.",
            f"Nobody remembers number {n}.",
        ]
        for k, text in enumerate(texts):
            row = {"id": f"m{n:02d}{k}", "namespace": name, "content": text, "created_at": "2026-03-01T09:00:00Z"}
            memories.append(row)
        split = "fit" if n < 16 else "choose"
        queries.append(
            {
                "id": f"q{n:02d}",
                "query": f"What colour is the {name} now?",
                "query_time": "2026-03-20T09:00:00Z",
                "group": name,
                "relevant": [f"m{n:02d}0"],
                "split": split,
                "split_group": name,
                "sensitivity": "recent",
            }
        )
    folder.mkdir(parents=True, exist_ok=True)
    for file, listed in (("memories.jsonl", memories), ("queries.jsonl", queries)):
        (folder / file).write_text("".join(json.dumps(row) + "\n" for row in listed), encoding="utf-8")
    return load(folder)


def spec_of(server: LmServer | str | None, *, read_time: str = "embedded", **lm: object) -> Spec:
    """A spec whose ranker asks the model behind the server; the embedded judge without one."""
    temporal = {"kind": "temporal.v1", "read_time": read_time}
    stages: list[Mapping[str, object]] = [{"kind": "prefilter.hybrid.v1"}, temporal]
    body: dict[str, Any] = {"memrank": 1, "name": "tuned", "index": {"embedder": "none"}}
    if server is None:
        return Spec.model_validate({**body, "stages": [*stages, {"kind": "ranker.v1"}]})
    endpoint = server if isinstance(server, str) else server.url
    model = {"model": "local/scripted", "endpoint": endpoint, **FAST, **lm}
    return Spec.model_validate({**body, "lm": model, "stages": [*stages, {"kind": "ranker.v1", "judge": "lm"}]})


def builder(evalset: Evalset) -> Callable[[Spec], Pipeline]:
    """Builds pipelines over the memories of the set."""
    return lambda spec: build(spec, evalset.folder, "0" * 64, store=evalset.memories)


def tuned(evalset: Evalset, server: LmServer | str | None, optimizer: Any, **given: Any) -> Prompts:
    """`tune_prompts` on the set."""
    lm = given.pop("lm", {})
    given = {"budget": Budget(max_calls=400), "effort": SMALL, "environ": {}, **given}
    return tune_prompts(
        spec_of(server, **lm),
        builder(evalset),
        evalset.part("fit"),
        evalset.part("choose"),
        "nDCG@10",
        optimizer=optimizer,
        **given,
    )
