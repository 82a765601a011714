"""Untrusted text made harmless to show: one line, nothing invisible, nothing that steers a terminal."""

import re

from memrank.text.summary import ELLIPSIS

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+")
"""Control characters, lone surrogates, and the two other code points that no XML document may hold."""
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
"""Unicode's Default_Ignorable_Code_Point (zero-width characters, direction overrides and isolates, variation selectors,
tag characters) and the interlinear marks: what a person cannot see and a model still reads."""

_SCANNED_PER_CHARACTER = 8


def inert(text: str) -> str:
    """The text on one line: white space as single spaces, control characters as U+FFFD, invisible ones left out."""
    if not text.isascii():
        text = _INVISIBLE.sub("", text)
    # Split at every white space of Unicode: line and paragraph separators, next line and vertical tabs are among it.
    return _CONTROL.sub("\ufffd", " ".join(text.split()))


def clip(text: str, length: int) -> str:
    """The start of `inert(text)`, at most `length` characters, with an ellipsis where something is left out."""
    scanned = text[: length * _SCANNED_PER_CHARACTER]
    short = inert(scanned)
    if len(short) <= length and len(scanned) == len(text):
        return short
    return short[: length - 1].rstrip() + ELLIPSIS
