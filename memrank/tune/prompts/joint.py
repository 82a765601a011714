"""Prompts and weights in turn: weights are fitted to what the judge says, and what it says depends on its prompt."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memrank.spec import Spec
from memrank.stages.lm.prompting import Prompt

Tune = Callable[[Spec, Mapping[str, Prompt]], Mapping[str, Prompt]]
"""Better prompts for a spec, starting from these: `tune_prompts` with everything else bound, its `states`."""
Weigh = Callable[[Spec, Mapping[str, Prompt]], tuple[Spec, float]]
"""The spec with weights fitted under these prompts, and the development score of both together; higher is better."""

ROUNDS = 4
LEAST = 1e-6
"""Gain of a round that is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One turn: prompts, then weights."""

    number: int
    score: float
    kept: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """What both came to."""

    spec: Spec
    states: Mapping[str, Prompt]
    score: float
    rounds: tuple[Round, ...]


def jointly(spec: Spec, start: Mapping[str, Prompt], tune: Tune, weigh: Weigh, *, rounds: int = ROUNDS) -> Joint:
    """Demos first, weights after (what optimizers of prompts do resets parameters of programs), repeated while the
    development score improves, `rounds` times at the most. A round that does not improve it is not kept.

    The first score is that of the weights alone, under the prompts given: prompts must earn their place.
    """
    best, score = weigh(spec, start)
    states = dict(start)
    told: list[Round] = []
    for number in range(1, rounds + 1):
        found = {**states, **tune(best, states)}
        if found == states:
            break
        weighed, after = weigh(best, found)
        kept = after > score + LEAST  # NaN is no gain
        told.append(Round(number=number, score=after, kept=kept))
        if not kept:
            break
        best, states, score = weighed, found, after
    return Joint(spec=best, states=states, score=score, rounds=tuple(told))
