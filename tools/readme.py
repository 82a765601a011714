"""Rewrites the generated blocks of README.md: `python tools/readme.py`; `--check` only says whether they are current.

A block stands between `<!-- begin:NAME -->` and `<!-- end:NAME -->`. Every block is computed here from the code, or is
what a command really prints; blocks of other names (`measured`) are left alone.
"""

import argparse
import contextlib
import gc
import io
import json
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path
from typing import Any

from readme_reference import cli, errors, filters, record, spec, table

import memrank
from memrank.cli.main import main as command_line
from memrank.pipeline import Ranking
from memrank.render.explain import explain_text
from memrank.starter import starter_memories, starter_spec

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
FINANCE = "pipelines/finance.yaml"

ONE_CALL = """\
import memrank

memories = [
    {"id": "old", "content": "Dana wants her appointments in the morning.", "created_at": "2026-03-02"},
    {"id": "new", "content": "Dana wants her appointments in the late afternoon.", "created_at": "2026-03-18"},
    {"id": "far", "content": "The invoice of February was paid.", "created_at": "2026-03-19"},
]
question = {"query": "When does Dana want her appointments?", "as_of": "2026-03-20T09:00:00Z"}
answer = memrank.read_memory(question, memories, recency_decay_days=7, include_excluded=True)
for entry in answer["ranked_results"]:
    print(entry["entry_id"], f"{entry['composite_score']:.3f}", "excluded" if entry["excluded"] else "")
"""

PIPELINE = """\
import asyncio
import memrank

pipeline = memrank.load("pipelines/finance.yaml")
asked = {"query": "What is the current consensus on interest rate cuts?", "as_of": "2026-03-20T09:00:00Z"}

ranking = pipeline(**asked, top_k=3)
for item in ranking.results[:3]:
    print(item.rank, item.id, f"{item.score:.3f}", item.justification)

same = asyncio.run(pipeline.acall(**asked, top_k=3))
print(same.meta.read_id == ranking.meta.read_id)
"""


TALK = """\
import memrank

elements = [
    {"id": "e1", "role": "user", "content": "Order 4417 never came. Ship it to Pier 9, never to the old flat."},
    {"id": "e2", "role": "assistant", "memory_type": "tool_call", "call_id": "c1", "content": "get_order(id=4417)"},
    {"id": "e3", "role": "tool", "memory_type": "tool_output", "call_id": "c1", "content": "4417: lost by the carrier"},
    {"id": "e4", "role": "assistant", "content": "It was lost. I'll send a new one on Friday."},
    {"id": "e5", "role": "user", "content": "Sorry, I meant Pier 6, not Pier 9."},
    {"id": "e6", "role": "assistant", "content": "Noted."},
    {"id": "e7", "role": "user", "content": "Thanks! Lovely weather, by the way."},
    {"id": "e8", "role": "assistant", "content": "It is."},
]
pruned = memrank.prune(elements, "When will the new one come?", limits=memrank.Limits(max_tokens=60, keep_last_turns=1))
for decision in pruned.decisions:
    print(decision.id, decision.action, decision.protection or "", "|", decision.rationale)
"""

SCORER = """\
import memrank


def long_ones_go(elements, message):
    return memrank.Judgement(
        decay=[min(1.0, len(element.content) / 100) for element in elements],  # 0 essential to 1 worthless
        protection=tuple("pinned" if element.pinned else None for element in elements),
        replaced_by=(None,) * len(elements),  # or the place of the element that corrects it
        topic_shift=False,
        rationale=tuple(f"{len(element.content)} characters" for element in elements),
    )


talk = [{"role": "tool", "content": "line of a log " * 9}, {"role": "user", "content": "Thanks."}]
for decision in memrank.prune(talk, "Bye.", scorer=long_ones_go, limits=memrank.Limits(keep_last_turns=0)).decisions:
    print(decision.id, decision.action, "|", decision.rationale)
"""


