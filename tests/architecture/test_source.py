"""Rules that every source file keeps."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "memrank").rglob("*.py"))
LONGEST = 400

READS_THE_CLOCK = "memrank/asking.py"
"""Time enters as data (`as_of`); below the command line only this says what now is where nobody did."""

CLOCKS = {("datetime", "now"), ("datetime", "utcnow"), ("datetime", "today"), ("date", "today"), ("time", "time")}


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_sources_are_found() -> None:
    assert len(SOURCES) > 50


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_a_file_holds_one_idea(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_a_file_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "path",
    [
        *SOURCES,
        *sorted((ROOT / "tools").rglob("*.py")),
        *sorted((ROOT / "pipelines").glob("*.yaml")),
        ROOT / "README.md",
    ],
    ids=_name,
)
def test_nothing_is_left_for_later(path: Path) -> None:
    marks = re.compile(r"\b(TODO|FIXME|XXX|HACK|TBD|NotImplementedError)\b|lorem ipsum", re.IGNORECASE)
    assert not marks.search(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_user_errors_are_no_assertions(path: Path) -> None:
    found = [
        node.lineno for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Assert)
    ]
    assert not found


def test_only_the_door_reads_the_clock() -> None:
    found = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)) if (owner, name) in CLOCKS:
                    found.add(_name(path))
    assert {name for name in found if not name.startswith("memrank/cli/")} == {READS_THE_CLOCK}


SEEDED = {
    "memrank/score/intervals.py": ["np.random.default_rng(seed)"],
    "memrank/tune/sensitivity.py": ["np.random.default_rng(seed)"],
    "memrank/tune/search.py": ["np.random.default_rng([self.seed, turn])", "np.random.default_rng([self.seed, size])"],
}
"""Draw resamples, parts and settings, from the seed that they are given."""


def test_no_module_draws_random_numbers() -> None:
    """The same input gives the same bytes: nothing of the ranking may depend on chance."""
    drawn = re.compile(r"^\s*(import random|from random |import secrets|from secrets )|np\.random\b", re.MULTILINE)
    found = {_name(path) for path in SOURCES if drawn.search(path.read_text(encoding="utf-8"))}
    named = {"memrank/fileio.py", "memrank/stores/sqlite_door.py", "memrank/stores/sqlite_file.py"}
    assert found - SEEDED.keys() <= named, "names of files and stores only"
    for path in SOURCES:
        if _name(path) in SEEDED:
            assert re.findall(r"np\.random\.\w+\(.*?\)", path.read_text(encoding="utf-8")) == SEEDED[_name(path)]
