"""Golden conversations for tests: a short one whose early detail is lost to a small budget, and a way to write many."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]
ASIDE = "It hangs beside the letter boxes, behind the large fern that nobody ever waters. "
CHAT = (
    "The weather on the coast was splendid, so we swam before breakfast and read novels in the shade afterwards.",
    "Penguins huddle together through the polar night and take turns at the cold outer edge of their crowd.",
    "My grandmother collected stamps of railway engines, mostly Swiss ones, and glued them upside down.",
    "An orchestra tunes to the oboe because its pitch is the hardest to change once the reed is wet.",
)


def talk(name: str = "t1", *, question: bool = True, **fields: Any) -> Row:
    """Eight elements; before the last message, `e2` tells what a later question asks."""
    elements: list[Row] = [
        {"id": "e1", "role": "user", "content": "Please book a table for my sister and me."},
        {"id": "e2", "role": "user", "content": f"The door code of the flat is 4417. {ASIDE}"},
        {
            "id": "e3",
            "role": "assistant",
            "content": "I will send you the confirmation of the table on Friday, together with the menu.",
        },
        *({"id": f"e{k}", "role": "user" if k % 2 == 0 else "assistant", "content": CHAT[k - 4]} for k in range(4, 8)),
        {"id": "e8", "role": "user", "content": "When does it open?"},
    ]
    moment: Row = {
        "after": "e7",
        "message": "When does it open?",
        "classes": {"e1": 2, "e2": 1, "e3": 1, "e4": 4, "e5": 4, "e6": 4, "e7": 4},
        "protected": {"e3": "commitment"},
        "corrected": {},
        "later": [{"question": "What is the code of the door?", "evidence": ["e2"]}] if question else [],
    }
    return {"id": name, "domain": "home", "elements": elements, "moments": [moment], **fields}


def written(path: Path, rows: Sequence[object]) -> Path:
    """The rows as JSON Lines; what is text is written as it is."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
