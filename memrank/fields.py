"""The fields of a memory record: their names and aliases, and how one value of each kind is read."""

import math
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from memrank.fileio import canonical_json
from memrank.plain import plain_json, plain_text
from memrank.text.dates import parse_moment
from memrank.types import Level

ALIASES: Mapping[str, tuple[str, ...]] = {
    "id": (
        *("uuid", "entry_id", "memory_id", "passage_id", "element_id", "context_id"),
        *("doc_id", "docid", "docno", "_id", "key"),
    ),
    "content": ("memory", "text", "fact", "page_content"),
    "created_at": ("timestamp", "created", "createdAt", "ts"),
    "event_date": ("publication_date", "occurred_at", "date", "event_time"),
    "updated_at": (),
    "last_accessed_at": ("last_accessed", "last_used_at"),
    "access_count": ("use_count", "retrieval_count"),
    "importance": ("salience",),
    "confidence": (),
    "authority": ("source_authority",),
    "memory_type": ("type", "kind"),
    "valid_at": ("valid_from",),
    "invalid_at": ("valid_to",),
    "expires_at": ("expiration_date",),
    "superseded_by": ("contradicted_by",),
    "pinned": (),
    "namespace": ("group", "user_id", "patient_id", "group_id", "bank_id"),
    "agent_id": ("source_agent",),
    "session_id": ("run_id", "thread_id", "session"),
    "task_type": (),
    "tags": ("categories", "topics"),
    "source_kind": (),
    "role": (),
    "turn": (),
    "speaker": (),
    "aliases": (),
    "embedding": (),
}
"""Every field that is read from a record, in the order it is written, with its other names in the order they count."""

NAMES: Mapping[str, tuple[str, int]] = {
    name: (field, rank) for field, aliases in ALIASES.items() for rank, name in enumerate((field, *aliases))
}
"""Every name that is read, with its field and its rank among the names of that field."""

LARGEST_COUNT = 2**53
"""Counts and turns beyond it would not survive float64, nor a 64-bit column."""


_SURROGATES = "lone surrogates became U+FFFD"


class Reading(NamedTuple):
    """What a value was read as; `level`, `code` and `detail` make a note if `code` is not empty.

    `keep` asks to keep the original in `metadata`, because the value read does not say all that it said.
    """

    value: object
    level: Level = "info"
    code: str = ""
    detail: str = ""
    keep: bool = False


class UnreadableError(ValueError):
    """A value that a field cannot have; the message says what it may have, and never the value."""


def is_absent(value: object) -> bool:
    """Null, and an empty text, list or object: the field is taken as not given."""
    return value is None or (isinstance(value, (str, list, tuple, dict)) and len(value) == 0)


def number_of(text: str) -> int | float | None:
    """The number that a text writes in plain decimal or scientific form, None if it writes none."""
    stripped = text.strip()
    if len(stripped) > 64 or not _NUMBER.fullmatch(stripped):
        return None
    return int(stripped) if stripped.lstrip("+-").isdigit() else float(stripped)


_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")


def read_text(value: object) -> Reading:
    """A label or an identifier; numbers are written as text, whole ones without a decimal point."""
    text = _scalar_text(value)
    if text is not None:
        return _cleaned(text)
    if isinstance(value, (list, tuple)) and len(value) == 1 and (text := _scalar_text(value[0])) is not None:
        return Reading(plain_text(text), "repair", "value_converted", "a list of one was read as its value")
    raise UnreadableError("a text or a number")


def read_namespace(value: object) -> Reading:
    """A tenant: a text, a number or a list of them, joined by `/`.

    Anything else becomes its JSON text, a tenant of its own: the scope of a memory is never dropped.
    """
    text = _scalar_text(value)
    if text is not None:
        return _cleaned(text)
    if isinstance(value, (list, tuple)):
        parts = [_scalar_text(part) for part in value]
        if all(part is not None for part in parts):
            return _cleaned("/".join(part for part in parts if part is not None))
    return Reading(_json_text(value), "repair", "value_converted", "neither a text nor a list: its JSON text was taken")


def read_content(value: object) -> Reading:
    """The text of a memory. A list of text parts, as chat messages have it, is joined; an object becomes JSON."""
    if isinstance(value, str):
        return _cleaned(value)
    if isinstance(value, (list, tuple)):
        parts = [_part_text(part) for part in value]
        known = [part for part in parts if part is not None]
        if known:
            text = plain_text("\n".join(known))
            return Reading(text, "info", "content_joined", "a list of text parts was joined", len(known) < len(parts))
    text_of_number = _scalar_text(value)
    if text_of_number is not None or isinstance(value, (list, tuple, Mapping)):
        text = _json_text(value) if text_of_number is None else text_of_number
        return Reading(text, "repair", "value_converted", "not a text: its JSON text was taken")
    raise UnreadableError("a text")


def read_date(value: object) -> Reading:
    """A Moment, see `parse_moment`."""
    try:
        moment, zoneless = parse_moment(value)
    except ValueError:
        raise UnreadableError("a date in a form that memrank reads") from None
    if zoneless:
        return Reading(moment, "info", "date_without_zone", "a time without a zone was read as UTC")
    return Reading(moment)


