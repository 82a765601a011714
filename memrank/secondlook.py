"""A second look at contradictions that rules propose: a language model confirms them or takes them back."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memrank.contradictions import Contradiction
from memrank.stages.lm.verdicts import LmVerdicts
from memrank.types import Note, Notes

if TYPE_CHECKING:
    from memrank.remote import Remote

OPEN_FROM = 0.3
"""Probability from which a model is asked: rules alone report from 0.6."""
BY_MODEL = "model"
"""Evidence of what a model confirmed."""


def confirmed(
    pairs: Sequence[Contradiction], remote: "Remote", threshold: float
) -> tuple[list[Contradiction], tuple[Note, ...]]:
    """The pairs that hold once a model has looked at them, and what went wrong on the way.

    Asked about are those that no data state, the likeliest first, as many as `max_calls` allows. One that the model
    confirms has its confidence for a probability; one that it does not confirm is left out; one without an answer keeps
    what the rules say. All that are returned have at least `threshold`.
    """
    stated = [pair for pair in pairs if {"stated", "linked"} & set(pair.evidence)]
    judged = [pair for pair in pairs if pair not in stated]
    asked = judged[: remote.spec.max_calls]
    answers = LmVerdicts()(pairs=[(pair.older, pair.newer) for pair in asked], reading=remote.reading())
    notes = Notes()
    unasked = len(judged) - len(asked)
    if unasked:
        detail = "the calls of this read are spent (raise lm.max_calls); what the rules say counts"
        notes.add("failure", "contradictions", "lm_budget", detail, unasked)
    found = [*stated, *judged[len(asked) :]]
    for pair, answer in zip(asked, answers, strict=True):
        if answer.value is None:
            notes.add("failure", "contradictions", answer.code, f"{answer.said}; what the rules say counts")
            found.append(pair)
        elif answer.value.relation == "supersedes":
            sentence = f"{pair.sentence}; the model says: {answer.value.rationale}"
            evidence = (BY_MODEL, *pair.evidence)
            found.append(replace(pair, probability=answer.value.confidence, evidence=evidence, sentence=sentence))
    return [pair for pair in found if pair.probability >= threshold], notes.as_tuple()
