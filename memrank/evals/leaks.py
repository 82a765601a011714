"""What one part of a golden set gives away about another, and a memory about its query."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from memrank.evals.evalset import split_of
from memrank.evals.finding import Finding, fault, remark
from memrank.evals.labelfaults import Known, asker, listed
from memrank.evals.labels import Labelled
from memrank.types import Memory

WORDS, LETTERS = 6, 40
"""So many words of a query, or letters where words are not told apart, are no coincidence in a memory."""
SHARED = 0.05
"""Share of the memories of a set that may be relevant in two parts, as background is; above it, the parts are one."""

Sides = dict[tuple[str | None, str], set[str]]

_WORD = re.compile(r"\w+")


def leak_findings(queries: Sequence[Labelled], memories: Known) -> Iterator[Finding]:
    """Groups, questions and answers on two sides of a split; queries that stand in a memory word by word."""
    tenants = {space for space, _ in memories}
    yield from _groups(queries)
    yield from _questions(queries, tenants)
    yield from _answers(queries, tenants)
    yield from _copies(queries, tenants, memories)


def _groups(queries: Sequence[Labelled]) -> Iterator[Finding]:
    parts: dict[str, set[str]] = {}
    for query in queries:
        if query.split_group is not None:
            parts.setdefault(query.split_group, set()).add(split_of(query))
    for name, found in parts.items():
        if len(found) > 1:
            yield fault("group_across_parts", name[:80], f"its queries stand in {_sides(found)}")


def _questions(queries: Sequence[Labelled], tenants: set[str | None]) -> Iterator[Finding]:
    alike: dict[tuple[str | None, str], list[Labelled]] = {}
    for query in queries:
        alike.setdefault((asker(query, tenants), words_of(query.asked.get("query") or "")), []).append(query)
    for same in alike.values():
        found = {split_of(query) for query in same}
        if len(found) > 1:
            where = listed([query.id for query in same])
            yield fault("question_across_parts", where, f"the same question stands in {_sides(found)}")


def _answers(queries: Sequence[Labelled], tenants: set[str | None]) -> Iterator[Finding]:
    sides: Sides = {}
    for query in queries:
        for name in query.relevant:
            sides.setdefault((asker(query, tenants), name), set()).add(split_of(query))
    across = {key: found for key, found in sides.items() if len(found) > 1}
    say = fault if len(across) > SHARED * len(sides) else remark
    for (_, name), found in across.items():
        yield say("memory_across_parts", name[:80], f"it is relevant to queries of {_sides(found)}")


def _sides(found: AbstractSet[str]) -> str:
    return " and ".join(sorted(found))


def _copies(queries: Sequence[Labelled], tenants: set[str | None], memories: Known) -> Iterator[Finding]:
    texts = {space: _Texts([m for (own, _), m in memories.items() if own == space]) for space in tenants}
    for query in queries:
        text = words_of(query.asked.get("query") or "")
        space = asker(query, tenants)
        if space not in texts or (text.count(" ") + 1 < WORDS and len(text) < LETTERS):
            continue
        found = texts[space].holding(text)
        answers = [name for name in found if name in query.relevant]
        if answers:
            yield fault("query_in_answer", query.id, f"its text stands in what answers it: {listed(answers)}")
        elif found:
            yield remark("query_in_memory", query.id, f"its text stands in {listed(found)}")


def words_of(text: str) -> str:
    """A text as its words, small, one space between: what counts as the same wording."""
    return " ".join(_WORD.findall(text.casefold()))


class _Texts:
    """The words of many memories in one text, which is searched at once."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        self._ids = [memory.id for memory in memories]
        self._starts: list[int] = []
        parts = []
        length = 0
        for memory in memories:
            # A space on either side, so that whole words are found; a line break keeps memories apart.
            part = f" {words_of(memory.content)} \n"
            self._starts.append(length)
            parts.append(part)
            length += len(part)
        self._text = "".join(parts)

    def holding(self, words: str) -> list[str]:
        """Ids of the memories that hold these words one after the other."""
        found: dict[str, None] = {}
        at = self._text.find(f" {words} ")
        while at >= 0:
            found[self._ids[bisect_right(self._starts, at) - 1]] = None
            at = self._text.find(f" {words} ", at + 1)
        return list(found)