def read_count(value: object) -> Reading:
    """A whole number from 0 on."""
    reading = read_turn(value)
    if isinstance(reading.value, int) and reading.value < 0:
        raise UnreadableError("a whole number from 0 on")
    return reading


def read_turn(value: object) -> Reading:
    """A whole number."""
    number, converted = _number(value, "a whole number")
    if abs(number) > LARGEST_COUNT or number != int(number):
        raise UnreadableError(f"a whole number up to {LARGEST_COUNT}")
    return _number_reading(int(number), converted)


def read_share(value: object, scale: float = 1.0) -> Reading:
    """A number from 0 to 1, after division by `scale`. Out of range is unreadable: a guessed scale would be worse."""
    allowed = f"a number from 0 to {scale:g}"
    number, converted = _number(value, allowed)
    if not 0 <= number <= scale:
        hint = "; where a store counts to 10, declare `importance_scale: 1-10`" if scale == 1 and number <= 10 else ""
        raise UnreadableError(allowed + hint)
    return _number_reading(number / scale, converted)


def read_flag(value: object) -> Reading:
    """True or false."""
    if isinstance(value, bool):
        return Reading(value)
    known = value.strip().lower() if isinstance(value, str) else value
    if known in (1, "1", "true", "yes") or known in (0, "0", "false", "no"):
        flag = known in (1, "1", "true", "yes")
        return Reading(flag, "repair", "value_converted", "a text or number was read as true or false")
    raise UnreadableError("true or false")


def read_tags(value: object) -> Reading:
    """Labels: a list, or a text that separates them by commas."""
    return read_names([part.strip() for part in value.split(",")] if isinstance(value, str) else value)


def read_names(value: object) -> Reading:
    """Names: a list of texts or numbers, or one text. Empty entries are left out, and those that are no text."""
    if not isinstance(value, (str, list, tuple)):
        raise UnreadableError("a list of texts")
    texts = [_scalar_text(part) for part in ((value,) if isinstance(value, str) else value)]
    names = tuple(plain_text(text) for text in texts if text)
    if None in texts:
        return Reading(names, "repair", "value_dropped", "entries that are no text were left out", keep=True)
    if any(name not in texts for name in names):
        return Reading(names, "repair", "surrogate_replaced", _SURROGATES)
    return Reading(names)


def read_vector(value: object) -> Reading:
    """A list of finite numbers."""
    if isinstance(value, (list, tuple)) and set(map(type, value)) <= {int, float}:
        try:
            vector = tuple(map(float, value))
        except OverflowError:
            vector = (math.nan,)
        if all(map(math.isfinite, vector)):
            return Reading(vector)
    raise UnreadableError("a list of finite numbers")


Reader = Callable[[object], Reading]

_DATES = ("created_at", "event_date", "updated_at", "last_accessed_at", "valid_at", "invalid_at", "expires_at")

READERS: Mapping[str, Reader] = {
    **dict.fromkeys(ALIASES, read_text),
    **dict.fromkeys(_DATES, read_date),
    **dict.fromkeys(("importance", "confidence", "authority"), read_share),
    "content": read_content,
    "namespace": read_namespace,
    "access_count": read_count,
    "turn": read_turn,
    "pinned": read_flag,
    "tags": read_tags,
    "aliases": read_names,
    "embedding": read_vector,
}
"""How the value of each field is read; each raises UnreadableError, and nothing else, for what it does not take."""


def read_scale(value: object) -> float | None:
    """The divisor that a declared importance scale means: 10 for `1-10`, `0-10` or 10; None if it means none."""
    text = value.strip().removeprefix("0-").removeprefix("1-") if isinstance(value, str) else value
    number = number_of(text) if isinstance(text, str) else text
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not 1 <= number <= 1000:
        return None
    return float(number)


def _scalar_text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return str(int(value)) if value.is_integer() else repr(value)
    return _json_text(value)


def _json_text(value: object) -> str:
    plain, _ = plain_json(value)
    return plain if isinstance(plain, str) else canonical_json(plain)


def _part_text(part: object) -> str | None:
    text = part.get("text") if isinstance(part, Mapping) else part
    return text if isinstance(text, str) else None


def _cleaned(text: str) -> Reading:
    plain = plain_text(text)
    if plain is text:
        return Reading(text)
    return Reading(plain, "repair", "surrogate_replaced", _SURROGATES)


def _number(value: object, allowed: str) -> tuple[float, bool]:
    """The finite number, and whether it was a text."""
    number = number_of(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise UnreadableError(allowed)
    try:
        if math.isfinite(number):
            return (number if isinstance(number, int) else float(number)), isinstance(value, str)
    except OverflowError:
        pass  # an integer beyond float64
    raise UnreadableError(allowed)


def _number_reading(number: float, converted: bool) -> Reading:
    if converted:
        return Reading(number, "repair", "value_converted", "a text was read as the number it writes")
    return Reading(number)
