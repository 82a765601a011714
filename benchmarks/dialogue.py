"""How well conversations are pruned: golden conversations, and long chats whose evidence must survive.

    python benchmarks/dialogue.py CONVERSATIONS.jsonl [--chats FOLDER ... [--every N]] [--json FILE]

CONVERSATIONS is evalsets/conversations/report.jsonl (`fit.jsonl` served to fit). Figures are means over moments with
95 % percentile bootstrap intervals; the moments of a conversation are drawn together. Each FOLDER is a golden set of
chats: every question is asked as the message, at a tenth of the conversation's tokens.

*agreement* is Cohen's kappa with quadratic weights between the annotated class and ours; *order* Spearman's correlation
of class and decay. *premature drop* is the share of elements that a later question needs which did not stay, whole or
summarized, apart for protected ones. *answerable*: of the questions that came up later, those whose evidence is all
still in the context (whole, or summarized with the summary's words; the strict figure counts whole elements only).
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from talks import At, conversations, moments

from memrank.counters import token_counter
from memrank.dialogue.elements import read_elements
from memrank.dialogue.prune import Limits, Pruned, prune_elements
from memrank.dialogue.text import conversation_block
from memrank.indexing import Analyzer
from memrank.tenant import count_tokens
from memrank.text.block import TEMPLATES

Floats = NDArray[np.float64]

BUDGETS = (0.3, 0.5)
COUNTER = token_counter("estimate:0")
"""As the budgets are counted here."""
RESAMPLES = 1000
ASSEMBLED, REPEATS = 500, 21
"""Elements of a block whose making is timed, and how often."""
CHAT_SHARE = 0.1


def kappa(one: Sequence[int], two: Sequence[int], classes: int = 5) -> float:
    """Cohen's kappa with quadratic weights of two annotations, classes from 1."""
    seen = np.zeros((classes, classes))
    for a, b in zip(one, two, strict=True):
        seen[a - 1, b - 1] += 1
    place = np.arange(classes)
    weight = (place[:, None] - place[None, :]) ** 2
    expected = np.outer(seen.sum(1), seen.sum(0)) / seen.sum()
    return float(1 - (weight * seen).sum() / (weight * expected).sum())


def ranks(values: Sequence[float]) -> Floats:
    """Average ranks."""
    array = np.asarray(values, dtype=np.float64)
    less = (array[None, :] < array[:, None]).sum(axis=1)
    same = (array[None, :] == array[:, None]).sum(axis=1)
    return less + (same + 1) / 2


def spearman(one: Sequence[float], two: Sequence[float]) -> float:
    """Rank correlation."""
    return float(np.corrcoef(ranks(one), ranks(two))[0, 1])


def newest_first(at: At, budget: float) -> set[str]:
    """Keep-last-N: from the newest back, as long as everything fits."""
    kept: set[str] = set()
    used = 0
    for element in reversed(at.elements):
        used += count_tokens(element.content)
        if used > budget:
            break
        kept.add(element.id)
    return kept


def oldest_first(at: At, budget: float) -> set[str]:
    """Eviction of the oldest until the rest fits, but for the first user message, which such systems usually pin."""
    elements = list(at.elements)
    first = next((element for element in elements if element.kind == "user"), None)
    used = sum(count_tokens(element.content) for element in elements)
    kept = {element.id for element in elements}
    for element in elements:
        if used <= budget:
            break
        if element is not first:
            kept.discard(element.id)
            used -= count_tokens(element.content)
    return kept


def answerable(at: At, kept: set[str]) -> float:
    """Share of the later questions whose evidence is all kept."""
    return float(np.mean([set(question["evidence"]) <= kept for question in at.later]))


def stays(pruned: Pruned, *, whole: bool) -> set[str]:
    """Ids that stay in the context."""
    allowed = ("keep_full",) if whole else ("keep_full", "summarize")
    return {decision.id for decision in pruned.decisions if decision.action in allowed}


def measure(at: At, analyzer: Analyzer) -> dict[str, float]:
    """Every figure of one moment, NaN where it does not apply."""
    total = sum(count_tokens(element.content) for element in at.elements)
    free = prune_elements(at.elements, at.message, limits=Limits(max_tokens=10**9), analyzer=analyzer, counter=COUNTER)
    ours = {decision.id: decision for decision in free.decisions}
    order = [element.id for element in at.elements]
    out = {
        "order": spearman([at.classes[i] for i in order], [ours[i].decay for i in order]),
        "tokens saved by class": 1 - free.monitors.tokens_after / total,
        "answerable by class": answerable(at, stays(free, whole=False)),
    }
    owed = {i for i in at.protected if i not in at.corrected}
    said = {i for i in order if ours[i].protection in ("commitment", "open_question", "pending_action")}
    kept = stays(free, whole=False)
    out["protected found"] = len(owed & kept) / len(owed) if owed else np.nan
    out["protected named"] = len(owed & said) / len(owed) if owed else np.nan
    out["named rightly"] = len(owed & said) / len(said) if said else np.nan
    needed = at.needed
    out["premature drop, protected"] = len((needed & owed) - kept) / len(needed & owed) if needed & owed else np.nan
    out["premature drop, others"] = len((needed - owed) - kept) / len(needed - owed) if needed - owed else np.nan
    for share in BUDGETS:
        budget = int(share * total)
        pruned = prune_elements(
            at.elements, at.message, limits=Limits(max_tokens=budget), analyzer=analyzer, counter=COUNTER
        )
        spent = max(budget, pruned.monitors.tokens_after)
        out[f"answerable at {share:.0%}"] = answerable(at, stays(pruned, whole=False))
        out[f"answerable at {share:.0%}, whole only"] = answerable(at, stays(pruned, whole=True))
        out[f"keep-last-N at {share:.0%}"] = answerable(at, newest_first(at, spent))
        out[f"oldest-first at {share:.0%}"] = answerable(at, oldest_first(at, spent))
        out[f"tokens at {share:.0%}"] = pruned.monitors.tokens_after / total
    return out


