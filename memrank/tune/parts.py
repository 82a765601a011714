"""Three parts of a golden set, no group in two of them: to search on, to choose by, and to report on, read once.

Where the set says which query belongs where, that holds. Elsewhere groups are dealt by a seed. Where the part `choose`
is small, nested folds take its place: each fold of fit and choose is measured under what was found on the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from memrank.errors import DataError
from memrank.evals.evalset import groups, split_of
from memrank.evals.labels import Labelled
from memrank.fileio import sha256_hex
from memrank.text.counted import counted

SHARES = (0.5, 0.8)
"""Upper ends of fit and choose, of the groups; the rest is reported on."""
FEWEST = 20
"""Groups that are searched on and chosen by, at the least."""
FEWEST_REPORTED = 10
"""Groups that are reported on, at the least: an interval of fewer says nothing."""
ENOUGH_TO_CHOOSE = 30
"""Groups of the part `choose` from which it is not folded."""
FOLDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The queries of each part, in their order."""

    fit: tuple[Labelled, ...]
    choose: tuple[Labelled, ...]
    report: tuple[Labelled, ...]
    how: str
    """Who drew them."""
    folds: tuple[tuple[int, ...], ...]
    """Places in `both` of each fold; empty where `choose` is chosen by as it is."""

    @property
    def both(self) -> tuple[Labelled, ...]:
        """All that is not reported on."""
        return (*self.fit, *self.choose)


def parts_of(queries: Sequence[Labelled], seed: int) -> Parts:
    """Raises DataError, with the size that is needed, for a set that is too small."""
    known = [query for query in queries if query.annotated]
    named = groups(known)
    stated = any(query.split is not None for query in known)
    of = {query.id: split_of(query) for query in known} if stated else _dealt(known, named, seed)
    fit, choose, report = (
        tuple(query for query in known if of[query.id] == part) for part in ("fit", "choose", "report")
    )
    group_of = dict(zip((query.id for query in known), named, strict=True))
    sizes = {
        "searched on and chosen by": (len({group_of[query.id] for query in (*fit, *choose)}), FEWEST),
        "reported on": (len({group_of[query.id] for query in report}), FEWEST_REPORTED),
    }
    for what, (have, need) in sizes.items():
        if have < need:
            raise DataError(
                f"the set is too small to compile on: {counted(have, 'group')} of queries to be {what}, {need} needed",
                hint=f"{FEWEST + FEWEST_REPORTED} groups with labels at the least; a query without a group is one",
            )
    few = len({group_of[query.id] for query in choose}) < ENOUGH_TO_CHOOSE
    folds = _folds([group_of[query.id] for query in (*fit, *choose)], seed) if few or not fit else ()
    return Parts(
        fit=fit,
        choose=choose,
        report=report,
        how="as the set has them" if stated else f"split by group with seed {seed}: the set has no parts",
        folds=folds,
    )


def _dealt(queries: Sequence[Labelled], named: Sequence[str], seed: int) -> dict[str, str]:
    order = _drawn(named, seed)
    part = {}
    for place, group in enumerate(order):
        share = place / len(order)
        part[group] = "fit" if share < SHARES[0] else "choose" if share < SHARES[1] else "report"
    return {query.id: part[group] for query, group in zip(queries, named, strict=True)}


def _folds(named: Sequence[str], seed: int) -> tuple[tuple[int, ...], ...]:
    fold = {group: place % FOLDS for place, group in enumerate(_drawn(named, seed))}
    return tuple(tuple(k for k, group in enumerate(named) if fold[group] == one) for one in range(FOLDS))


def _drawn(named: Sequence[str], seed: int) -> list[str]:
    """The groups in an order that only the seed decides."""
    return sorted(set(named), key=lambda group: sha256_hex(f"{seed} {group}"))
