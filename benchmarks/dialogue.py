"""How well conversations are pruned: golden conversations, and long chats whose evidence must survive.

    python benchmarks/dialogue.py CONVERSATIONS.jsonl [--chats FOLDER ... [--every N]] [--json FILE]

CONVERSATIONS is evalsets/conversations/report.jsonl (`fit.jsonl` served to fit): the measures of `memrank eval
--conversations`, without a budget. Each FOLDER is a golden set of chats: every question is asked as the message, at a
tenth of the conversation's tokens.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

from memrank.counters import token_counter
from memrank.dialogue.elements import read_elements
from memrank.dialogue.prune import Limits, prune_elements
from memrank.dialogue.text import conversation_block
from memrank.evals.conversations import Conversations, load_conversations
from memrank.evals.keeping import stays
from memrank.evals.pruning import evaluate_pruning
from memrank.evals.pruningreport import to_dict
from memrank.indexing import Analyzer
from memrank.records import write_record
from memrank.render.pruning import pruning_text
from memrank.tenant import count_tokens
from memrank.text.block import TEMPLATES

COUNTING = "estimate:0"
COUNTER = token_counter(COUNTING)
"""As the budgets are counted here."""
UNLIMITED = 10**9
ASSEMBLED, REPEATS = 500, 21
"""Elements of a block whose making is timed, and how often."""
CHAT_SHARE = 0.1


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
        found = wanted & stays(pruned)
        there = wanted & {element.id for element in elements}
        if there:
            shares.append(len(found) / len(there))
            kept += len(found)
            total += len(there)
    return float(np.mean(shares)), kept / total, len(shares)


def assembly(given: Conversations, analyzer: Analyzer) -> dict[str, float]:
    """Template to the median milliseconds in which the block of ASSEMBLED elements is made, all of them kept."""
    last = {moment.conversation: moment.elements for moment in given.moments}
    said = [element for elements in last.values() for element in elements][:ASSEMBLED]
    rows = [{**write_record(element.memory), "id": f"e{i}", "pinned": True} for i, element in enumerate(said)]
    elements, _ = read_elements(rows)
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
    given = load_conversations(arguments.conversations)
    report = evaluate_pruning(given, Limits(max_tokens=UNLIMITED), tokens=COUNTING, analyzer=analyzer)
    sys.stdout.write(f"{pruning_text(report, width=None, colour=False)}\n\n")
    blocks = assembly(given, analyzer)
    body: dict[str, object] = {"conversations": to_dict([report]), "assembly_ms": blocks}
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
