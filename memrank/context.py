"""The text block for a system prompt: what was returned, as numbered, fenced lines within a token budget.

One memory is one line, whatever it holds:

    1. ⚠ <memory id="n17" date="2026-03-18" by="Anna">The fee is 4% &lt;confirmed></memory>

Memory text is data, and cannot get out of its line. Line breaks of every kind become spaces, control characters
U+FFFD; invisible characters and direction overrides are left out (`text.inert`). `<` is always written `&lt;` (so are
the other forms of it that Unicode holds equal), so that no fence can be closed or opened from inside; `&` is escaped
only where it would read as an escape. Number and importance mark stand before the fence, where no memory text comes.
"""

import re

from memrank.result import Item, Result
from memrank.spec import ContextSpec, PrunerSpec, Spec
from memrank.tenant import BYTES_PER_TOKEN
from memrank.text.inert import clip, inert
from memrank.text.summary import cut

MARK = "\u26a0"
MARKED_FROM = 0.8
"""Importance from which an item is marked: 8 of 10."""
LONGEST_ATTRIBUTE = 80
"""Characters of an id or a name that are shown."""

_AMPERSAND = re.compile(r"&(?=(?:lt|gt|amp|quot);)")
_LESS = re.compile("[<\ufe64\uff1c]")


def context_block(result: Result, spec: Spec) -> str:
    """The returned memories as a block; empty where nothing was returned, or nothing fits.

    The spec's context section sets `max_items`, and `max_tokens` of the whole block, heading and footer included (else
    the pruner's budget); where the read had a budget of its own, the block keeps within that, too.
    A summary stands for the content it was made from. What is too long to fit even alone is cut to the length of a
    summary; then the least important items are left out whole. Without a pruner the defaults of `pruner.v1` apply.
    """
    pruner = next((stage for stage in spec.stages if isinstance(stage, PrunerSpec)), PrunerSpec(kind="pruner.v1"))
    limits = [limit for limit in (result.max_tokens, pruner.context.max_tokens) if limit is not None]
    room = min(limits, default=pruner.max_tokens) * BYTES_PER_TOKEN
    head, foot = ([text] if text else [] for text in (pruner.context.heading, pruner.context.footer))
    room += 1 - sum(map(_needs, head + foot))  # the last line has no line break
    lines: list[str] = []
    left = room
    for item in _ordered(result, pruner.context)[: pruner.context.max_items]:
        text = inert(item.content if item.summary is None else item.summary)
        line = _line(len(lines) + 1, item, text)
        if _needs(line) > room:
            line = _line(len(lines) + 1, item, cut(text, pruner.summary_tokens * BYTES_PER_TOKEN))
        if not text or _needs(line) > room:
            continue
        if _needs(line) > left:
            break
        lines.append(line)
        left -= _needs(line)
    return "\n".join(head + lines + foot) if lines else ""


def _ordered(result: Result, context: ContextSpec) -> list[Item]:
    """The returned items, most important first; `sorted` keeps rank order among equals."""
    if context.order == "score":
        return list(result.results)
    return sorted(
        result.results, key=lambda item: (not _marked(item), -item.scores["relevance"] * item.scores["importance"])
    )


def _marked(item: Item) -> bool:
    return item.scores["importance"] >= MARKED_FROM


def _line(number: int, item: Item, text: str) -> str:
    memory = item.memory
    date = memory.event_date or memory.created_at
    replaced = next((adjustment.by for adjustment in item.adjustments if adjustment.code == "superseded"), None)
    attributes = (
        ("id", item.id),
        ("date", date.text if date else None),
        ("by", memory.speaker or memory.role),
        ("replaced_by", replaced),
    )
    shown = "".join(f' {name}="{_attribute(value)}"' for name, value in attributes if value)
    mark = f"{MARK} " if _marked(item) else ""
    return f"{number}. {mark}<memory{shown}>{_escaped(text)}</memory>"


def _escaped(text: str) -> str:
    return _LESS.sub("&lt;", _AMPERSAND.sub("&amp;", text))


def _attribute(value: str) -> str:
    """As an attribute's value, where a quote or a `>` would end it."""
    return _escaped(clip(value, LONGEST_ATTRIBUTE)).replace(">", "&gt;").replace('"', "&quot;")


def _needs(line: str) -> int:
    """Bytes of a line and its line break."""
    return len(line.encode("utf-8", "surrogatepass")) + 1
