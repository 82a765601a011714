"""What stays of a conversation as a text block, each element one fenced line in its order; or as a list of messages."""

from memrank.counters import ESTIMATE, Counter
from memrank.dialogue.prune import Pruned
from memrank.errors import UsageError
from memrank.text.block import TEMPLATES, Entry
from memrank.text.inert import inert

HEADING = "Conversation so far"


def conversation_block(
    pruned: Pruned,
    *,
    max_tokens: int | None = None,
    template: str = "lines",
    heading: str = HEADING,
    footer: str = "",
    counter: Counter = ESTIMATE,
) -> str:
    """The block; empty where nothing stays. Memory text cannot get out of its line (`text.block`).

    The fences take tokens of their own. With `max_tokens`, what is worth least goes until the block fits; what is
    protected stays, even if it alone does not. Raises UsageError for an unknown template.
    """
    if template not in TEMPLATES:
        raise UsageError(f"unknown template {template[:40]!r}", hint=f"templates: {', '.join(TEMPLATES)}")
    form = TEMPLATES[template]
    decisions = {decision.id: decision for decision in pruned.decisions}
    kept = [(element, inert(text)) for element, text in pruned.texts()]
    kept = [(element, text) for element, text in kept if text]
    head, foot = form.head(heading), form.foot(footer)

    def lines() -> list[str]:
        return [
            form.line(
                Entry(
                    number=number,
                    mark="",
                    id=element.id,
                    date=element.memory.created_at.text if element.memory.created_at else None,
                    by=element.memory.speaker or element.kind,
                    replaced_by=decisions[element.id].replaced_by,
                    outdated_by=None,
                    text=text,
                )
            )
            for number, (element, text) in enumerate(kept, start=1)
        ]

    if max_tokens is not None:
        costs = {element.id: counter(f"{line}\n") for (element, _), line in zip(kept, lines(), strict=True)}
        total = sum(costs.values()) + sum(counter(f"{line}\n") for line in (*head, *foot))
        free = [decision for decision in pruned.decisions if decision.id in costs and decision.protection is None]
        gone = set()
        for decision in sorted(free, key=lambda decision: -decision.decay):
            if total <= max_tokens:
                break
            gone.add(decision.id)
            total -= costs[decision.id]
        kept = [(element, text) for element, text in kept if element.id not in gone]
    return "\n".join([*head, *lines(), *foot]) if kept else ""


def messages(pruned: Pruned) -> list[dict[str, str]]:
    """What stays as chat messages, in order: `role` and `content`; documents and tool calls by their kind."""
    return [{"role": element.kind, "content": text} for element, text in pruned.texts()]
