"""The text block for a system prompt: what was returned, the most important first, within a token budget.

What a line looks like, and why no memory gets out of its line, says `text.block`.
"""

from memrank.result import Item, Result
from memrank.spec import ContextSpec, PrunerSpec, Spec
from memrank.tenant import BYTES_PER_TOKEN
from memrank.text.block import TEMPLATES, Entry
from memrank.text.inert import inert
from memrank.text.summary import cut

MARKED_FROM = 0.8
"""Importance from which an item is marked: 8 of 10."""


def context_block(result: Result, spec: Spec) -> str:
    """The returned memories as a block; empty where nothing was returned, or nothing fits.

    The spec's context section sets `max_items`, and `max_tokens` of the whole block, heading and footer included (else
    the pruner's budget); where the read had a budget of its own, the block keeps within that, too.
    A summary stands for the content it was made from. What is too long to fit even alone is cut to the length of a
    summary; then the least important items are left out whole. Without a pruner the defaults of `pruner.v1` apply.
    """
    pruner = next((stage for stage in spec.stages if isinstance(stage, PrunerSpec)), PrunerSpec(kind="pruner.v1"))
    context = pruner.context
    template = TEMPLATES[context.template]
    mark = inert(context.mark)
    limits = [limit for limit in (result.max_tokens, context.max_tokens) if limit is not None]
    head, foot = template.head(context.heading), template.foot(context.footer)
    room = min(limits, default=pruner.max_tokens) * BYTES_PER_TOKEN
    room += 1 - sum(map(_needs, head + foot))  # the last line has no line break
    lines: list[str] = []
    left = room
    for item in _ordered(result, context):
        if len(lines) >= context.max_items and not _pinned(item):
            break
        text = inert(item.content if item.summary is None else item.summary)
        if not text:
            continue
        line = template.line(_entry(len(lines) + 1, item, text, mark))
        if _needs(line) > room:
            short = cut(text, pruner.summary_tokens * BYTES_PER_TOKEN)
            line = template.line(_entry(len(lines) + 1, item, short, mark))
        if _needs(line) > room:
            continue
        if _needs(line) > left:
            break
        lines.append(line)
        left -= _needs(line)
    return "\n".join(head + lines + foot) if lines else ""


def _ordered(result: Result, context: ContextSpec) -> list[Item]:
    """The returned items: pinned ones, then the most important; `sorted` keeps rank order among equals."""
    if context.order == "score":
        return sorted(result.results, key=lambda item: not _pinned(item))
    return sorted(
        result.results,
        key=lambda item: (
            not _pinned(item),
            not _marked(item),
            -item.scores["relevance"] * item.scores["importance"],
        ),
    )


def _pinned(item: Item) -> bool:
    """What is pinned stands first and is not counted against `max_items`; only the budget of tokens can cut it."""
    return item.memory.pinned


def _marked(item: Item) -> bool:
    return item.scores["importance"] >= MARKED_FROM


def _entry(number: int, item: Item, text: str, mark: str) -> Entry:
    memory = item.memory
    date = memory.event_date or memory.created_at
    return Entry(
        number=number,
        mark=mark if _marked(item) else "",
        id=item.id,
        date=date.text if date else None,
        by=memory.speaker or memory.role,
        outdated_by=item.outdated_by,
        replaced_by=next((adjustment.by for adjustment in item.adjustments if adjustment.code == "superseded"), None),
        text=text,
    )


def _needs(line: str) -> int:
    """Bytes of a line and its line break."""
    return len(line.encode("utf-8", "surrogatepass")) + 1
