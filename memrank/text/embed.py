"""Sentence vectors from the static model that the `wordllama` package carries: token vectors, averaged, unit length.

The weights and the tokenizer are read straight from the package's files: importing `wordllama` itself would set up the
root logger and pad every batch to its longest text. Source of the method: WordLlama (MIT), mean pooling of token
embeddings trained from Llama codebooks.
"""

import importlib.util
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memrank.errors import DataError, DependencyError

DIMENSIONS = 256
WORD_DIMENSIONS = 64
MODEL_ID = "wordllama-l2-supercat-256"
# A static mean changes little after this many characters; a bound keeps one huge memory from stalling a store.
MAX_CHARS = 40_000
_BATCH_CHARS = 400_000

Vectors = NDArray[np.float32]


def _package_file(folder: str, name: str) -> Path:
    spec = importlib.util.find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise DependencyError(
            "the package wordllama is not installed", hint="pip install wordllama, or index: {embedder: none}"
        )
    path = Path(spec.origin).parent / folder / name
    if not path.is_file():
        raise DependencyError(
            f"this version of wordllama has no {folder}/{name}", hint="pip install 'wordllama>=0.4.0,<0.5'"
        )
    return path


class StaticEmbedder:
    """Vectors of shape (n, 256), unit length; the zero vector for text without any known token.

    Values are float32 rounded to what 16 bits hold, so that a store that keeps 16 bits ranks as one that keeps nothing:
    the length of a vector is 1 within 0.001.
    """

    model_id = MODEL_ID

    def __init__(self) -> None:
        from safetensors import safe_open
        from tokenizers import Tokenizer

        self._tokenizer: Tokenizer = Tokenizer.from_file(
            str(_package_file("tokenizers", "l2_supercat_tokenizer_config.json"))
        )
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        with safe_open(str(_package_file("weights", "l2_supercat_256.safetensors")), framework="numpy") as weights:
            self._table: NDArray[np.float16] = weights.get_tensor("embedding.weight")

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text. Rows do not depend on the other texts given."""
        out = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        start = 0
        while start < len(texts):
            stop, size = start, 0
            while stop < len(texts) and (stop == start or size + min(len(texts[stop]), MAX_CHARS) <= _BATCH_CHARS):
                size += min(len(texts[stop]), MAX_CHARS)
                stop += 1
            self._embed_batch([text[:MAX_CHARS] for text in texts[start:stop]], out[start:stop])
            start = stop
        return out

    def embed_words(self, words: Sequence[str]) -> Vectors:
        """Short vectors of single words, shape (n, WORD_DIMENSIONS), unit length: the model's leading dimensions.

        The model is trained so that its leading dimensions are an embedding of their own (Kusupati et al. 2022,
        Matryoshka representation learning).
        """
        short = self.embed(words)[:, :WORD_DIMENSIONS]
        norms = np.sqrt(np.einsum("ij,ij->i", short, short))[:, None]
        unit: Vectors = np.divide(short, norms, out=np.zeros_like(short), where=norms > 0)
        return unit

    def _embed_batch(self, texts: list[str], out: Vectors) -> None:
        encoded = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        for row, encoding in enumerate(encoded):
            ids = encoding.ids
            if ids:
                mean = self._table[ids].astype(np.float32).mean(axis=0)
                norm = float(np.sqrt(np.dot(mean, mean)))
                if norm > 0:
                    out[row] = (mean / norm).astype(np.float16)


def tokenizer_of_file(file: str) -> Callable[[str], int]:
    """Counts the tokens of a text by a `tokenizer.json`, without special ones. Raises DataError for another file."""
    from tokenizers import Tokenizer

    try:
        tokenizer: Tokenizer = Tokenizer.from_file(file)
    except Exception as error:  # noqa: BLE001 - the package raises nothing more precise
        raise DataError(f"{file}: no tokenizer can be read from it: {error}") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def count(text: str) -> int:
        # What UTF-8 cannot hold is counted as a question mark.
        return len(tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8"), add_special_tokens=False).ids)

    return count


_lock = threading.Lock()


@cache
def _load() -> StaticEmbedder:
    return StaticEmbedder()


def static_embedder() -> StaticEmbedder:
    """The one embedder of this process: its 16 MB table is read once."""
    with _lock:
        return _load()
