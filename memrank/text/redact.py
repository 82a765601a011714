"""Secrets taken out of text before it is kept: keys, tokens and passwords, and whatever else a spec names."""

import re
from collections.abc import Sequence
from itertools import chain

REMOVED = "[removed]"

_SECRETS = (
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[\s\S]{0,20000}?-----END [A-Z ]{0,40}PRIVATE KEY-----|[\s\S]{0,20000})",
    r"\bBearer\s+(?=\S{0,200}\d)[A-Za-z0-9._~+/=-]{12,}",
    r"\beyJ[A-Za-z0-9_-]{8,500}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]*",
    r"\b(?:sk|pk|rk)[-_](?=[A-Za-z0-9_-]{0,200}\d)[A-Za-z0-9_-]{16,}",
    r"\b(?:hf_|gh[a-z]_|github_pat_|glpat-|xox[a-z]-|npm_|pypi-)[A-Za-z0-9_-]{12,}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r"\bAIza[A-Za-z0-9_-]{30,}",
    r"(?<=://)[^\s/:@]{1,200}:[^\s/@]{1,200}(?=@)",
    r"(?i:(?<![a-z])(?:api[_ -]?key|secret(?:[_ -]?key)?|access[_ -]?token|auth[_ -]?token|password|passwd))"
    r"[\"']?\s*[:=]\s*[\"']?[^\s\"',;]{4,}",
)
"""What gives somebody access. Addresses and numbers of people are what memories are about, and stay.

Whatever is looked ahead for is bounded: text that is made to be slow to read must not be.
"""


_ESCAPES = re.compile(r"(?<!\\)\\+(?=[\"'])")
"""What JSON writes before a quote, at any depth."""


class Redactor:
    """Replaces every match by REMOVED."""

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self._patterns = [re.compile(pattern) for pattern in (*_SECRETS, *patterns)]

    def clean(self, text: str) -> str:
        """The text without what matches; the same object where nothing does."""
        for pattern in self._patterns:
            text = pattern.sub(REMOVED, text)
        return text

    def clean_quoting(self, text: str) -> str:
        """As `clean`, of a text that may hold JSON: what matches once its quotes are no longer escaped goes, too."""
        for pattern in self._patterns:
            escapes = [range(*match.span()) for match in _ESCAPES.finditer(text)]
            plain = _ESCAPES.sub("", text)
            if not escapes or not pattern.search(plain):
                continue
            left = set(chain.from_iterable(escapes))
            places = [place for place in range(len(text)) if place not in left]
            for match in reversed([match for match in pattern.finditer(plain) if match[0]]):
                start, end = places[match.start()], places[match.end() - 1] + 1
                text = f"{text[:start]}{REMOVED}{text[end:]}"
        return self.clean(text)
