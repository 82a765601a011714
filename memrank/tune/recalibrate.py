"""A judge whose coefficients were changed says other numbers: what they are as probabilities, fitted anew."""

import numpy as np

from memrank.artifact import State
from memrank.calibration import calibration_of
from memrank.errors import DataError, DependencyError
from memrank.evals.calibrate import mapped, state_of
from memrank.evals.fitting import fit, method_for
from memrank.evals.outcome import Outcome, Scored
from memrank.parameters import stage_of
from memrank.spec import RankerSpec, Spec


def without_calibration(spec: Spec) -> Spec:
    """The spec with the judge's own numbers, and the threshold on relevance in terms of those."""
    stages = tuple(
        stage.model_copy(update={"calibration": None, "relevance_threshold": _undone(stage)})
        if isinstance(stage, RankerSpec)
        else stage
        for stage in spec.stages
    )
    return spec.model_copy(update={"stages": stages})


def fitted_states(spec: Spec, outcomes: list[Outcome]) -> tuple[dict[str, State], str]:
    """The calibration for what a spec without one was seen to say, with thresholds that leave out the same memories;
    and what to tell of it. No states where nothing can be fitted.
    """
    ranker = stage_of(spec, RankerSpec)
    judged = [one.judged for one in outcomes if isinstance(one, Scored)]
    if ranker is None or not judged:
        return {}, "the judge was not calibrated anew: nothing was judged"
    said, true = np.concatenate([one.relevance for one in judged]), np.concatenate([one.true for one in judged])
    try:
        section = fit(method_for(true), said, true)
    except (DataError, DependencyError) as fault:
        return {}, f"the judge was not calibrated anew: {fault.message}"
    rules = spec.review
    threshold = mapped(section, ranker.relevance_threshold)
    found = state_of(ranker, section, threshold, rules.top_score_below, rules.ambiguity_margin)
    return found, f"the judge was calibrated anew by {section.method}, and the relevance threshold moved with it"


def _undone(ranker: RankerSpec) -> float:
    if ranker.calibration is None or ranker.relevance_threshold <= 0:
        return ranker.relevance_threshold
    return float(calibration_of(ranker.calibration).undo(np.array([ranker.relevance_threshold]))[0])
