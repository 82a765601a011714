"""What a model was asked in a read of high stakes, and what it answered, as the log keeps both: whole, without secrets.

What stands before the question itself (instructions and examples) is the same for many calls, and kept once.
"""

import json
import sqlite3
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from memrank.stores.forgetting import SHORTEST
from memrank.stores.readlog_file import digest
from memrank.text.redact import Redactor
from memrank.types import Exchange

Row = tuple[str, int, str, bytes, str, str | None]
"""Model, attempt, outcome, hash of what stands before, question, answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """The exchanges of one read on their way into the log."""

    prompts: Mapping[bytes, str]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptExchange:
    """One call of a model as it was recorded."""

    model: str
    attempt: int
    outcome: str
    messages: tuple[tuple[str, str], ...]
    """Role and text; empty where a memory that was shown has been forgotten."""
    answer: str | None
    """As it came, before anything was read out of it; None where none came, or it was forgotten."""


def packed(exchanges: Sequence[Exchange], redactor: Redactor) -> Packed:
    """In an order that does not depend on which answer came first."""
    prompts: dict[bytes, str] = {}
    rows: list[Row] = []
    for one in exchanges:
        messages = [[role, redactor.clean_quoting(text)] for role, text in one.messages]
        before, question = json.dumps(messages[:-1], ensure_ascii=False), messages[-1:]
        key = digest(before)
        prompts[key] = before
        asked = json.dumps(question, ensure_ascii=False)
        answer = None if one.answer is None else redactor.clean_quoting(one.answer)
        rows.append((one.model, one.attempt, one.outcome, key, asked, answer))
    return Packed(prompts=prompts, rows=tuple(sorted(rows, key=lambda row: (row[4], row[0], row[1]))))


def write(connection: sqlite3.Connection, read_id: str, found: Packed, *, texts: bool) -> None:
    """Keep the exchanges of a read; without `texts` only that they were: a memory that was shown has been forgotten."""
    if texts:
        connection.executemany("INSERT OR IGNORE INTO prompts VALUES (?, ?)", found.prompts.items())
    columns = "read_id, model, attempt, outcome, prompt, asked, answer"
    rows = [(read_id, *row) if texts else (read_id, *row[:4], None, None) for row in found.rows]
    connection.executemany(f"INSERT INTO exchanges ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)  # noqa: S608 - names of ours


def load(connection: sqlite3.Connection, read_id: str) -> tuple[KeptExchange, ...]:
    """The exchanges of a read. Raises ValueError for what is no JSON."""
    select = (
        "SELECT model, attempt, outcome, messages, asked, answer FROM exchanges "
        "LEFT JOIN prompts ON hash = prompt WHERE read_id = ? ORDER BY number"
    )
    found = []
    for model, attempt, outcome, before, asked, answer in connection.execute(select, (read_id,)):
        messages = () if asked is None else (*json.loads(before or "[]"), *json.loads(asked))
        said = tuple((str(role), str(text)) for role, text in messages)
        found.append(KeptExchange(model=model, attempt=attempt, outcome=outcome, messages=said, answer=answer))
    return tuple(found)


def forget(connection: sqlite3.Connection, reads: set[str], texts: Sequence[str]) -> int:
    """Take the texts from every exchange of these reads, and from those that quote one of `texts`; how many.

    Prompts show a text changed (on one line, cut, without what instructs), so nothing is cut out of them: they go.
    """
    quoted = _quoting(texts)
    select = "SELECT number, read_id, asked, answer FROM exchanges WHERE asked IS NOT NULL OR answer IS NOT NULL"
    gone = [
        (number,)
        for number, read_id, asked, answer in connection.execute(select)
        if read_id in reads or quoted(f"{asked} {answer}")
    ]
    connection.executemany("UPDATE exchanges SET asked = NULL, answer = NULL WHERE number = ?", gone)
    # Examples that were learned from one's own memories may quote it.
    before = connection.execute("SELECT hash, messages FROM prompts").fetchall()
    quoting = [(key,) for key, messages in before if quoted(messages)]
    connection.executemany("DELETE FROM prompts WHERE hash = ?", quoting)
    return len(gone) + len(quoting)


def living(connection: sqlite3.Connection) -> Iterator[str]:
    """Every text that is kept."""
    yield from (text for (text,) in connection.execute("SELECT messages FROM prompts"))
    for asked, answer in connection.execute("SELECT asked, answer FROM exchanges"):
        yield from (text for text in (asked, answer) if text is not None)


def sweep(connection: sqlite3.Connection) -> None:
    """Delete prompts that no exchange needs."""
    connection.execute("DELETE FROM prompts WHERE hash NOT IN (SELECT prompt FROM exchanges)")


def _quoting(texts: Sequence[str]) -> Callable[[str], bool]:
    """Whether a text quotes one of `texts`: by its letters and digits, or just so where it has too few of them."""
    forms = {text: _flat(text) for text in texts}
    lettered = {form for form in forms.values() if len(form) >= SHORTEST}
    plain = {text for text, form in forms.items() if len(form) < SHORTEST}

    def quoted(text: str) -> bool:
        flat = _flat(text)
        return any(form in flat for form in lettered) or any(one in text for one in plain)

    return quoted


def _flat(text: str) -> str:
    """Letters and digits alone: marks, spaces and how JSON escapes them differ from form to form."""
    plain = unicodedata.normalize("NFKC", text)
    for escape in ("\\n", "\\r", "\\t", "\\u2028", "\\u2029"):
        plain = plain.replace(escape, " ")
    return "".join(letter for letter in plain.casefold() if letter.isalnum())
