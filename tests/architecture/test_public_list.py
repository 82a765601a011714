"""What users may import from `memrank`: one explicit list, and nothing beside it."""

import subprocess
import sys

import memrank

PROBE = """
import memrank, types
names = {name for name, value in vars(memrank).items() if not isinstance(value, types.ModuleType)}
print(*sorted(name for name in names if not name.startswith("_")))
"""

TYPING = {"Any", "TYPE_CHECKING"}
"""What the module itself needs of the standard library."""


def test_every_public_name_can_be_imported() -> None:
    for name in memrank.__all__:
        assert getattr(memrank, name) is not None


def test_the_list_is_sorted_and_says_each_name_once() -> None:
    assert memrank.__all__ == sorted(set(memrank.__all__))


def test_dir_shows_the_list() -> None:
    assert dir(memrank) == sorted(memrank.__all__)


def test_nothing_else_is_public() -> None:
    """In a fresh interpreter: other tests import submodules, which then are attributes of the package."""
    shown = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True).stdout.split()
    assert set(shown) - TYPING <= set(memrank.__all__)


def test_public_things_say_what_they_are_for() -> None:
    for name in memrank.__all__:
        assert name == "__version__" or (getattr(memrank, name).__doc__ or "").strip(), name


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(memrank, "no_such_name")
