"""An answer as the log has it: put together from what was recorded, with nothing judged anew."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from memrank.assemble import assemble
from memrank.errors import DataError
from memrank.indexing import Analyzer, Vocabulary, index
from memrank.recorded import Recorded, final_of
from memrank.result import Result
from memrank.slate import Slate
from memrank.spec import Spec
from memrank.stores.readlog import Kept
from memrank.tenant import Tenant
from memrank.text.tokens import tokenizer_of
from memrank.types import Memory
from memrank.whatif import spec_of


def recorded_result(kept: Kept) -> tuple[Result, tuple[str, ...]]:
    """The answer as it was recorded, and the ids of memories whose text the log does not hold: those are empty here."""
    missing = tuple(found.id for found in kept.candidates if found.memory is None)
    memories = [
        Memory(id=found.id, namespace=found.namespace, content="") if found.memory is None else found.memory
        for found in kept.candidates
    ]
    spec = recorded_spec(kept)
    tenant = tenant_of(kept.recorded, memories, Analyzer(spec.index.language, "none"))
    if spec.index.embedder != "none":  # that there are vectors is told, what they are is not asked
        tenant = replace(tenant, vectors=np.zeros((len(memories), 1), dtype=np.float32))
    final = final_of(kept.recorded, _shell(kept.recorded, tenant))
    return assembled(final, spec, kept), missing


def recorded_spec(kept: Kept) -> Spec:
    """The spec of a read. Raises DataError where the log has lost it, SpecError where it is none any more."""
    if kept.spec is None:
        raise DataError(f"the log has lost the spec of read {kept.read_id[:8]}")
    return spec_of(kept.spec)


def tenant_of(recorded: Recorded, memories: Sequence[Memory], analyzer: Analyzer) -> Tenant:
    """The candidates alone, as a tenant that knows the terms of the query."""
    vocabulary = Vocabulary()
    indexed = index(memories, analyzer, vocabulary)
    vocabulary.ids(tokenizer_of(analyzer.language).terms(recorded.query.text))
    return Tenant.build(recorded.namespace, indexed, vocabulary, analyzer.language)


def assembled(slate: Slate, spec: Spec, kept: Kept, sha256: str | None = None) -> Result:
    """The result of a slate of this read."""
    return assemble(
        slate,
        spec,
        read_id=kept.read_id,
        spec_sha256=sha256 or kept.spec_sha256,
        store_version=kept.store_version,
    )


def _shell(recorded: Recorded, tenant: Tenant) -> Slate:
    """A slate of the candidates for what is only shown."""
    rows = np.arange(len(tenant.memories), dtype=np.int64)
    asked = dict.fromkeys(tokenizer_of(tenant.language).terms(recorded.query.text))
    known = zip(asked, recorded.idf, strict=False)
    return Slate(
        query=recorded.query,
        tenant=tenant,
        rows=rows,
        visible=np.ones(len(rows), dtype=np.bool_),
        protected=np.zeros(len(rows), dtype=np.bool_),
        columns={},
        limits=recorded.limits,
        query_terms={term: weight for term, weight in known if weight is not None},
    )