def blocks() -> dict[str, str]:
    """Name of each generated block to its text."""
    return {name: make() for name, make in MAKERS.items()}


def rewritten(text: str) -> str:
    """The README with every generated block as it should be. Raises SystemExit for a block that it lacks."""
    for name, block in blocks().items():
        text, found = re.subn(
            rf"(<!-- begin:{name} -->\n).*?(<!-- end:{name} -->)",
            lambda match, block=block: f"{match[1]}{block}\n{match[2]}",  # type: ignore[misc]
            text,
            flags=re.DOTALL,
        )
        if found != 1:
            raise SystemExit(f"README.md holds {found} blocks named {name}; it must hold one")
    return text


def example() -> str:
    """What the first command prints."""
    return _fence(_printed("run", FINANCE))


def context() -> str:
    """The same read as a block for a system prompt."""
    return _fence(f"$ memrank run {FINANCE} --format context\n" + _printed("run", FINANCE, "--format", "context"))


def result() -> str:
    """The JSON form of the same read, cut to one item of each kind and to 4 places."""
    whole = json.loads(_printed("run", FINANCE, "--format", "json"))
    for name in ("results", "excluded", "notes"):
        whole[name] = whole[name][:1]
    del whole["meta"]["latency_ms"]  # another one each time
    return _fence(json.dumps(_rounded(whole), ensure_ascii=False, indent=2), "json")


def weighted() -> str:
    """How the scores of the first spec of `memrank init` come about: the best item, and one that was superseded."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "demo.yaml").write_text(starter_spec("demo"), encoding="utf-8")
        (folder / "demo.memories.jsonl").write_text(starter_memories(), encoding="utf-8")
        ranking = _example_of(folder / "demo.yaml", rank_only=True)
    _proved(ranking)
    adjusted = [item.id for item in ranking.results if item.adjustments][:1]
    shown = _explained(ranking, [ranking.results[0].id, *adjusted])
    return _fence("$ memrank init demo && memrank run demo.yaml --rank-only --explain\n\n" + shown)


def decay() -> str:
    """What the memories of `memrank init` are worth, and why."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "demo.memories.jsonl"
        file.write_text(starter_memories(), encoding="utf-8")
        shown = _printed("store", "decay", str(file), "--as-of", "2026-03-20T09:00:00Z")
    return _fence("$ memrank store decay demo.memories.jsonl --as-of 2026-03-20T09:00:00Z\n" + shown)


def contradictions() -> str:
    """What contradicts what in the finance example, the surest pairs."""
    store = "evalsets/finance/memories.jsonl"
    shown = _printed("store", "contradictions", store, "--top", "12", "--quiet")
    return _fence(f"$ memrank store contradictions {store} --top 12\n" + shown)


def evaluation() -> str:
    """What the finance example is worth on the held-out part of its golden set, but for the latencies."""
    shown = _printed("eval", FINANCE, "--part", "report", "--quiet", "--no-resume")
    kept = [line for line in shown.split("\n") if not line.startswith("latency_")]
    return _fence(f"$ memrank eval {FINANCE} --part report\n" + "\n".join(kept))


def talk() -> str:
    """`prune` and what it prints."""
    return _ran(TALK)


def scorer() -> str:
    """A scorer of one's own, and what comes of it."""
    return _ran(SCORER)


def bounded() -> str:
    """How the best score of the finance example comes about."""
    ranking = _example_of(ROOT / FINANCE)
    _proved(ranking)
    return _fence(f"$ memrank run {FINANCE} --explain\n\n" + _explained(ranking, [ranking.results[0].id]))


def views() -> str:
    """The fields of every view, from the finance example."""
    rows = []
    for view in ("memory-read", "memory-list", "passages", "passage-list", "elements", "element-list"):
        found = json.loads(_printed("run", FINANCE, "--format", view))
        rows.append((f"`{view}`", _shape(found)))
    return table(("view", "JSON"), rows)


