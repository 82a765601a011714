"""Where a read log is, and what its commands share."""

import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memrank.cli import collector
from memrank.cli.output import FILE
from memrank.errors import UsageError

if TYPE_CHECKING:
    from memrank.render.terminal import Look
    from memrank.specfile import SpecFile
    from memrank.stores.readlog import ReadLog

Command = TypeVar("Command", bound=Callable[..., Any])


def log_options(command: Command) -> Command:
    """--log and --spec: where the log is."""
    named = click.option("--log", type=FILE, metavar="FILE", help="The read log; or --spec.")
    return named(
        click.option("--spec", type=FILE, metavar="SPEC", help="The spec whose `reads.log` is meant.")(command)
    )


def opened(log: str | None, spec: str | None) -> tuple["ReadLog", "SpecFile | None"]:
    """The log that is meant, and the spec where one is named. Raises UsageError where neither leads to a log."""
    from memrank.checking import check_file
    from memrank.stores.readlog import ReadLog

    collector.resume()
    file = None if spec is None else check_file(spec)
    if log is not None:
        return ReadLog(Path(log)), file
    if file is None:
        raise UsageError("no read log is named", hint="--log FILE, or --spec SPEC whose `reads.log` names one")
    if file.spec.reads is None or file.spec.reads.log is None:
        raise UsageError(f"{spec}: the spec has no read log", hint="reads: {log: FILE}")
    return ReadLog(file.folder / file.spec.reads.log), file


def seen() -> "Look":
    """What stdout can show."""
    from memrank.render.terminal import look

    return look(sys.stdout, os.environ)


def since_seconds(text: str | None) -> float:
    """Seconds since 1970 of --since: a time, or how long ago. The beginning of everything where it is left out.

    Raises UsageError for what is neither.
    """
    if text is None:
        return 0.0
    from memrank.asking import moment
    from memrank.text.dates import parse_duration

    try:
        ago = parse_duration(text)
    except ValueError:
        return moment(text, named="--since", hint="a time in ISO 8601, or how long ago, such as 7d").timestamp()
    return (datetime.now(UTC) - timedelta(seconds=ago)).timestamp()
