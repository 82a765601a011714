"""The README tells the truth: its blocks are current, its commands exist, its lists are whole."""

import re
import shlex
from pathlib import Path

import click
import pytest
import readme

from memrank.cli.main import memrank
from memrank.slate import ACTIONS, REASONS
from memrank.spec import KERNEL_FIELDS
from memrank.types import Sensitivity

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def _command(name: str) -> str:
    """The one line of the code block that follows a marker, as `.ci/run` reads it."""
    found = re.findall(rf"<!-- command:{name} -->\n```bash\n(.*)\n```", TEXT)
    assert len(found) == 1, name
    return str(found[0])


def _shown_commands() -> list[str]:
    """Every call of memrank that the text shows, in code blocks and in code spans."""
    fenced = "\n".join(re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL))
    lines = re.findall(r"^memrank .*$", fenced, re.MULTILINE) + re.findall(r"^\$ (.*)$", TEXT, re.MULTILINE)
    lines += re.findall(r"`(memrank [a-z-][^`\n]*)`", TEXT)
    calls = {part.strip() for line in lines for part in re.split(r"&&|;|  #", line)}
    return sorted(call for call in calls if call.startswith("memrank "))


def test_generated_blocks_are_current() -> None:
    assert readme.rewritten(TEXT) == TEXT, "run: python tools/readme.py"


def test_the_generator_needs_every_block() -> None:
    with pytest.raises(SystemExit, match="0 blocks named example"):
        readme.rewritten(TEXT.replace("<!-- begin:example -->", ""))


def test_the_first_command_sets_up_and_runs_the_example() -> None:
    command = _command("setup")
    assert "-m venv .venv" in command
    assert command.endswith(".venv/bin/memrank run pipelines/finance.yaml")


def test_the_second_command_installs_the_test_extra_and_runs_the_tests() -> None:
    command = _command("test")
    assert '".[test]"' in command
    assert command.endswith(".venv/bin/python -m pytest")


@pytest.mark.parametrize("name", ["setup", "test"])
def test_windows_is_given_the_same(name: str) -> None:
    """Word for word, but for the slashes and for how a shell goes on after success."""
    steps = [step.replace("/bin/", "/Scripts/").replace("/", "\\") for step in _command(name).split(" && ")]
    steps = [step.replace("python3", "python").replace("pipelines\\", "pipelines/") for step in steps]
    shown = f"{steps[0]}; " + "; ".join(f"if ($?) {{ {step} }}" for step in steps[1:])
    assert f"```powershell\n{shown}\n```" in TEXT


def test_every_command_that_is_shown_exists() -> None:
    calls = _shown_commands()
    assert len(calls) > 10
    for call in calls:
        words = shlex.split(call)[1:]
        command: click.Command = memrank
        context = click.Context(command)
        while isinstance(command, click.Group) and words and not words[0].startswith("-") and words[0] != "COMMAND":
            found = command.get_command(context, words.pop(0))
            assert found is not None, call
            command, context = found, click.Context(found, parent=context)
        if "COMMAND" in words:
            continue
        known = {name for param in command.get_params(context) for name in param.opts}
        assert {word for word in words if re.match(r"--?[a-z]", word)} <= known, call


def test_links_lead_somewhere() -> None:
    for path in ("README.md", "evalsets/README.md", "pipelines/README.md"):
        text = (ROOT / path).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            assert target.startswith("https://") or ((ROOT / path).parent / target).exists(), f"{path}: {target}"


@pytest.mark.parametrize(
    "names",
    [REASONS[1:], ACTIONS, tuple(KERNEL_FIELDS), tuple(Sensitivity)],
    ids=["reasons", "actions", "kernels", "classes"],
)
def test_lists_are_whole(names: tuple[str, ...]) -> None:
    assert [name for name in names if f"`{name}`" not in TEXT] == []
