"""How fast memrank is, in one run: start-up of its commands, whole pipelines warm, indexing, importing, appending.

    python benchmarks/speed.py [--quick] [--repeat N] [--only GROUP ...] [--json]

Every figure is the median of its repetitions, with the least and the greatest of them. A repetition of a warm pipeline
is a pass over different queries, and its figure the median of the pass. Limits are those that memrank sets itself.
Stores are made by `synthetic.py` and kept nowhere. Each is measured in a process of its own, to tell its memory.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from statistics import median

import synthetic

HERE = Path(__file__).resolve().parent
PIPELINES = HERE.parent / "pipelines"
SPECS = ("agent-memory", "finance")
SIZES = (600, 10_000, 100_000)
LIMIT_MS = {600: 3.0, 10_000: 8.0, 100_000: 30.0}
LIMIT_GIVEN_MS, LIMIT_MEMORY_MB, LIMIT_GROWTH, LIMIT_IMPORT_S = 2.0, 1024.0, 4.0, 15.0
LIMIT_SCORING_MS, SCORED = 1.0, 200
GROUPS = ("start", "given", "pipeline", "sqlite")
QUERIES = 60
POOL = 100
"""What the peers return: as many as a prefilter hands on."""


@dataclass(frozen=True)
class Row:
    """One figure. `ratio` is to what `to` names."""

    name: str
    unit: str
    value: float
    low: float
    high: float
    limit: float | None = None
    ratio: float | None = None
    to: str | None = None

    @property
    def held(self) -> bool | None:
        """Whether the limit is held; None without one."""
        return None if self.limit is None else self.value <= self.limit


def row(
    name: str,
    unit: str,
    values: Sequence[float],
    *,
    limit: float | None = None,
    ratio: float | None = None,
    to: str | None = None,
) -> Row:
    """The figure of some repetitions."""
    return Row(name, unit, median(values), min(values), max(values), limit, ratio, to)


def seconds(call: Callable[[], object]) -> float:
    """What one call takes."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def passes(calls: Sequence[Callable[[], object]], repeat: int) -> list[float]:
    """Milliseconds: the median call of each pass, after a pass that is not counted."""
    for call in calls:
        call()
    return [median(seconds(call) for call in calls) * 1e3 for _ in range(repeat)]


# Start-up: whole commands as fresh processes, taken in turns, so that a busy moment strikes all alike.


def start(repeat: int) -> list[Row]:
    """Fresh processes of the reference and of the commands."""
    memrank = [sys.executable, "-c", "from memrank.cli.main import main; main()"]
    finance = str(PIPELINES / "finance.yaml")
    commands = {
        "python -c 'import dspy'": [sys.executable, "-c", "import dspy"],
        "memrank --help": [*memrank, "--help"],
        "memrank check finance.yaml": [*memrank, "check", finance],
        "memrank run finance.yaml": [*memrank, "run", finance],
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(repeat + 1):
        for name, command in commands.items():
            spent = seconds(lambda command=command: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))
            if turn:
                taken[name].append(spent)
    dspy_name, *names = commands
    reference = median(taken[dspy_name])
    rows = [row(dspy_name, "s", taken[dspy_name])]
    for name in names:
        limit = 1.6 * reference if " run " in name else max(0.35, 0.4 * reference)
        ratio = median(taken[name]) / reference
        rows.append(row(name, "s", taken[name], limit=limit, ratio=ratio, to="dspy"))
    return rows


# Warm pipelines over a store.


