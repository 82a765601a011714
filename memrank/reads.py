"""What a pipeline does about its reads besides ranking: answers identical ones from memory, and records each one."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memrank.cache import Cache
from memrank.fileio import canonical_json, sha256_hex
from memrank.result import Result
from memrank.slate import Slate
from memrank.spec import Spec
from memrank.specreads import ReadsSpec
from memrank.types import Exchange, Note, Query
from memrank.version import __version__, shipped_model

if TYPE_CHECKING:  # they bring sqlite3, which a pipeline without a log does without
    from memrank.stores.readlog_entry import Origin
    from memrank.stores.readlog_writer import Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """An answer and what it was made of."""

    result: Result
    pool: Slate
    final: Slate
    exchanges: tuple[Exchange, ...] = ()
    """What was asked of a model, and answered, where that is to be kept."""


class Reads:
    """The cache and the log of a pipeline, as far as its spec has them."""

    def __init__(self, spec: ReadsSpec, writer: "Writer | None") -> None:
        self.writer = writer
        kept = spec.cache
        self.cache: Cache[Result] | None = None if kept is None else Cache(kept.size, kept.lifetime)
        self._granularity = kept.granularity if kept else 0.0
        self._version = ""

    def __deepcopy__(self, memo: object) -> "Reads":
        return self

    def key(self, context: str, as_of: datetime, store_version: str) -> str:
        """What identical reads have in common: what was asked, the store, and `as_of` but for the granularity."""
        moment = as_of.timestamp()
        span = moment // self._granularity if self._granularity else moment
        return sha256_hex(canonical_json([context, span, store_version]))

    def kept(self, key: str, query: Query) -> Result | None:
        """The answer of an identical read. It says that it was kept, and as of when."""
        found = self.cache.get(key) if self.cache is not None else None
        if found is None:
            return None
        asked = replace(query, as_of=found.query.as_of)
        return replace(found, query=asked, meta=replace(found.meta, cached=True))

    def keep(self, key: str, result: Result, *, own: bool) -> None:
        """Keep an answer, unless something failed on its way. `own`: it is over the pipeline's store.

        What was kept of an earlier version of that store goes: nobody can ask for it, and it holds the whole index.
        """
        if self.cache is None or any(note.level == "failure" for note in result.notes):
            return
        version = result.meta.store_version
        if own and version != self._version:
            self.cache.drop(self._version)
            self._version = version
        self.cache.put(key, result, version)

    def log(self, result: Result, asked: Query, at: datetime, context: str, read: Read | None) -> Note | None:
        """Record an answer; `read` is None where it was kept. A note where the log cannot be written."""
        if self.writer is None:
            return None
        from memrank.stores.readlog_entry import Call, Reading

        meta = result.meta
        call = Call(
            read_id=meta.read_id,
            at=at,
            as_of=asked.as_of,
            query_id=asked.id,
            latency_ms=meta.latency_ms,
            cached=meta.cached,
        )
        if read is None:
            return self.writer.put(Reading(call=call))
        reading = Reading(
            call=call, pool=read.pool, final=read.final, context=context, meta=meta, exchanges=read.exchanges
        )
        return self.writer.put(reading)


def open_reads(spec: Spec, folder: Path, spec_sha256: str, analyzer_id: Callable[[], str]) -> Reads | None:
    """The reads of a spec whose paths are relative to `folder`; None where it has neither a log nor a cache."""
    wanted = spec.reads
    if wanted is None:
        return None
    writer = None
    if wanted.log is not None:
        from memrank.stores.readlog_writer import Settings, Writer

        settings = Settings(
            path=(folder / wanted.log).absolute(),
            origin=Made(spec=spec, spec_sha256=spec_sha256, analyzer_id=analyzer_id),
            policy=wanted.text,
            redact=wanted.redact,
            keep=wanted.keep,
            durable=wanted.durable,
        )
        writer = Writer(settings)
    return Reads(wanted, writer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Says where answers come from."""

    spec: Spec
    spec_sha256: str
    analyzer_id: Callable[[], str]

    def __call__(self) -> "Origin":
        """As every record of the pipeline has it."""
        from memrank.stores.readlog_entry import Origin

        return Origin(
            spec_sha256=self.spec_sha256,
            spec=json.dumps(self.spec.model_dump(mode="json", exclude_unset=True)),
            memrank=__version__,
            analyzer=self.analyzer_id(),
            model=shipped_model(),
            stale_score_above=self.spec.review.stale_score_above,
            check_older_than=self.spec.review.check_older_than,
            high_stakes=self.spec.high_stakes,
        )
