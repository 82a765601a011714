"""The formula as plain SQL, which SQLite and Postgres both run: a query over a table of memories with a relevance each.

Guards keep every `exp` and `power` within what a double holds: Postgres raises an error where one leaves it.
"""

import math
from collections.abc import Callable, Mapping

from memrank.errors import UsageError
from memrank.export.fields import Fields
from memrank.export.formula import ByType, Curve, Formula, Worth
from memrank.score.importance import DEFAULT, SCALE
from memrank.score.temporal import MONTH

VANISHED = 1000.0
"""2 to the minus this is 0 to any precision, and still a number."""
AUTHORITY = 0.5
"""Stands in for authority that is not stated."""

RESERVED = ("memrank_", "sqlite_")
"""Beginnings of names that are the query's, or SQLite's, own."""


def sql_of(formula: Formula, fields: Fields | None = None) -> str:
    """The query. Its parameter is `:as_of`, epoch seconds. Raises UsageError for a name that SQL does not take."""
    names = fields or Fields()
    if names.table.lower().startswith(RESERVED):
        raise UsageError(f"{names.table}: a table of this name hides behind the query's own", hint="a view of it")
    typed = bool(formula.curve.size.named) or (formula.worth is not None and bool(formula.worth.rate.named))
    columns = {
        "id": _name(names.id),
        "relevance": _double(_name(names.relevance)),
        "effective_at": _double(_name(names.effective_at)),
    }
    if typed:
        columns["memory_type"] = _name(names.memory_type)
    if formula.worth is not None:
        columns |= {
            "created_at": _double(_name(names.created_at)),
            "importance": _double(f"COALESCE({_name(names.importance)}, {_number(DEFAULT)})"),
            "uses": _double(f"COALESCE({_name(names.uses)}, 0)"),
        }
    if "authority" in formula.factors:
        columns["authority"] = _double(f"COALESCE({_name(names.authority)}, {_number(AUTHORITY)})")
    parts = {"freshness": _freshness(formula)}
    if formula.worth is not None:
        parts["importance"] = _worth(formula.worth)
    if "authority" in formula.factors:
        parts["authority"] = "authority"
    shown = "id, relevance, effective_at, age"
    within = ", ".join(("*", _age("effective_at", "age", "NULL"), *_months(formula.worth)))
    return "\n".join(
        (
            *_heading(formula, names),
            "WITH memrank_given AS (",
            f"  SELECT {_list(columns)}\n  FROM {_name(names.table)}",  # noqa: S608 - names are checked, texts quoted
            "), memrank_aged AS (",
            f"  SELECT {within} FROM memrank_given",  # noqa: S608
            "), memrank_scored AS (",
            f"  SELECT {shown}, {_list(parts)}\n  FROM memrank_aged",  # noqa: S608
            "), memrank_ranked AS (",
            f"  SELECT {shown}, {', '.join(parts)}, {_composite(formula)} AS score\n  FROM memrank_scored",  # noqa: S608
            ")",
            f"SELECT id, score, relevance, {', '.join(parts)}\nFROM memrank_ranked{_where(formula)}",
            "ORDER BY score DESC, COALESCE(effective_at, 0) DESC, id"
            + ("" if formula.top_k is None else f"\nLIMIT {formula.top_k}")
            + ";\n",
        )
    )


def _heading(formula: Formula, names: Fields) -> list[str]:
    return [
        f"-- {formula.name}: the score of {formula.sensitivity} queries.",
        "-- :as_of is the moment that now means, and times are epoch seconds. For Postgres timestamps, put",
        "-- EXTRACT(EPOCH FROM column) in place of the column. SQLite needs exp and power, which builds with",
        "-- SQLITE_ENABLE_MATH_FUNCTIONS have; elsewhere the program that opens the database registers them.",
        f"-- NULL is what is missing; {names.relevance} never is.",
        *(f"-- {remark}." for remark in formula.remarks),
    ]


def _age(column: str, alias: str, missing: str) -> str:
    """Seconds since a time, 0 for the future."""
    now = _double(":as_of")
    return (
        f"CASE WHEN {column} IS NULL THEN {missing} WHEN {column} > {now} THEN 0.0 ELSE {now} - {column} END AS {alias}"
    )


def _months(worth: Worth | None) -> list[str]:
    return [] if worth is None else [_age("created_at", "recorded", "0.0")]


def _freshness(formula: Formula) -> str:
    curve = formula.curve
    grace = _number(curve.offset)
    age = "age" if curve.offset == 0 else f"(CASE WHEN age > {grace} THEN age - {grace} ELSE 0.0 END)"
    k = _by_type(curve.size, lambda size: _kernel(curve, size, age))
    floored = k if curve.floor == 0 else f"{_number(curve.floor)} + {_number(1.0 - curve.floor)} * ({k})"
    cut = "" if curve.cutoff is None else f"WHEN age > {_number(curve.cutoff)} THEN 0.0 "
    return f"CASE WHEN age IS NULL THEN {_number(formula.undated)} {cut}ELSE {floored} END"


