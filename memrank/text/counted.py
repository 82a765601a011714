"""Numbers with the word for what they count: `1 memory`, `2 memories`."""


def counted(number: int, one: str, many: str | None = None) -> str:
    """`many` is `one` with an s where it is left out."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def verb(number: int, one: str = "is", many: str = "are") -> str:
    """The form of a verb that goes with so many."""
    return one if number == 1 else many
