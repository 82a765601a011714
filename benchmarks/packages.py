"""Other people's packages as systems of the comparison: LangChain's and LlamaIndex's recency, over the same vectors.

Each query starts afresh: what a package notes about a memory when it returns it is not carried to the next query. The
length of the result is raised from the packages' defaults (4 and 1) to that of every other ranking; all else is as they
ship it.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from goldens import Asked, GoldenSet, text_of

from memrank.text.embed import static_embedder

KEEP = 50
FIRST = 10
LONGEST_HOURS = 1900 * 365.0 * 24.0
"""An age that no date before the year 1 comes of."""


def langchain_time_weighted(golden: GoldenSet) -> list[list[str]]:
    """TimeWeightedVectorStoreRetriever of langchain-classic: cosine of its 100 best + (1 - 0.01)^hours.

    It reads the clock, so that dates are moved: a memory is as old by the clock as it was at the query.
    """
    from langchain_classic.retrievers import TimeWeightedVectorStoreRetriever
    from langchain_core.documents import Document
    from langchain_core.vectorstores import InMemoryVectorStore

    class Similar(InMemoryVectorStore):
        """The memories that a query may see, with the cosine that all systems share."""

        def __init__(self, documents: list[Document], asked: Asked) -> None:
            self.documents, self.asked = documents, asked

        def similarity_search_with_relevance_scores(
            self, query: str, k: int = 4, **kwargs: Any
        ) -> list[tuple[Document, float]]:
            best = np.argsort(-self.asked.similarity, kind="stable")[:k]
            return [(self.documents[place], float(self.asked.similarity[place])) for place in best]

    made: dict[tuple[str | None, str], Document] = {}
    run = []
    for asked in golden.asked:
        clock = datetime.now()  # noqa: DTZ005 - the package's own habit
        hours = np.minimum(asked.unused_hours, LONGEST_HOURS)
        documents = []
        for memory in asked.memories:
            key = asked.tenant, memory.id
            if key not in made:
                made[key] = Document(page_content=text_of(memory), metadata={"memory": memory.id})
            documents.append(made[key])
        stream = [documents[place] for place in np.argsort(-asked.hours, kind="stable")]
        for place, document in enumerate(stream):
            document.metadata["buffer_idx"] = place
        for document, age in zip(documents, hours, strict=True):
            document.metadata["last_accessed_at"] = clock - timedelta(hours=float(age))
        retriever = TimeWeightedVectorStoreRetriever(
            vectorstore=Similar(documents, asked), memory_stream=stream, k=KEEP
        )
        run.append([document.metadata["memory"] for document in retriever.invoke(asked.text)])
    return run


def llamaindex_fixed(golden: GoldenSet) -> list[list[str]]:
    """FixedRecencyPostprocessor of llama-index-core over the 50 most similar: by date alone."""
    from llama_index.core.postprocessor import FixedRecencyPostprocessor

    return _postprocessed(golden, lambda _: FixedRecencyPostprocessor(top_k=KEEP), KEEP)


def llamaindex_fixed_first(golden: GoldenSet) -> list[list[str]]:
    """The same over the 10 most similar, the others behind them as they were."""
    from llama_index.core.postprocessor import FixedRecencyPostprocessor

    return _postprocessed(golden, lambda _: FixedRecencyPostprocessor(top_k=KEEP), FIRST)


def llamaindex_embedding(golden: GoldenSet) -> list[list[str]]:
    """EmbeddingRecencyPostprocessor of llama-index-core over the 50 most similar.

    By date; an older memory too similar (0.7) to a newer one is left out. Its embedding model is wordllama.
    """
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.postprocessor import EmbeddingRecencyPostprocessor

    kept: dict[str, list[float]] = {}

    class Static(BaseEmbedding):
        """The vectors that all systems share."""

        def _get_text_embedding(self, text: str) -> list[float]:
            if text not in kept:
                kept[text] = static_embedder().embed([text])[0].tolist()
            return kept[text]

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

    model = Static(model_name="wordllama")
    return _postprocessed(golden, lambda _: EmbeddingRecencyPostprocessor(embed_model=model), KEEP)


def llamaindex_time_weighted(golden: GoldenSet) -> list[list[str]]:
    """TimeWeightedPostprocessor of llama-index-core over the 50 most similar: cosine + (1 - 0.99)^hours."""
    from llama_index.core.postprocessor import TimeWeightedPostprocessor

    return _postprocessed(golden, lambda asked: TimeWeightedPostprocessor(top_k=KEEP, now=asked.now), KEEP)


def _postprocessed(golden: GoldenSet, processor: Any, first: int) -> list[list[str]]:
    """The `first` most similar through a postprocessor, then the rest of KEEP; as they were without any date."""
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    made: dict[tuple[str | None, str], TextNode] = {}
    run = []
    for asked in golden.asked:
        best = [int(place) for place in np.argsort(-asked.similarity, kind="stable")[:KEEP]]
        if not asked.dated[best].any():
            run.append(asked.ids(best))
            continue
        nodes = []
        for place in best[:first]:
            memory = asked.memories[place]
            node = made.get((asked.tenant, memory.id))
            if node is None:
                hidden = ["date", "__last_accessed__"]
                node = TextNode(id_=memory.id, text=text_of(memory), excluded_embed_metadata_keys=hidden)
                made[asked.tenant, memory.id] = node
            date = datetime.fromtimestamp(asked.now - 3600.0 * asked.hours[place], UTC)
            node.metadata = {
                "date": date.isoformat(timespec="seconds"),
                "__last_accessed__": asked.now - 3600.0 * float(asked.unused_hours[place]),
            }
            nodes.append(NodeWithScore(node=node, score=float(asked.similarity[place])))
        answer = processor(asked).postprocess_nodes(nodes, query_bundle=QueryBundle(asked.text))
        run.append([one.node.node_id for one in answer] + asked.ids(best[first:]))
    return run