def pipeline(folder: Path, repeat: int, size: int) -> list[Row]:
    """Building the index of a jsonl store, then whole reads by each spec, their stages, memory and peers."""
    from memrank import load

    label = f"{size:,} memories"
    path = synthetic.write(folder / "memories.jsonl", size)
    queries = _queries(synthetic.records(size))
    warm_up = load(PIPELINES / "finance.yaml", store=synthetic.write(folder / "one.jsonl", 1))
    warm_up("one", as_of=synthetic.AS_OF)
    rows: list[Row] = []
    for spec in SPECS:
        pipe = load(PIPELINES / f"{spec}.yaml", store=path)
        built = seconds(lambda pipe=pipe: pipe(queries[0], as_of=synthetic.AS_OF))
        if spec == SPECS[0]:
            rows.append(row(f"{label}: first read, jsonl read and indexed", "s", [built]))
        reads = [lambda q=q, pipe=pipe: pipe(q, as_of=synthetic.AS_OF) for q in queries]
        taken = passes(reads, repeat)
        rows.append(row(f"{label}: {spec}", "ms", taken, limit=LIMIT_MS[size]))
        if spec == SPECS[0]:
            rows += _memory(label, size)
            rows += _stages(pipe, queries, label, median(taken))
            rows += _scoring(pipe, queries, label, repeat)
            whole = passes([lambda read=read: read().to_dict() for read in reads], repeat)
            rows.append(row(f"{label}: {spec}, with to_dict()", "ms", whole))
            rows += _peers(pipe, queries, label, repeat, median(taken))
        del pipe, reads
    return rows


def _queries(records: Iterable[dict[str, object]]) -> list[str]:
    return synthetic.queries(QUERIES, [str(record["content"]) for record in records])


