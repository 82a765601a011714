"""`memrank artifact export`: decay and weights as a query of Elasticsearch, Qdrant or SQL."""

from typing import TYPE_CHECKING

import click

from memrank.cli.numbers import Finite
from memrank.cli.output import FILE, deliver, json_text, tell
from memrank.errors import UsageError

if TYPE_CHECKING:  # they bring numpy, which help does without
    from datetime import datetime

    from memrank.export.check import Agreement, Format
    from memrank.export.fields import Fields
    from memrank.export.formula import Formula

APART = 1


@click.command()
@click.argument("file", metavar="FILE", type=FILE)
@click.option(
    "--format",
    "to",
    type=click.Choice(["elasticsearch", "qdrant", "sql"]),
    required=True,
    help="The engine; sql runs in SQLite and Postgres.",
)
@click.option("--sensitivity", metavar="CLASS", help="recent, real-time or time-agnostic; the spec's, recent for auto.")
@click.option(
    "--as-of", metavar="TIME", help="What now means, ISO 8601; {{as_of}} is left in its place where left out."
)
@click.option("--field", "renamed", metavar="FIELD=NAME", multiple=True, help="What the engine calls a field.")
@click.option(
    "--score-at-1",
    type=Finite(min=0, min_open=True),
    default=1.0,
    show_default=True,
    metavar="S",
    help="The engine's score that stands for relevance 1.",
)
@click.option("--check", is_flag=True, help="Print instead how far the query is from memrank, over sample points.")
@click.option("--json", "as_json", is_flag=True, help="With --check: as one JSON object.")
@click.option("--out", "-o", type=FILE, metavar="FILE", help="Write to FILE, whole or not at all.")
@click.option("-q", "--quiet", is_flag=True, help="Do not tell what the query leaves out.")
def export(
    file: str,
    to: "Format",
    sensitivity: str | None,
    as_of: str | None,
    renamed: tuple[str, ...],
    score_at_1: float,
    check: bool,
    as_json: bool,
    out: str | None,
    quiet: bool,
) -> None:
    """Print the decay and the weights of FILE, a spec or a compiled artifact, as a query of another engine.

    Relevance is the engine's own score, from 0 to 1: the judge of memrank cannot run there. Ages count from
    effective_at: event_date, else created_at, as the spec's clock has it. What the query leaves out is told on stderr.

    --check evaluates the query as the engine is documented to, beside memrank, and exits with 1 where they differ.
    """
    from dataclasses import replace

    from memrank.asking import moment
    from memrank.export.check import agreement
    from memrank.export.fields import Fields
    from memrank.export.formula import formula_of
    from memrank.export.source import exported

    if as_json and not check:
        raise UsageError("--json goes with --check", hint="leave it out: elasticsearch and qdrant are JSON")
    if as_of is not None and to == "sql" and not check:
        raise UsageError("--as-of: the query has a parameter for it, :as_of", hint="give it where the query is run")
    if score_at_1 != 1 and to == "sql":
        raise UsageError("--score-at-1: in SQL relevance is a column", hint="divide in the table or a view")
    now = None if as_of is None else moment(as_of, named="--as-of")
    spec = exported(file)
    formula = formula_of(spec, sensitivity)
    fields = replace(Fields().named(renamed), score_at_1=score_at_1)
    text = _text(to, formula, fields, now)
    if not check:
        deliver([text], out, sources=[file])
        for remark in () if quiet else formula.remarks:
            tell(remark)
        return
    found = agreement(spec, formula, to, text, fields, now)
    deliver([_json(found, to) if as_json else _told(found, to)], out, sources=[file])
    if not found.agreed:
        raise click.exceptions.Exit(APART)


def _text(to: "Format", formula: "Formula", fields: "Fields", now: "datetime | None") -> str:
    from memrank.export.elasticsearch import elasticsearch_of
    from memrank.export.qdrant import qdrant_of
    from memrank.export.sql import sql_of

    if to == "sql":
        return sql_of(formula, fields)
    body = elasticsearch_of(formula, fields, now) if to == "elasticsearch" else qdrant_of(formula, fields, now)
    return json_text(body, indent=2) + "\n"


def _json(found: "Agreement", to: str) -> str:
    body = {
        "format": to,
        "points": found.points,
        "excluded": found.excluded,
        "largest_difference": found.difference,
        "disagreed": found.disagreed,
        "single_precision": None
        if found.single is None
        else {"largest_difference": found.single, "over_a_threshold": found.at_the_edge},
        "agreed": found.agreed,
    }
    return json_text(body, indent=2) + "\n"


def _told(found: "Agreement", to: str) -> str:
    lines = [
        f"{to}: {found.points} points, {found.excluded} left out by both, {found.disagreed} by one of the two",
        f"largest difference of scores: {found.difference:.2g}",
    ]
    if found.single is not None:
        edge = f", {found.at_the_edge} over a threshold" if found.at_the_edge else ""
        lines.append(f"in single precision, as the engine holds its scores: {found.single:.2g}{edge}")
    return "".join(f"{line}\n" for line in lines)
