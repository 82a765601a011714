"""Many queries in one run: a line each, in input order; one that fails says so and the rest goes on."""

import os
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from memrank.cli.output import Notices, deliver, json_text, tell
from memrank.cli.progress import progress, size_of
from memrank.cli.queries import opened
from memrank.errors import DataError, MemrankError, ScorerError, ServiceError, StoreError, UsageError
from memrank.pipeline import Pipeline
from memrank.queryrows import Row, question, rows
from memrank.render.lines import run_row
from memrank.result import utc_text
from memrank.stores.base import check_filters
from memrank.text.counted import counted, verb
from memrank.types import Note, Notes


@dataclass(kw_only=True)
class Batch:
    """A run over many queries. Each of `options` that is set counts before what a row says."""

    pipeline: Pipeline
    options: dict[str, Any]
    as_of: datetime | None
    """The time of every row; None: each row's own."""
    now: datetime
    """Stands in where a row has none."""
    whole: bool
    """Whether a line holds the whole answer, or ids and scores."""
    notices: Notices
    failed: int = field(default=0, init=False)
    total: int = field(default=0, init=False)
    summary: Notes = field(default_factory=Notes, init=False)
    seen: set[Note] = field(default_factory=set, init=False)

    def run(self, queries: str, out: str | None, sources: Iterable[str | os.PathLike[str]]) -> None:
        """Rank for every line of `queries`; a line for each to `out` (whole or not at all), or to stdout as they come.

        Raises DataError for what no row could do without: the queries, the store, its tenant. Under --strict the first
        repair or failure ends the run with a DataError.
        """
        with opened(queries) as stream:
            self._prove()
            # On a terminal the answers themselves show how far it is.
            hidden = self.notices.quiet or (out is None and sys.stdout.isatty())
            with progress(size_of(stream), "ranking", hidden=hidden) as done:
                found = rows(stream, "stdin" if queries == "-" else queries, self._skipped, done)
                deliver(map(self._line, found), out, sources=sources)
        unwritten = self.pipeline.flush()
        self.summary.extend([] if unwritten is None else [unwritten])
        self.notices.show(self.summary.as_tuple())
        if self.failed and not self.notices.quiet:
            queries_made = counted(self.total, "query", "queries")
            why = verb(self.failed, "its row says why", "their rows say why")
            tell(f"{self.failed} of {queries_made} failed; {why}")

    def _prove(self) -> None:
        """Fail at once of what every row would fail of."""
        store, namespace = self.pipeline.store, self.options["namespace"]
        check_filters(self.options["filters"])
        if store is None:
            raise UsageError("no memories: the spec names no store", hint="--store FILE")
        if namespace is None:
            store.store_version()
        else:
            store.snapshot(namespace, self.now, {}, 0.0)

    def _skipped(self, note: Note) -> None:
        self.notices.refuse([note])
        self.summary.extend([note])

    def _line(self, row: Row) -> str:
        self.total += 1
        try:
            self.notices.refuse(row.notes)
            self.summary.extend(row.notes)
            answer = self._answer(row)
        except (StoreError, ServiceError, ScorerError):  # no fault of the query
            raise
        except MemrankError as fault:
            if self.notices.strict:
                raise DataError(f"query {row.id[:80]!r}: {fault.message}", hint=fault.hint) from None
            self.failed += 1
            failure = Note(level="failure", stage="read", code=fault.code, detail=fault.message)
            self.summary.extend([failure])
            answer = {"query_id": row.id, "results": [], "notes": [asdict(note) for note in (*row.notes, failure)]}
        return json_text(answer) + "\n"

    def _answer(self, row: Row) -> dict[str, Any]:
        asked = question(row)
        notes = list(row.notes)
        if self.as_of is not None:
            asked["as_of"] = self.as_of
        elif "as_of" not in asked:
            asked["as_of"] = self.now
            detail = f"no query_time: ranked as of {utc_text(self.now)}"
            notes.append(Note(level="info", stage="read", code="as_of_clock", detail=detail))
        given = {name: value for name, value in self.options.items() if value is not None}
        ranking = self.pipeline(**asked | given | {"filters": asked["filters"] | self.options["filters"]})
        self.notices.refuse(ranking.notes)
        # The notes on the store come with every answer, and are said once.
        self.summary.extend(note for note in ranking.notes if note not in self.seen)
        self.seen.update(ranking.notes)
        answer = ranking.to_dict() if self.whole else run_row(ranking.result)
        return {**answer, "notes": [asdict(note) for note in (*notes, *ranking.notes)]}