def _memory(label: str, size: int) -> list[Row]:
    """Resident memory of this process, which has built one pipeline; Linux only."""
    status = Path("/proc/self/status")
    if not status.exists():
        return []
    fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
    held, peak = (int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
    limit = LIMIT_MEMORY_MB if size == max(SIZES) else None
    return [
        row(f"{label}: resident memory", "MB", [held], limit=limit),
        row(f"{label}: peak resident memory", "MB", [peak], limit=limit),
    ]


def _stages(pipe, queries: Sequence[str], label: str, whole: float) -> list[Row]:
    """Where the time of a read goes: each stage as dspy's own callbacks see it, the snapshot, and the rest."""
    import dspy
    from dspy.utils.callback import BaseCallback

    class Clock(BaseCallback):
        def __init__(self) -> None:
            self.began: dict[str, tuple[str, float]] = {}
            self.taken: dict[str, list[float]] = {}

        def on_module_start(self, call_id: str, instance: object, inputs: object) -> None:
            self.began[call_id] = type(instance).__name__, time.perf_counter()

        def on_module_end(self, call_id: str, outputs: object, exception: object = None) -> None:
            name, began = self.began.pop(call_id)
            self.taken.setdefault(name, []).append((time.perf_counter() - began) * 1e3)

    clock = Clock()
    with dspy.context(callbacks=[clock], trace=None, disable_history=True):
        for query in queries:
            pipe(query, as_of=synthetic.AS_OF)
    looks = [lambda: pipe.store.snapshot(None, synthetic.AS_OF, {}, 86_400.0)] * len(queries)
    parts = {"snapshot": passes(looks, 3)}
    parts |= {name: clock.taken[name] for name in ("Prefilter", "Temporal", "Ranker", "Pruner")}
    parts["the rest (items, read id, dspy)"] = [max(0.0, whole - sum(median(taken) for taken in parts.values()))]
    return [
        row(f"    {label}: {name.lower()}", "ms", taken, ratio=median(taken) / whole, to="the read")
        for name, taken in parts.items()
    ]


def _scoring(pipe, queries: Sequence[str], label: str, repeat: int) -> list[Row]:
    """The relevance of SCORED candidates: the columns that compare words, and the model that reads all columns."""
    import numpy as np

    from memrank.pairs import Question, word_columns
    from memrank.score import relevance
    from memrank.stages.ranker import judged_columns

    slate = pipe.candidates(queries[0], as_of=synthetic.AS_OF)
    rows = np.arange(SCORED)
    columns = {name: np.resize(values, SCORED) for name, values in judged_columns(slate).items()}
    analyzer = pipe.prefilter.analyzer

    def words(query: str) -> None:
        question = Question(
            text=query, terms=analyzer.terms(query), idf=slate.query_terms, visible=len(slate.visible), aliased=0
        )
        word_columns(slate.tenant, rows, question, analyzer)

    def both(query: str) -> None:
        words(query)
        relevance.shipped().probability(columns)

    model = passes([lambda: relevance.shipped().probability(columns)] * len(queries), repeat)
    whole = passes([lambda query=query: both(query) for query in queries], repeat)
    return [
        row(f"    {label}: relevance of {SCORED}, the model alone", "ms", model),
        row(f"    {label}: relevance of {SCORED}, with its word columns", "ms", whole, limit=LIMIT_SCORING_MS),
    ]


def _peers(pipe, queries: Sequence[str], label: str, repeat: int, whole: float) -> list[Row]:
    """Plain top-k by words and by vectors on the same data, reading the query as memrank does."""
    import bm25s
    import numpy as np

    from memrank.indexing import Analyzer

    analyzer = Analyzer()
    tenant = pipe.store.snapshot(None, synthetic.AS_OF, {}, 86_400.0).tenant
    retriever = bm25s.BM25(k1=1.2, b=0.75)
    retriever.index([analyzer.terms(memory.content) for memory in tenant.memories], show_progress=False)
    vectors = np.ascontiguousarray(tenant.vectors, dtype=np.float32)

    def top(scores) -> object:
        best = np.argpartition(scores, len(scores) - POOL)[-POOL:]
        return best[np.argsort(-scores[best], kind="stable")]

    def by_words(query: str) -> object:
        known = [term for term in analyzer.terms(query) if term in retriever.vocab_dict]
        return top(retriever.get_scores(known))

    def by_vectors(query: str) -> object:
        return top(vectors @ analyzer.vector(query))

    rows = []
    for name, peer in (("bm25s get_scores and top-k", by_words), ("numpy dense top-k", by_vectors)):
        taken = passes([lambda q=q, peer=peer: peer(q) for q in queries], repeat)
        rows.append(row(f"    {label}: {name}", "ms", taken, ratio=whole / median(taken), to="this"))
    return rows


# Candidates given to the call.


def given(_folder: Path, repeat: int) -> list[Row]:
    """200 candidates a call: always the same; others of 2,000 that were read before; never seen before."""
    import random

    from memrank import load

    rng = random.Random(3)
    seen = list(synthetic.records(2_000))
    queries = _queries(seen)
    rows = []
    for spec in SPECS:
        pipe = load(PIPELINES / f"{spec}.yaml")
        for start_at in range(0, len(seen), 200):
            pipe(queries[0], as_of=synthetic.AS_OF, memories=seen[start_at : start_at + 200])
        same = [dict(record) for record in seen[:200]]
        drawn = [[dict(record) for record in rng.sample(seen, 200)] for _ in queries]

        def calls(lists: Sequence[list[dict[str, object]]], pipe=pipe) -> list[Callable[[], object]]:
            return [
                lambda q=q, some=some: pipe(q, as_of=synthetic.AS_OF, memories=some)
                for q, some in zip(queries, lists, strict=True)
            ]

        for name, lists in (("the same for every query", [same] * QUERIES), ("others each time, read before", drawn)):
            rows.append(row(f"200 given, {name}: {spec}", "ms", passes(calls(lists), repeat), limit=LIMIT_GIVEN_MS))
        if spec == SPECS[0]:
            source = synthetic.records(200 * QUERIES, seed=9)
            fresh = calls([list(islice(source, 200)) for _ in queries])
            rows.append(row(f"200 given, never seen before: {spec}", "ms", [seconds(call) * 1e3 for call in fresh]))
    return rows


# The store that keeps.


def sqlite(folder: Path, repeat: int, size: int) -> list[Row]:
    """Importing by the command, as a fresh process; one memory more; the read that comes next."""
    from memrank import load
    from memrank.indexing import Analyzer
    from memrank.records import read_record
    from memrank.stores.sqlite import SqliteStore

    source = synthetic.write(folder / "memories.jsonl", size)
    target = folder / "memories.db"
    command = [sys.executable, "-c", "from memrank.cli.main import main; main()"]
    command += ["store", "import", str(source), "--to", str(target)]
    imported = []
    for _ in range(min(repeat, 3) if size <= 10_000 else 1):
        for path in folder.glob("memories.db*"):
            path.unlink()
        imported.append(seconds(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)))
    limit = LIMIT_IMPORT_S if size == 10_000 else None
    rows = [row(f"{size:,} memories: import into sqlite", "s", imported, limit=limit)]
    pipe = load(PIPELINES / f"{SPECS[0]}.yaml", store=target)
    queries = _queries(islice(synthetic.records(size), 1_000))
    first = seconds(lambda: pipe(queries[0], as_of=synthetic.AS_OF))
    rows.append(row(f"{size:,} memories: first read of sqlite", "s", [first]))
    appends, reads = [], []
    with SqliteStore(target, Analyzer()) as store:
        for i, record in enumerate(synthetic.records(repeat + 1, seed=7)):
            memory, _ = read_record({**record, "id": f"new-{i}"}, position=size + i)
            appended = seconds(lambda memory=memory: store.append([memory])) * 1e3
            read = seconds(lambda i=i: pipe(queries[i % QUERIES], as_of=synthetic.AS_OF)) * 1e3
            if i:
                appends.append(appended)
                reads.append(read)
    rows.append(row(f"{size:,} memories: append one to sqlite", "ms", appends))
    return [*rows, row(f"{size:,} memories: the read after an append", "ms", reads)]


