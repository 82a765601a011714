"""What memrank leans on in wordllama: the names and contents of its data files, which are read without importing it."""

import json
import subprocess
import sys

import numpy as np

from memrank.text.embed import DIMENSIONS, StaticEmbedder

TEXTS = [
    "The Fed holds rates; two cuts are expected this year.",
    "Prefers mornings.",
    "¿Dónde está la clínica? — Calle 12",
    "利下げは今年二回と見られている。",
    "a",
    "def main() -> None:\n    return None\n" * 40,
]

# In another process: importing wordllama configures the root logger.
REFERENCE = """
import json, os, sys
import wordllama
model = wordllama.WordLlama.load(cache_dir=os.path.dirname(wordllama.__file__), disable_download=True)
print(json.dumps(model.embed(json.load(sys.stdin), norm=True).tolist()))
"""


def test_the_vectors_are_those_of_the_package() -> None:
    """Within what 16-bit floats hold: memrank rounds, the package does not."""
    done = subprocess.run(
        [sys.executable, "-c", REFERENCE], input=json.dumps(TEXTS), capture_output=True, text=True, check=True
    )
    theirs = np.array(json.loads(done.stdout), dtype=np.float32)
    ours = StaticEmbedder().embed(TEXTS)
    assert ours.shape == theirs.shape == (len(TEXTS), DIMENSIONS)
    np.testing.assert_allclose(ours, theirs, atol=5e-4, rtol=0)
    np.testing.assert_allclose((ours * theirs).sum(axis=1), 1.0, atol=1e-3)


def test_rows_do_not_depend_on_their_neighbours() -> None:
    embedder = StaticEmbedder()
    together = embedder.embed(TEXTS)
    for text, row in zip(TEXTS, together, strict=True):
        np.testing.assert_array_equal(embedder.embed([text])[0], row)


def test_text_without_tokens_is_the_zero_vector() -> None:
    assert not StaticEmbedder().embed([""]).any()
