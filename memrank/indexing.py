"""From memories to what is kept of their text: term ids and a unit vector each."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Literal, Protocol

import numpy as np

from memrank.errors import UsageError
from memrank.tenant import Indexed, TermIds, Vectors, scored_text
from memrank.text.tokens import Language, tokenizer_of
from memrank.types import Memory


class Embedder(Protocol):
    """Text to vectors of unit length. `model_id` names the model, so that kept vectors are never mixed."""

    model_id: str

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, d), float32; rows do not depend on each other."""

    def embed_words(self, words: Sequence[str]) -> Vectors:
        """Shape (n, k), float32: short vectors for comparing word with word."""


def make_embedder(name: Literal["wordllama", "none"]) -> Embedder | None:
    """The embedder a spec names; loading its weights waits until it is first asked."""
    if name == "none":
        return None
    from memrank.text.embed import static_embedder

    return static_embedder()


@dataclass(frozen=True, slots=True)
class Analysed:
    """What is kept of a text: its terms (repeats kept) and its unit vector."""

    terms: tuple[str, ...]
    vector: Vectors | None


class Analyzer:
    """Reads text for the index, and remembers what it read: one for each (language, embedder), safe to share by
    threads.
    """

    CAPACITY = 20_000
    SHORT = 4_000
    WORDS = 200_000

    def __init__(self, language: Language = "english", embedder: Literal["wordllama", "none"] = "wordllama") -> None:
        self.language = language
        self.embedder_name = embedder
        self._tokenizer = tokenizer_of(language)
        self._kept: OrderedDict[str, Analysed] = OrderedDict()
        self._words: dict[str, Vectors] = {}
        self._lock = threading.Lock()

    def __deepcopy__(self, memo: object) -> "Analyzer":
        return self

    @property
    def id(self) -> str:
        """Names everything that kept terms and vectors depend on."""
        embedder = make_embedder(self.embedder_name)
        return f"terms-1/{self.language}/{embedder.model_id if embedder else 'none'}"

    def terms(self, text: str) -> list[str]:
        """The terms of a text, repeats kept."""
        return self._tokenizer.terms(text)

    def vector(self, text: str) -> Vectors | None:
        """The unit vector of one text, shape (d,), or None without an embedder."""
        embedder = make_embedder(self.embedder_name)
        return None if embedder is None else embedder.embed([text])[0]

    def word_vectors(self, terms: Sequence[str]) -> Vectors:
        """Short unit vectors of single terms, shape (n, d). Raises UsageError without an embedder."""
        embedder = make_embedder(self.embedder_name)
        if embedder is None:
            raise UsageError("this index has no embedder, and so no word vectors")
        with self._lock:
            missing = [term for term in dict.fromkeys(terms) if term not in self._words]
            if len(self._words) + len(missing) > self.WORDS:
                self._words.clear()
                missing = list(dict.fromkeys(terms))
            if missing:
                self._words.update(zip(missing, embedder.embed_words(missing), strict=True))
            return np.stack([self._words[term] for term in terms])

    def analyse(self, texts: Sequence[str], *, remember: bool = False) -> list[Analysed]:
        """Terms and vector of each text. The newest CAPACITY short texts that are to be remembered are kept."""
        with self._lock:
            found = {text: self._kept[text] for text in texts if text in self._kept}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            new = dict(zip(missing, self._read(missing), strict=True))
            found |= new
            if remember:
                with self._lock:
                    self._kept.update((text, found) for text, found in new.items() if len(text) <= self.SHORT)
                    while len(self._kept) > self.CAPACITY:
                        self._kept.popitem(last=False)
        return [found[text] for text in texts]

    def _read(self, texts: Sequence[str]) -> list[Analysed]:
        embedder = make_embedder(self.embedder_name)
        vectors: Iterable[Vectors | None] = repeat(None) if embedder is None else embedder.embed(texts)
        return [Analysed(tuple(self.terms(text)), vector) for text, vector in zip(texts, vectors, strict=False)]


class Vocabulary(dict[str, int]):
    """Term to id, in order of first use."""

    def ids(self, terms: Sequence[str]) -> TermIds:
        """Ids of the terms; new terms get the next ones."""
        return np.array([self.setdefault(term, len(self)) for term in terms], dtype=np.int32)


def index(
    memories: Sequence[Memory], analyzer: Analyzer, vocabulary: Vocabulary, *, remember: bool = False
) -> list[Indexed]:
    """Each memory with its term ids and vector; `vocabulary` grows by the terms that are new to it."""
    analysed = analyzer.analyse([scored_text(memory) for memory in memories], remember=remember)
    return [
        Indexed(memory=memory, terms=vocabulary.ids(found.terms), vector=found.vector)
        for memory, found in zip(memories, analysed, strict=True)
    ]
