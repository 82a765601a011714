"""Secrets taken out of text before it is kept: keys, tokens and passwords, and whatever else a spec names."""

import re
from collections.abc import Sequence

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


class Redactor:
    """Replaces every match by REMOVED."""

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self._patterns = [re.compile(pattern) for pattern in (*_SECRETS, *patterns)]

    def clean(self, text: str) -> str:
        """The text without what matches; the same object where nothing does."""
        for pattern in self._patterns:
            text = pattern.sub(REMOVED, text)
        return text
