"""The tables of the README's section Measured, from the JSON of the other benchmarks.

python benchmarks/quality.py FOLDER ... --json quality.json
python benchmarks/folds.py FOLDER ... --json folds.json
python benchmarks/readme_tables.py quality.json folds.json
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

SYSTEMS = {
    "memrank": "memrank",
    "bm25": "BM25",
    "dense": "vectors",
    "fusion": "fusion",
    "rrf": "RRF",
    "langchain-time-weighted": "LangChain",
    "llamaindex-recency-10": "LlamaIndex",
    "crewai": "CrewAI*",
    "redis-ams": "Redis AMS*",
    "generative-agents": "Gen. Agents*",
}
LEFT_OUT = "memrank, fitted without this set"
MEASURES = {"nDCG@10": "nDCG@10: how well the relevant memories are ranked", "current_first": "current first"}


def share(measured: dict[str, Any] | None, *, interval: bool) -> str:
    """A mean as people read it, `.583 [.56, .61]`; empty where it was not measured."""
    if not measured or measured["mean"] is None:
        return ""
    mean, low, high = (f"{measured[name]:.{digits}f}" for name, digits in (("mean", 3), ("low", 2), ("high", 2)))
    text = f"{mean} [{low}, {high}]" if interval else mean
    return text.replace("0.", ".")


def table(measure: str, quality: dict[str, Any], folds: dict[str, Any]) -> list[str]:
    """One measure: a row a set, a column a system; memrank with its interval, and once more fitted without the set."""
    rows = [["set", "memrank", "left out", *list(SYSTEMS.values())[1:]]]
    for name, found in quality["sets"].items():
        systems = found["systems"]
        if not share(systems["memrank"].get(measure), interval=False):
            continue
        left = folds.get(name, {}).get(LEFT_OUT)
        rows.append(
            [
                name,
                share(systems["memrank"].get(measure), interval=True),
                share((left or {}).get(measure), interval=False),
                *(share(systems.get(key, {}).get(measure), interval=False) for key in list(SYSTEMS)[1:]),
            ]
        )
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return [lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]


def main() -> None:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("quality", type=Path)
    parser.add_argument("folds", type=Path)
    arguments = parser.parse_args()
    quality, folds = (json.loads(p.read_text(encoding="utf-8")) for p in (arguments.quality, arguments.folds))
    for measure, title in MEASURES.items():
        sys.stdout.write("\n".join(["", f"**{title}**", "", *table(measure, quality, folds), ""]))


if __name__ == "__main__":
    main()
