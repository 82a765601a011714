"""Numbers in texts: with the word for what they count (`1 memory`, `2 memories`), and to tell equal names apart."""

from collections.abc import Iterable


def counted(number: int, one: str, many: str | None = None) -> str:
    """`many` is `one` with an s where it is left out."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def verb(number: int, one: str = "is", many: str = "are") -> str:
    """The form of a verb that goes with so many."""
    return one if number == 1 else many


def distinct(names: Iterable[str], number: str = " ({})") -> list[str]:
    """The names, of which one that comes again is numbered from 2 on, in a form such as ` (2)`."""
    found: dict[str, None] = {}
    for name in names:
        told, times = name, 1
        while told in found:
            times += 1
            told = name + number.format(times)
        found[told] = None
    return list(found)
