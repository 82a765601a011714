"""How a query and its candidates look in a typed signature: pydantic models, validated, with nothing a judge must not
see.
"""

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from memrank.slate import Slate
from memrank.types import Query


class _View(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_serializer(mode="wrap")
    def _said(self, write: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Without what is not known: it would be a third of a prompt."""
        return {name: value for name, value in write(self).items() if value is not None and value != []}


class QueryView(_View):
    """The question and its setting."""

    text: str
    as_of: str = Field(description="the moment that now means, ISO 8601 UTC")
    domain: str | None = None
    phase: str | None = None
    observations: list[str] = []
    constraints: list[str] = []


class MemoryView(_View):
    """One memory as a judge sees it."""

    id: str
    content: str
    date: str | None = Field(default=None, description="when what it tells happened, else when it was recorded")
    memory_type: str | None = None
    speaker: str | None = None
    source_kind: str | None = None
    authority: float | None = None
    access_count: int = 0


def query_view(query: Query) -> QueryView:
    """The typed view of a query."""
    return QueryView(
        text=query.text,
        as_of=query.as_of.isoformat(),
        domain=query.domain,
        phase=query.phase,
        observations=list(query.observations),
        constraints=list(query.constraints),
    )


def memory_views(slate: Slate) -> list[MemoryView]:
    """The typed view of every candidate, in slate order."""
    views = []
    for k in range(len(slate)):
        memory = slate.memory(k)
        moment = memory.event_date or memory.created_at
        views.append(
            MemoryView(
                id=memory.id,
                content=memory.content,
                date=moment.text if moment else None,
                memory_type=memory.memory_type,
                speaker=memory.speaker,
                source_kind=memory.source_kind,
                authority=memory.authority,
                access_count=memory.access_count,
            )
        )
    return views
