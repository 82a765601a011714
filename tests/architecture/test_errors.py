"""The error tree: every error can be told apart by its code, and says what the command line exits with."""

import importlib
import pkgutil

import pytest

import memrank
from memrank.errors import MemrankError

# What the command line promises: 1 a gate failed, 2 usage or spec, 3 data, 4 a model or service.
EXITS = {1, 2, 3, 4}


def _tree(root: type[MemrankError]) -> list[type[MemrankError]]:
    return [root, *(below for child in root.__subclasses__() for below in _tree(child))]


@pytest.fixture(scope="module")
def errors() -> list[type[MemrankError]]:
    """Every error class of the package, wherever it is defined."""
    for module in pkgutil.walk_packages(memrank.__path__, "memrank."):
        importlib.import_module(module.name)
    return [error for error in _tree(MemrankError) if error.__module__.startswith("memrank.")]


def test_the_whole_tree_stands_in_one_file(errors: list[type[MemrankError]]) -> None:
    assert {error.__module__ for error in errors} == {"memrank.errors"}


def test_every_error_has_a_code_of_its_own(errors: list[type[MemrankError]]) -> None:
    codes = {error: vars(error).get("code") for error in errors}
    assert all(codes.values()), codes
    assert len(set(codes.values())) == len(codes), codes


def test_every_error_has_an_exit_status_that_is_promised(errors: list[type[MemrankError]]) -> None:
    assert {error.exit_status for error in errors} <= EXITS


def test_errors_carry_a_message_and_a_way_out() -> None:
    assert str(MemrankError("broken", hint="mend it")) == "broken\n  hint: mend it"
    assert str(MemrankError("broken")) == "broken"
