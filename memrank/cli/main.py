"""The command `memrank`: its commands, loaded when they are called; the one place where errors become exit codes."""

import importlib
import os
import sys
from contextlib import suppress
from typing import Any

import click
from click.shell_completion import shell_complete

from memrank import __version__
from memrank.cli import collector
from memrank.cli.output import tell
from memrank.errors import MemrankError

COMMANDS = {
    "run": ("memrank.cli.run", "Rank memories for a query, or for many."),
    "init": ("memrank.cli.specs", "Write a first spec, commented, ready to run."),
    "check": ("memrank.cli.specs", "Check specs without running them."),
    "schema": ("memrank.cli.specs", "Print the JSON Schema of the spec, for editors."),
    "eval": ("memrank.cli.eval", "Measure specs on a golden set, with intervals and gates."),
    "compile": ("memrank.cli.compile", "Tune a spec on a golden set, and prove the gain on held-out queries."),
    "artifact": ("memrank.cli.artifact", "Compiled artifacts: show one, tell two apart."),
    "conversation": ("memrank.cli.conversation", "Prune a conversation to what its context needs."),
    "store": ("memrank.cli.store", "Keep memories: import, export, forget; what they are worth, what contradicts."),
    "evalset": ("memrank.cli.evalset", "Golden sets: check and seal one, import those of others, export labels."),
    "reads": ("memrank.cli.reads", "Look into the read log: list, replay, review, count."),
}

COMPLETION = "_MEMRANK_COMPLETE"
"""Set by a shell that asks for completions."""

OK, WRONG_CALL, WRONG_DATA, INTERRUPTED = 0, 2, 3, 130


class _Lazy(click.Group):
    """Knows its commands by name, and imports one when it is called: `--help` stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "--version", prog_name="memrank", message="%(prog)s %(version)s")
def memrank() -> None:
    """Rank what an agent remembers: fresh, relevant, explained, within a token budget.

    Answers go to stdout; notes, progress and faults to stderr.

    Exit codes: 0 done; 1 a gate failed or a check says no; 2 the command line or the spec is wrong; 3 input data is
    wrong; 4 a model or
    service failed under --strict; 130 interrupted.

    \b
    Completion of commands, options and files in a shell:
      bash  eval "$(_MEMRANK_COMPLETE=bash_source memrank)"
      zsh   eval "$(_MEMRANK_COMPLETE=zsh_source memrank)"
      fish  _MEMRANK_COMPLETE=fish_source memrank | source
    """


def main(arguments: list[str] | None = None) -> None:
    """Entry point. A user's mistake never shows a traceback."""
    collector.rest()
    _open_streams()
    sys.exit(_run(sys.argv[1:] if arguments is None else arguments))


def _open_streams() -> None:
    """UTF-8 everywhere, whatever the locale; and somewhere to write to where the caller has closed a stream."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - open to the end
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")


def _run(arguments: list[str]) -> int:
    """The exit code of a call. Errors that memrank does not raise on purpose are its defects, and are not caught."""
    try:
        code = _call(arguments)
        sys.stdout.flush()
    except click.ClickException as fault:
        fault.show()
        return WRONG_CALL
    except KeyboardInterrupt:
        tell("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone; what it did not want is not an error
        _give_up_stdout()
        return OK
    except OSError as fault:  # the world outside: a full disk, a device that fails
        _give_up_stdout()
        tell(f"error: {fault.filename or 'stdout'}: {fault.strerror or fault}")
        return WRONG_DATA
    except MemrankError as fault:
        from memrank.render.lines import error_text

        tell(error_text(fault))
        return fault.exit_status
    return code


def _call(arguments: list[str]) -> int:
    instruction = os.environ.get(COMPLETION)
    if instruction:
        return shell_complete(memrank, {}, "memrank", COMPLETION, instruction)
    # Not through click's own `main`, which turns errors into exit codes of its own.
    try:
        with memrank.make_context("memrank", list(arguments)) as context:
            memrank.invoke(context)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    return OK


def _give_up_stdout() -> None:
    """Keeps the end of the process from flushing what cannot be written, and failing once more."""
    with suppress(OSError):  # no file descriptor where stdout was replaced within the process
        number = os.open(os.devnull, os.O_WRONLY)
        os.dup2(number, sys.stdout.fileno())
        os.close(number)
