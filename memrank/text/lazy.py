"""Regular expressions that are compiled when they are first used: compiling all of them would be a tenth of a start."""

import re
from collections.abc import Iterator
from functools import cached_property


class Pattern:
    """A `re.Pattern` that waits. Only what this package uses of it."""

    def __init__(self, *texts: str) -> None:
        """Of several texts, any may match."""
        self._text = "|".join(texts)

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._text)

    def search(self, text: str, start: int = 0, end: int = 1 << 62) -> re.Match[str] | None:
        """See `re.Pattern.search`."""
        return self._compiled.search(text, start, end)

    def match(self, text: str, start: int = 0, end: int = 1 << 62) -> re.Match[str] | None:
        """See `re.Pattern.match`."""
        return self._compiled.match(text, start, end)

    def fullmatch(self, text: str, start: int = 0, end: int = 1 << 62) -> re.Match[str] | None:
        """See `re.Pattern.fullmatch`."""
        return self._compiled.fullmatch(text, start, end)

    def finditer(self, text: str, start: int = 0, end: int = 1 << 62) -> Iterator[re.Match[str]]:
        """See `re.Pattern.finditer`."""
        return self._compiled.finditer(text, start, end)

    def sub(self, replacement: str, text: str) -> str:
        """See `re.Pattern.sub`."""
        return self._compiled.sub(replacement, text)
