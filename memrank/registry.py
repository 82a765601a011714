"""The composition root: from a checked spec to a pipeline. Kinds are a closed set; nothing in a spec is imported."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memrank.compiled import applied
from memrank.errors import UsageError
from memrank.indexing import Analyzer
from memrank.pipeline import Pipeline
from memrank.reads import open_reads
from memrank.spec import PrefilterSpec, PrunerSpec, RankerSpec, Spec, StageSpec, TemporalSpec, asked_of_a_model
from memrank.specfile import spec_sha256 as sha256_of
from memrank.speclm import LmSpec
from memrank.stages.base import Stage
from memrank.stages.prefilter import Prefilter
from memrank.stages.pruner import Pruner
from memrank.stages.ranker import Ranker
from memrank.stages.temporal import Temporal
from memrank.stores.base import Store
from memrank.stores.formats import MISSING
from memrank.stores.given import Given
from memrank.stores.jsonl import FileStore
from memrank.text.tokens import tokenizer_of

if TYPE_CHECKING:
    from memrank.remote import Remote

SQLITE_HEADER = b"SQLite format 3\x00"
SCALES = {"0-1": 1.0, "1-10": 10.0}


def make_stage(params: StageSpec, analyzer: Analyzer, lm: LmSpec | None = None) -> tuple[str, Stage]:
    """A stage of a registered kind, and the name of its place in the pipeline."""
    match params:
        case PrefilterSpec():
            return "prefilter", Prefilter(params, analyzer)
        case TemporalSpec():
            return "temporal", Temporal(params, lm)
        case RankerSpec():
            return "ranker", Ranker(params, lm)
        case PrunerSpec():
            return "pruner", Pruner(params, tokenizer_of(analyzer.language), lm)


def open_store(
    kind: str, path: Path, analyzer: Analyzer, *, importance_scale: str = "0-1", of_spec: bool = False
) -> Store:
    """A store of a registered kind; `of_spec`: its path stands in a spec."""
    if kind == "sqlite.v1":
        from memrank.stores.sqlite import SqliteStore

        return SqliteStore(path, analyzer)
    missing = "paths in a spec are relative to the spec" if of_spec else MISSING
    return FileStore(path, analyzer, importance_scale=SCALES[importance_scale], missing=missing)


def store_kind(path: Path) -> Literal["jsonl.v1", "sqlite.v1"]:
    """The kind of store that a file is, by its first bytes. Whoever reads it reports what is wrong with it."""
    try:
        if not path.is_file():  # the bytes of a pipe can be read once only
            return "jsonl.v1"
        with path.open("rb") as file:
            return "sqlite.v1" if file.read(len(SQLITE_HEADER)) == SQLITE_HEADER else "jsonl.v1"
    except OSError:
        return "jsonl.v1"


def build(
    spec: Spec, folder: Path, spec_sha256: str, *, store: Path | None = None, lm: bool = True, lm_cache: bool = True
) -> Pipeline:
    """The pipeline of a spec whose paths are relative to `folder`; `store` swaps the spec's store for another file.
    Without `lm` no model is asked, whatever the spec says; without `lm_cache` no answer of one is kept.

    What was compiled for the spec is part of the pipeline's spec and of its hash. Raises SpecError when the stages do
    not fit together, DataError for an artifact that is not the spec's. The store is opened when it is first read.
    """
    if spec.compiled is not None:
        spec = applied(spec, folder)
        spec_sha256 = sha256_of(spec)
    analyzer = Analyzer(spec.index.language, spec.index.embedder)
    where = spec.store
    scale = where.importance_scale if where else "0-1"
    opened, namespace = None, None
    if store is not None:
        opened = open_store(store_kind(store), store.absolute(), analyzer, importance_scale=scale)
    elif where is not None:
        opened = open_store(where.kind, folder / where.path, analyzer, importance_scale=scale, of_spec=True)
        namespace = where.namespace
    stages = dict(make_stage(params, analyzer, spec.lm) for params in spec.stages)
    given = Given(analyzer, importance_scale=SCALES[scale])
    reads = open_reads(spec, folder, spec_sha256, lambda: analyzer.id)
    remote = _remote(spec, cached=lm_cache) if lm and asks_a_model(spec) else None
    return Pipeline(spec, stages, opened, given, spec_sha256, namespace=namespace, reads=reads, remote=remote)


def asks_a_model(spec: Spec) -> bool:
    """Whether a stage of the spec asks a language model."""
    return spec.lm is not None and bool(asked_of_a_model(spec.stages))


def open_model(spec: Spec) -> "Remote":
    """The language model of a spec, for what is judged outside of a pipeline. Raises UsageError where it has none."""
    from memrank.remote import Remote

    if spec.lm is None:
        raise UsageError(f"the spec {spec.name} names no language model", hint="give it an lm section")
    return Remote(spec.lm, environ=os.environ)


def _remote(spec: Spec, *, cached: bool) -> "Remote | None":
    from memrank.remote import Remote

    if spec.lm is None:
        return None
    lm = spec.lm if cached else spec.lm.model_copy(update={"cache": 0})
    transcribes = spec.high_stakes and spec.reads is not None and spec.reads.log is not None
    return Remote(lm, environ=os.environ, transcribes=transcribes)
