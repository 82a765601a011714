"""Maps from what a judge says to a probability, fitted with scikit-learn; the only module that imports it."""

from typing import Literal

import numpy as np

from memrank.errors import DataError, DependencyError
from memrank.score.calibration import logit
from memrank.speccalibration import CalibrationSpec
from memrank.types import Bools, Floats

Method = Literal["isotonic", "platt"]

ENOUGH = 200
"""Pairs of each kind, relevant and not, from which isotonic regression does not follow chance."""
FEWEST = 10
"""Pairs of each kind without which nothing is fitted."""
PLACES = 12
"""Decimal places by which levels are told apart: rounding splits what is one."""
PENALTY = 1e6
"""Inverse of the ridge penalty of Platt scaling: next to none."""


def method_for(relevant: Bools) -> Method:
    """The method for so many pairs, shape (n,): isotonic follows any shape but needs many, Platt has two numbers."""
    enough = min(int(relevant.sum()), int((~relevant).sum())) >= ENOUGH
    return "isotonic" if enough else "platt"


def fit(method: Method, said: Floats, relevant: Bools) -> CalibrationSpec:
    """The map for n pairs: what the judge said, in [0, 1], and whether the memory was relevant.

    Raises DataError for fewer than FEWEST pairs of a kind, and where relevant ones are said to be less relevant than
    others; DependencyError without scikit-learn.
    """
    kinds = (int(relevant.sum()), int((~relevant).sum()))
    if min(kinds) < FEWEST:
        raise DataError(
            f"{kinds[0]} relevant judged memories and {kinds[1]} others are too few to calibrate on",
            hint=f"at least {FEWEST} of each; label more queries",
        )
    targets = smoothed(relevant)
    return _isotonic(said, targets) if method == "isotonic" else _platt(said, targets)


def smoothed(relevant: Bools) -> Floats:
    """The labels as Platt (1999) has them: a little inside of 0 and 1, so that nothing is said to be certain."""
    yes, no = float(relevant.sum()), float((~relevant).sum())
    return np.where(relevant, (yes + 1.0) / (yes + 2.0), 1.0 / (no + 2.0))


def library_version() -> str:
    """The version of scikit-learn. Raises DependencyError without it."""
    try:
        import sklearn
    except ImportError as error:
        raise DependencyError("calibration needs scikit-learn", hint="pip install scikit-learn") from error
    return str(sklearn.__version__)


def _isotonic(said: Floats, targets: Floats) -> CalibrationSpec:
    """Centred isotonic regression (Oron and Flournoy 2017): a knot in the middle of each level instead of a step, so
    that memories keep their order, and what was told apart stays told apart.
    """
    library_version()
    from sklearn.isotonic import IsotonicRegression

    levels = IsotonicRegression().fit(said, targets).predict(said)
    y, level = np.unique(levels.round(PLACES), return_inverse=True)
    x = np.bincount(level, weights=said) / np.bincount(level)
    if len(x) < 2:
        raise _backwards()
    kept = np.concatenate([[True], np.diff(x) > 0])
    knots = [*zip(x[kept].tolist(), y[kept].tolist(), strict=True)]
    first = [] if knots[0][0] <= 0 else [(0.0, 0.0)]
    last = [] if knots[-1][0] >= 1 else [(1.0, 1.0)]
    knots = [*first, *knots, *last]
    return CalibrationSpec(method="isotonic", x=tuple(a for a, _ in knots), y=tuple(b for _, b in knots))


def _platt(said: Floats, targets: Floats) -> CalibrationSpec:
    library_version()
    from sklearn.linear_model import LogisticRegression

    # A target between the classes is one pair of each, with weights.
    x = np.tile(logit(said), 2)[:, None]
    label = np.repeat([1, 0], len(said))
    weight = np.concatenate([targets, 1.0 - targets])
    model = LogisticRegression(C=PENALTY, tol=1e-8, max_iter=1000).fit(x, label, sample_weight=weight)
    slope, intercept = float(model.coef_[0, 0]), float(model.intercept_[0])
    if slope <= 0:
        raise _backwards()
    return CalibrationSpec(method="platt", slope=slope, intercept=intercept)


def _backwards() -> DataError:
    return DataError(
        "the judge says no more of relevant memories than of others: there is nothing to calibrate",
        hint="check the labels, and that the spec fits the evalset",
    )