def _kernel(curve: Curve, size: float, age: str) -> str:
    shape, x = curve.shape, _number(size)
    match shape:
        case "none":
            return "1.0"
        case "cliff":
            return f"CASE WHEN {age} <= {x} THEN 1.0 ELSE 0.0 END"
        case "linear":
            return f"CASE WHEN {age} < {x} THEN 1.0 - {age} / {x} ELSE 0.0 END"
        case "power":
            body = f"power(1.0 + {age} / {x}, {_number(-curve.power)})"
            return _guarded(age, body, above=_power_end(size, curve.power))
    ln2 = _number(-math.log(2.0))
    if shape == "exponential":
        return _guarded(age, f"exp({ln2} * {age} / {x})", above=size * VANISHED)
    if shape == "gaussian":
        return _guarded(age, f"exp({ln2} * ({age} / {x}) * ({age} / {x}))", above=size * math.sqrt(VANISHED))
    beta = curve.power
    body = f"exp({ln2} * power({age} / {x}, {_number(beta)}))"
    end = _finite(lambda: size * VANISHED ** (1.0 / beta))
    return _guarded(age, body, above=end, below=_finite(lambda: size * 1e-20 ** (1.0 / beta)) or 0.0)


def _power_end(scale: float, p: float) -> float | None:
    """The age at which (1 + age / scale)^-p is all but nothing; None where no double is so large."""
    return _finite(lambda: scale * (1e300 ** (1.0 / p) - 1.0))


def _finite(number: Callable[[], float]) -> float | None:
    try:
        found = number()
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def _guarded(age: str, body: str, *, above: float | None, below: float | None = None) -> str:
    """0 above one age, 1 up to another, and the formula between them."""
    first = "" if below is None else f"WHEN {age} <= {_number(below)} THEN 1.0 "
    last = "" if above is None else f"WHEN {age} > {_number(above)} THEN 0.0 "
    return f"CASE {first}{last}ELSE {body} END" if first or last else body


def _by_type(values: ByType, of: Callable[[float], str]) -> str:
    """One formula, or one for each memory type."""
    if not values.named:
        return of(values.default)
    cases = " ".join(f"WHEN {_text(name)} THEN {of(value)}" for name, value in values.named.items())
    return f"CASE memory_type {cases} ELSE {of(values.default)} END"


def _worth(worth: Worth) -> str:
    left = "1.0" if worth.decay == "none" else _by_type(worth.rate, lambda rate: _left(worth, rate))
    boost, cap = f"{_number(worth.boost_per_use)} * uses", _number(worth.boost_cap)
    added = f"CASE WHEN {boost} < {cap} THEN {boost} ELSE {cap} END"
    points = f"{_number(SCALE)} * importance * ({left}) + {added}"
    low, high = _number(worth.floor), _number(worth.ceiling)
    return (
        f"(CASE WHEN {points} < {low} THEN {low} WHEN {points} > {high} THEN {high} ELSE {points} END)"
        f" / {_number(SCALE)}"
    )


def _left(worth: Worth, rate: float) -> str:
    """What age leaves of importance."""
    if rate == 0:
        return "1.0"
    if worth.decay == "linear":
        end = _number(MONTH / rate)
        return f"CASE WHEN recorded < {end} THEN 1.0 - recorded / {end} ELSE 0.0 END"
    if rate == 1:
        return "CASE WHEN recorded > 0 THEN 0.0 ELSE 1.0 END"
    slope = math.log1p(-rate) / MONTH
    return _guarded("recorded", f"exp({_number(slope)} * recorded)", above=-VANISHED * math.log(2.0) / slope)


def _composite(formula: Formula) -> str:
    if formula.combine == "weighted":
        whole = " + ".join(f"{_number(weight)} * {name}" for name, weight in formula.factors.items())
    else:
        boosts = [f"(1.0 + {_number(alpha)} * ({name} - 0.5))" for name, alpha in formula.factors.items()]
        whole = " * ".join(("relevance", *boosts))
    return f"CASE WHEN {whole} > 1.0 THEN 1.0 ELSE {whole} END" if formula.capped else whole


def _where(formula: Formula) -> str:
    rules = []
    if formula.relevance_threshold > 0:
        rules.append(f"relevance >= {_number(formula.relevance_threshold)}")
    if formula.stale_after is not None:
        rules.append(f"(age IS NULL OR age <= {_number(formula.stale_after)})")
    if formula.min_score > 0:
        rules.append(f"score >= {_number(formula.min_score)}")
    return f"\nWHERE {' AND '.join(rules)}" if rules else ""


def _list(columns: Mapping[str, str]) -> str:
    return ",\n    ".join(f"{value} AS {name}" if value != name else name for name, value in columns.items())


def _number(value: float) -> str:
    """As a double: never an integer, by which Postgres and SQLite would divide as such."""
    text = repr(float(value))
    return f"({text})" if value < 0 else text


def _double(expression: str) -> str:
    return f"CAST({expression} AS DOUBLE PRECISION)"


def _name(name: str) -> str:
    if "." in name:
        raise UsageError(f"{name}: a name in SQL holds no dot here", hint="a view, or the search path of the schema")
    return f'"{name}"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
