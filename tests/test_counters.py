"""How tokens are counted."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memrank
from memrank.counters import token_counter


@pytest.mark.parametrize(
    ("name", "text", "tokens"),
    [
        ("estimate", "", 0),
        ("estimate", "a" * 40, 11),
        ("estimate:0", "a" * 40, 10),
        ("estimate:0.5", "a" * 40, 15),
        ("estimate:0", "abcde", 2),
        ("estimate:0", "\U0001f600", 1),
    ],
)
def test_the_estimate(name: str, text: str, tokens: int) -> None:
    assert token_counter(name)(text) == tokens


@given(st.text(max_size=200))
def test_the_estimate_is_never_below_four_bytes_a_token(text: str) -> None:
    assert token_counter()(text) >= len(text.encode("utf-8", "surrogatepass")) / 4


@pytest.mark.parametrize(
    "name", ["", "words", "tiktoken", "tiktoken:", "tokenizers:", "estimate:x", "estimate:-1", "estimate:nan"]
)
def test_unknown_counters(name: str) -> None:
    with pytest.raises(memrank.UsageError, match="counter of tokens"):
        token_counter(name)


def test_a_tokenizer_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    words = {"[UNK]": 0, "the": 1, "fee": 2}
    model = {"type": "WordLevel", "vocab": words, "unk_token": "[UNK]"}
    file.write_text(json.dumps({"version": "1.0", "model": model, "pre_tokenizer": {"type": "Whitespace"}}))
    count = token_counter(f"tokenizers:{file}")
    assert count("the fee is \ud800") == 4
    assert count("") == 0
    file.write_text("{}")
    for wrong in (file, tmp_path / "missing.json"):
        with pytest.raises(memrank.DataError):
            token_counter(f"tokenizers:{wrong}")


def test_a_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(memrank.DependencyError, match="tiktoken"):
        token_counter("tiktoken:cl100k_base")