def interval(values: Floats, groups: Sequence[str], statistic: Callable[[Floats], float]) -> tuple[float, float, float]:
    """Value and 95 % percentile interval, groups drawn together."""
    names = list(dict.fromkeys(groups))
    rows = {name: [i for i, group in enumerate(groups) if group == name] for name in names}
    draw = np.random.default_rng(0)
    drawn = []
    for _ in range(RESAMPLES):
        picked = [i for k in draw.integers(0, len(names), len(names)) for i in rows[names[k]]]
        drawn.append(statistic(values[picked]))
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return statistic(values), float(low), float(high)


def golden(path: Path, analyzer: Analyzer) -> dict[str, tuple[float, float, float]]:
    """Every figure over the moments of a file."""
    all_moments = list(moments(conversations(path)))
    rows = [measure(at, analyzer) for at in all_moments]
    groups = [at.conversation for at in all_moments]
    out = {}
    for name in rows[0]:
        values = np.array([row[name] for row in rows])
        out[name] = interval(values, groups, lambda v: float(np.nanmean(v)))
    pairs = [
        (at.classes[d.id], d.decay_class, k)
        for k, at in enumerate(all_moments)
        for d in prune_elements(
            at.elements, at.message, limits=Limits(max_tokens=10**9), analyzer=analyzer, counter=COUNTER
        ).decisions
    ]
    table = np.array(pairs)
    owner = [groups[k] for k in table[:, 2]]
    index = np.arange(len(table), dtype=np.float64)

    def agreement(chosen: Floats) -> float:
        picked = table[chosen.astype(np.int64)]
        return kappa(picked[:, 0].tolist(), picked[:, 1].tolist())

    return {"agreement (kappa)": interval(index, owner, agreement), **out}


def chats(folder: Path, analyzer: Analyzer, every: int) -> tuple[float, float, int]:
    """Evidence turns kept at CHAT_SHARE of the tokens: mean over questions, over turns, and questions."""
    rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    raw = [json.loads(line) for line in (folder / "memories.jsonl").read_text(encoding="utf-8").splitlines()]
    groups: dict[str, list[dict[str, object]]] = {}
    for record in raw:
        groups.setdefault(record["group"], []).append({k: v for k, v in record.items() if k != "group"})
    shares, kept, total = [], 0, 0
    read: dict[tuple[str, ...], object] = {}
    for row in rows[::every]:
        wanted = set(row["relevant"])
        if not wanted:
            continue
        records = [r for r in groups[row["group"]] if str(r["timestamp"])[:10] <= str(row["query_time"])[:10]]
        key = (row["group"], str(len(records)))
        if key not in read:
            read[key] = read_elements(records)[0]
        elements = read[key]
        budget = int(CHAT_SHARE * sum(count_tokens(element.content) for element in elements))
        pruned = prune_elements(
            elements, row["query"], limits=Limits(max_tokens=budget), analyzer=analyzer, counter=COUNTER
        )
        found = wanted & stays(pruned, whole=False)
        there = wanted & {element.id for element in elements}
        if there:
            shares.append(len(found) / len(there))
            kept += len(found)
            total += len(there)
    return float(np.mean(shares)), kept / total, len(shares)


def assembly(path: Path, analyzer: Analyzer) -> dict[str, float]:
    """Template to the median milliseconds in which the block of ASSEMBLED elements is made, all of them kept."""
    rows = [record for row in conversations(path) for record in row["elements"]][:ASSEMBLED]
    elements, _ = read_elements([{**record, "id": f"e{i}", "pinned": True} for i, record in enumerate(rows)])
    pruned = prune_elements(elements, "", limits=Limits(), analyzer=analyzer, counter=COUNTER)
    out = {}
    for template in TEMPLATES:
        taken = []
        for _ in range(REPEATS):
            started = time.perf_counter()
            conversation_block(pruned, template=template)
            taken.append(1e3 * (time.perf_counter() - started))
        out[template] = float(np.median(taken))
    return out


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("conversations", type=Path)
    parser.add_argument("--chats", nargs="*", type=Path, default=[])
    parser.add_argument("--every", type=int, default=1, help="of the questions about chats, ask every so-manieth")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    analyzer = Analyzer()
    found = golden(arguments.conversations, analyzer)
    for name, (value, low, high) in found.items():
        sys.stdout.write(f"{name:40} {value:.3f} [{low:.3f}, {high:.3f}]\n")
    blocks = assembly(arguments.conversations, analyzer)
    body: dict[str, object] = {"conversations": found, "assembly_ms": blocks}
    for template, milliseconds in blocks.items():
        sys.stdout.write(f"block of {ASSEMBLED} elements, {template}: {milliseconds:.1f} ms\n")
    for folder in arguments.chats:
        mean, micro, n = chats(folder, analyzer, arguments.every)
        body[folder.name] = {"mean": mean, "turns": micro, "questions": n}
        sys.stdout.write(
            f"{folder.name}: evidence kept at {CHAT_SHARE:.0%} of the tokens {mean:.3f} of {n} questions,"
            f" {micro:.3f} of the turns\n"
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