def one_call() -> str:
    """`read_memory` and what it prints."""
    return _ran(ONE_CALL)


def pipeline() -> str:
    """`load` and what it prints."""
    return _ran(PIPELINE)


MAKERS: Mapping[str, Callable[[], str]] = {
    "example": example,
    "context": context,
    "weighted": weighted,
    "bounded": bounded,
    "decay": decay,
    "contradictions": contradictions,
    "evaluation": evaluation,
    "talk": talk,
    "scorer": scorer,
    "record": record,
    "filters": filters,
    "spec": spec,
    "cli": cli,
    "result": result,
    "views": views,
    "errors": errors,
    "one-call": one_call,
    "pipeline": pipeline,
}


def _example_of(spec_file: Path, *, rank_only: bool = False) -> Ranking:
    pipeline = memrank.load(spec_file)
    asked = pipeline.spec.example
    if asked is None:
        raise SystemExit(f"{spec_file} has no example")
    return pipeline(asked.query, as_of=asked.as_of, rank_only=rank_only)


def _printed(*arguments: str) -> str:
    """What a command line writes to stdout, run in the checkout."""
    out = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        try:
            command_line(list(arguments))
        except SystemExit as stop:
            if stop.code:
                raise SystemExit(f"memrank {' '.join(arguments)} failed with {stop.code}") from None
        finally:
            gc.unfreeze()  # the command line tunes the collector of a process that is its own
            gc.enable()
    return out.getvalue().rstrip("\n")


def _ran(code: str) -> str:
    out = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), {"__name__": "example"})  # the code is a constant above
    printed = "\n".join(line.rstrip() for line in out.getvalue().rstrip("\n").split("\n"))
    return f"{_fence(code.rstrip(), 'python')}\n\n{_fence(printed)}"


def _proved(ranking: Ranking) -> None:
    """Every score follows from the numbers shown with it, to 1e-9."""
    for item in ranking.results:
        raw = sum(weight * item.scores[part] for part, weight in item.weights.items())
        if ranking.result.combine == "bounded":
            boosts = prod(1 + alpha * (item.scores[part] - 0.5) for part, alpha in item.weights.items())
            raw = min(1.0, item.scores["relevance"] * boosts)
        score = raw * prod(adjustment.factor for adjustment in item.adjustments)
        if abs(raw - item.raw_score) > 1e-9 or abs(score - item.score) > 1e-9:
            raise SystemExit(f"{item.id}: the score does not follow from its parts")


def _explained(ranking: Ranking, ids: list[str]) -> str:
    """The heading and the blocks of these results, as `--explain` prints them."""
    heading, *items = explain_text(ranking.result, ranking.spec).split("\n\n")
    chosen = [item for item in items if re.match(rf"[0-9]+\. (?:{'|'.join(map(re.escape, ids))})[ :]", item)]
    return "\n\n".join([heading, *chosen])


def _fence(text: str, language: str = "text") -> str:
    return f"```{language}\n{text}\n```"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list) else value


def _shape(value: Any) -> str:
    """The keys of a JSON value: `{a, b[] of {c, d}}`."""
    if isinstance(value, list):
        return f"list of {_shape(value[0])}" if value and isinstance(value[0], dict) else "list"
    parts = []
    for name, inner in value.items():
        nested = isinstance(inner, dict) or (isinstance(inner, list) and inner and isinstance(inner[0], dict))
        parts.append(f"`{name}`: {_shape(inner)}" if nested else f"`{name}`")
    return "{" + ", ".join(parts) + "}"


def main(arguments: list[str] | None = None) -> int:
    """0 when the README is current (or was written), 1 when `--check` finds that it is not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when a block is out of date")
    check = parser.parse_args(arguments).check
    before = README.read_text(encoding="utf-8")
    after = rewritten(before)
    if before == after:
        return 0
    if check:
        sys.stderr.write("README.md is out of date; run: python tools/readme.py\n")
        return 1
    README.write_text(after, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
