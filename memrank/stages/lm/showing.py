"""What a language model is shown of a query and of memories: fenced, on one line, without what tries to instruct it."""

import re
from dataclasses import dataclass

from memrank.stages.lm.signatures import ElementView
from memrank.stages.views import MemoryView, QueryView
from memrank.text.inert import clip
from memrank.text.instructing import disarmed, instructs
from memrank.types import Memory, Query

CONTENT = 2_000
"""Characters of a memory that are shown."""
LABEL = 60
_PLAIN_ID = re.compile(r"[A-Za-z0-9_.:#/@+-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A memory as it is shown, and whether something was taken out of it."""

    view: MemoryView
    suspected: bool


def names(ids: list[str]) -> list[str]:
    """What the memories are called in the prompt: their ids, or `#1` and so on for ids that are no plain names.

    An id is text of the store, too: what is not plain, or reads like an instruction, is not shown.
    """
    plain = [_PLAIN_ID.fullmatch(one) is not None and not instructs(re.sub(r"[_.:#/@+-]+", " ", one)) for one in ids]
    taken = {one for one, fits in zip(ids, plain, strict=True) if fits}
    out = []
    for place, (one, fits) in enumerate(zip(ids, plain, strict=True), start=1):
        name = one if fits else f"#{place}"
        while not fits and name in taken:
            name += "#"
        taken.add(name)
        out.append(name)
    return out


def shown(memory: Memory, name: str) -> Shown:
    """The fenced view of a memory that is called `name`."""
    suspected = instructs(memory.content)
    labels: dict[str, str | None] = {}
    for field in ("memory_type", "speaker", "source_kind"):
        label: str | None = getattr(memory, field)
        hostile = label is not None and instructs(label)
        suspected |= hostile
        labels[field] = None if label is None or hostile else clip(_unframed(label), LABEL)
    moment = memory.event_date or memory.created_at
    view = MemoryView(
        id=name,
        content=fenced(memory.content),
        date=moment.text if moment else None,
        authority=memory.authority,
        access_count=memory.access_count,
        **labels,
    )
    return Shown(view=view, suspected=suspected)


def shown_query(query: Query) -> QueryView:
    """The view of a query: whole, but for what would break the frame of the prompt."""
    return QueryView(
        text=_unframed(query.text),
        as_of=query.as_of.isoformat(),
        domain=query.domain and _unframed(query.domain),
        phase=query.phase and _unframed(query.phase),
        observations=[_unframed(one) for one in query.observations],
        constraints=[_unframed(one) for one in query.constraints],
    )


def shown_element(name: str, kind: str, content: str, date: str | None, turns_ago: int | None) -> ElementView:
    """The fenced view of an element of a context."""
    label = clip(_unframed(kind), LABEL)
    return ElementView(id=name, kind=label, content=fenced(content), date=date, turns_ago=turns_ago)


def fenced(text: str) -> str:
    """Untrusted text between marks that it cannot hold itself."""
    return f"<< {_unframed(clip(disarmed(text), CONTENT))} >>"


def _unframed(text: str) -> str:
    """Without the marks that frame a prompt: ours, dspy's (`[[ ## name ## ]]`) and those of chat templates."""
    apart = re.sub(r"(<|>|\[|\]|`|#)(?=\1)|<(?=\|)", lambda match: f"{match[0]} ", text)
    return apart.replace("|>", "| >")