def work(name: str, repeat: int) -> list[Row]:
    """What a process of its own measures: `given`, `pipeline:SIZE` or `sqlite:SIZE`."""
    group, _, size = name.partition(":")
    with tempfile.TemporaryDirectory() as folder:
        if group == "given":
            return given(Path(folder), repeat)
        return (pipeline if group == "pipeline" else sqlite)(Path(folder), repeat, int(size))


def apart(name: str, repeat: int) -> list[Row]:
    """The same in a new process."""
    command = [sys.executable, str(Path(__file__).resolve()), "--worker", name, "--repeat", str(repeat)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return [Row(**values) for values in json.loads(done.stdout)]


def growth(rows: Sequence[Row]) -> list[Row]:
    """How much slower ten times as many memories are."""
    found = {each.name: each.value for each in rows}
    small, large = SIZES[1:]
    out = []
    for spec in SPECS:
        pair = found.get(f"{small:,} memories: {spec}"), found.get(f"{large:,} memories: {spec}")
        if pair[0] and pair[1]:
            out.append(row(f"growth {small:,} to {large:,}: {spec}", "x", [pair[1] / pair[0]], limit=LIMIT_GROWTH))
    return out


def table(rows: Sequence[Row]) -> str:
    """Rows as aligned text."""
    lines = [("", "median", "least", "greatest", "", "limit", "held", "ratio")]
    for each in rows:
        figures = (f"{value:.3g}" if value < 1000 else f"{value:.0f}" for value in (each.value, each.low, each.high))
        held = {None: "", True: "yes", False: "NO"}[each.held]
        limit = "" if each.limit is None else f"{each.limit:.3g}" if each.limit < 1000 else f"{each.limit:.0f}"
        ratio = "" if each.ratio is None else f"{each.ratio:.2f} x {each.to}"
        lines.append((each.name, *figures, each.unit, limit, held, ratio))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    sides = "<>>><>><"
    aligned = (
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(line, sides, widths, strict=True))
        for line in lines
    )
    return "\n".join(line.rstrip() for line in aligned)


def main() -> None:
    """Measure, print, and exit 1 when a limit is not held."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="leave out the stores of 100,000")
    parser.add_argument("--repeat", type=int, default=7, help="repetitions of each figure (7)")
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=list(GROUPS), help="measure only these groups")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        sys.stdout.write(json.dumps([asdict(each) for each in work(arguments.worker, arguments.repeat)]))
        return
    sizes = SIZES[:-1] if arguments.quick else SIZES
    rows: list[Row] = []
    if "start" in arguments.only:
        rows += start(arguments.repeat)
    names = ["given"] + [f"pipeline:{size}" for size in sizes] + [f"sqlite:{size}" for size in sizes if size > SIZES[0]]
    for name in names:
        if name.partition(":")[0] in arguments.only:
            sys.stderr.write(f"{name} ...\n")
            rows += apart(name, arguments.repeat)
    rows += growth(rows)
    machine = {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()}
    machine |= {name: version(name) for name in ("memrank", "dspy", "numpy", "bm25s")}
    if arguments.json:
        body = {"machine": machine, "rows": [{**asdict(each), "held": each.held} for each in rows]}
        sys.stdout.write(json.dumps(body, indent=2) + "\n")
    else:
        sys.stdout.write(", ".join(f"{name} {value}" for name, value in machine.items()) + "\n" + table(rows) + "\n")
    sys.exit(int(any(each.held is False for each in rows)))


if __name__ == "__main__":
    main()
