"""The command `memrank`: its commands, loaded when they are called, and the one place where errors become exit codes."""

import gc
import importlib
import os
import sys
from typing import Any

import click

from memrank import __version__
from memrank.errors import MemrankError

COMMANDS = {
    "run": ("memrank.cli.run", "Rank memories for a query, or for many."),
    "init": ("memrank.cli.specs", "Write a first spec, commented, ready to run."),
    "check": ("memrank.cli.specs", "Check specs without running them."),
    "schema": ("memrank.cli.specs", "Print the JSON Schema of the spec, for editors."),
    "store": ("memrank.cli.store", "Keep memories: import and export."),
}


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

    Exit codes: 0 done; 1 a gate failed; 2 the command line or the spec is wrong; 3 input data is wrong; 4 a model or
    service failed under --strict; 130 interrupted.
    """


def main(arguments: list[str] | None = None) -> None:
    """Entry point. A user's mistake never shows a traceback."""
    # Importing makes a million objects that all stay: scanning them for garbage meanwhile costs a tenth of a start.
    gc.disable()
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")
    sys.exit(_run(arguments))


def _run(arguments: list[str] | None) -> int:
    try:
        memrank.main(args=arguments, prog_name="memrank", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as fault:
        fault.show()
        return 2
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return 130
    except BrokenPipeError:
        # The reader of our output has gone; what it did not want is not an error. Keep the exit from flushing again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemrankError as fault:
        from memrank.render.lines import error_text

        click.echo(error_text(fault), err=True)
        return fault.exit_status
    return 0
