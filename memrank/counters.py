"""How tokens are counted: by an estimate with a margin, or exactly, by a tokenizer that is installed."""

import math
from collections.abc import Callable
from pathlib import Path

from memrank.errors import DataError, DependencyError, UsageError
from memrank.tenant import count_tokens

Counter = Callable[[str], int]
"""Tokens of a text."""

MARGIN = 0.1
"""What the estimate adds: four bytes a token are near the truth for English prose; code takes more."""

KINDS = "estimate, estimate:MARGIN, tiktoken:ENCODING or tokenizers:FILE"


def token_counter(name: str = "estimate") -> Counter:
    """The counter of a name.

    `estimate` counts four bytes of UTF-8 as a token and adds a tenth; `estimate:0.3` adds three tenths, `estimate:0`
    nothing. `tiktoken:cl100k_base` counts as tiktoken does, which must be installed (and may fetch the encoding once).
    `tokenizers:FILE` counts by the tokenizer of a `tokenizer.json` of Hugging Face. Raises UsageError for another name,
    DependencyError where the package is missing, DataError for a file that holds no tokenizer.
    """
    kind, _, rest = name.partition(":")
    match kind:
        case "estimate":
            return _estimate(rest, name)
        case "tiktoken" if rest:
            return _tiktoken(rest)
        case "tokenizers" if rest:
            return _tokenizers(rest)
    raise UsageError(f"unknown counter of tokens {name[:80]!r}", hint=f"one of {KINDS}")


def _estimate(rest: str, name: str) -> Counter:
    try:
        margin = float(rest) if rest else MARGIN
    except ValueError:
        margin = -1.0
    if not 0 <= margin <= 10:
        raise UsageError(f"counter of tokens {name[:80]!r}: the margin must be a number from 0 to 10")
    return lambda text: math.ceil(count_tokens(text) * (1.0 + margin))


def _tiktoken(encoding: str) -> Counter:
    try:
        import tiktoken
    except ImportError:
        raise DependencyError("tiktoken is not installed", hint="pip install tiktoken") from None
    try:
        found = tiktoken.get_encoding(encoding)
    except ValueError:
        known = ", ".join(tiktoken.list_encoding_names())
        raise UsageError(f"tiktoken has no encoding {encoding[:80]!r}", hint=f"it has {known}") from None
    except OSError:  # it is fetched once, from the network
        raise DependencyError(
            f"tiktoken cannot fetch the encoding {encoding[:80]!r}", hint="fetch it once while online, or name another"
        ) from None
    # Text is data: what looks like a special token is counted as the text it is.
    return lambda text: len(found.encode(text.encode("utf-8", "replace").decode("utf-8"), disallowed_special=()))


def _tokenizers(file: str) -> Counter:
    from memrank.text.embed import tokenizer_of_file

    if not Path(file).is_file():
        raise DataError(f"{file}: there is no such file", hint="name a tokenizer.json")
    return tokenizer_of_file(file)


ESTIMATE = token_counter()
"""The counter where none is named."""
