"""What a text says once a disguise is taken off: codes, look-alike, spelled out, reversed or mixed up letters."""

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote

from memrank.text.inert import inert

DEEPEST = 2
"""Codes within codes that are looked through."""

_TAGS = re.compile("[\U000e0020-\U000e007e]+")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})")
_CODED = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,6}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}[ ,:]?){10,}")
_SPELLED = re.compile(r"(?:(?<!\w)\w[ .\-_*]+){7,}\w(?!\w)")
_HYPHENED = re.compile(r"(?<=\b\w)-(?=\w\b)|(?<=-\w)-(?=\w)")
_WORD = re.compile(r"[a-z]{5,}")
_LEET = str.maketrans("0134578@$", "oieastb" + "as")
_ROT13 = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM"
)
_LOOKALIKES = str.maketrans("аеорсухіјѕԁһӏοανκτρν", "aeopcyxijsdhloavktpv")
"""Cyrillic and Greek letters that look like Latin ones."""
_MIXED_UP = (
    "ignore",
    "disregard",
    "previous",
    "instructions",
    "instruction",
    "memory",
    "score",
    "relevance",
    "highest",
)


def fold(text: str) -> str:
    """Lower case, compatible forms, without marks on letters, on one line."""
    plain = inert(unicodedata.normalize("NFKC", text)).casefold()
    if plain.isascii():
        return plain
    return "".join(char for char in unicodedata.normalize("NFD", plain) if not unicodedata.combining(char))


def readings(text: str, depth: int = 0) -> Iterator[str]:
    """Other readings of a text, folded; the text as it stands is not among them."""
    for hidden in _decoded(text):
        yield fold(hidden)
        if depth < DEEPEST - 1:
            yield from readings(hidden, depth + 1)
    plain = fold(text)
    if not plain.isascii():
        yield plain.translate(_LOOKALIKES)
    yield plain.translate(_LEET)
    yield plain[::-1]
    yield plain.translate(_ROT13)
    yield " ".join(word[::-1] for word in plain.split())
    yield _HYPHENED.sub("", plain)
    for spelled in _SPELLED.findall(unicodedata.normalize("NFKC", text)):
        # Where words stand further apart than letters they are words; else they are guessed by the rules.
        yield fold(" ".join(re.sub(r"[ .\-_*]", "", word) for word in re.split(r" {2,}", spelled)))
    yield _WORD.sub(_untangled, plain)


def _skeleton(word: str) -> tuple[str, str, str]:
    return word[0], "".join(sorted(word[1:-1])), word[-1]


_SKELETONS = {_skeleton(word): word for word in _MIXED_UP}


def _untangled(match: re.Match[str]) -> str:
    """The word whose inner letters were mixed up."""
    return _SKELETONS.get(_skeleton(match[0]), match[0])


def _decoded(text: str) -> Iterator[str]:
    """What stands in a text in a code."""
    for tags in _TAGS.findall(text):
        yield "".join(chr(ord(char) - 0xE0000) for char in tags)
    for decoded in (unquote(text), html.unescape(text), _ESCAPE.sub(_character, text)):
        if decoded != text:
            yield decoded
    for code in _CODED.findall(text):
        yield from _of_base(code)
    for code in _HEX.findall(text):
        digits = re.sub(r"[^0-9a-fA-F]", "", code)
        yield bytes.fromhex(digits[: len(digits) // 2 * 2]).decode("utf-8", "replace")


def _character(match: re.Match[str]) -> str:
    return chr(int(match[1] or match[2], 16))


def _of_base(code: str) -> Iterator[str]:
    """The text behind base64 and base32; nothing for what is neither."""
    bare = code.rstrip("=")
    for decode, altered, unit in (
        (base64.b64decode, bare.replace("-", "+").replace("_", "/"), 4),
        (base64.b32decode, bare.upper(), 8),
    ):
        try:
            found = decode(altered + "=" * (-len(altered) % unit)).decode("utf-8")
        except (binascii.Error, ValueError):
            continue
        if found.isprintable():
            yield found
