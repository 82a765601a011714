"""Memories judged for questions: the true one of a read, and decoys, which show who is placed high for anything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dspy

from memrank.lmanswers import Judgement, judgement
from memrank.score.guard import innocent
from memrank.slate import Reading
from memrank.speclm import LmSpec
from memrank.stages.lm.asking import Answers, ask, batches
from memrank.stages.lm.keeping import Keeper
from memrank.stages.lm.showing import Shown
from memrank.stages.views import QueryView
from memrank.text.decoys import shared_out

Question = tuple[QueryView, Sequence[str]]
"""A query, and the names of the memories that are judged for it; no name stands in two questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What became of questions."""

    judged: Mapping[str, Judgement]
    """By name; those known from earlier reads, `kept` of them, are among them."""
    answers: Answers[Judgement]
    groups: Sequence[Sequence[str]]
    kept: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """What decoys showed of memories, by name."""

    caught: Sequence[str]
    """Placed high for a question that they cannot answer."""
    unknown: Sequence[str]
    """Not known: no decoy suits them, or the model did not answer."""
    answers: Sequence[Answers[Judgement]]
    """Of each turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Who judges: the predictor and the model of one read, with what is known from earlier ones."""

    predict: dspy.Predict
    reading: Reading
    spec: LmSpec
    known: Keeper[Judgement]

    def judge(self, questions: Sequence[Question], views: Mapping[str, Shown]) -> Asked:
        """Every memory judged for its question. What an earlier read knows is not asked again."""
        kept: dict[str, Judgement] = {}
        keys: dict[str, str] = {}
        groups: list[list[str]] = []
        query_of: dict[str, QueryView] = {}
        for query, called in questions:
            own, found = self.known.found(query, {name: views[name].view for name in called})
            keys.update(own)
            kept.update(found)
            query_of.update(dict.fromkeys(called, query))
            groups += batches([name for name in called if name not in found], self.spec.batch, query.text)

        def inputs(ids: Sequence[str], faults: Sequence[str]) -> dict[str, Any]:
            memories = [views[one].view for one in ids]
            return {"query": query_of[ids[0]], "memories": memories, "faults": list(faults)}

        answers: Answers[Judgement] = ask(self.predict, self.reading, groups, inputs, "judgements", judgement)
        self.known.keep(keys, answers.accepted)
        return Asked(judged={**kept, **answers.accepted}, answers=answers, groups=groups, kept=len(kept))

    def check(self, said: Mapping[str, float], query: QueryView, views: Mapping[str, Shown]) -> Checks:
        """Each memory, with the relevance that the model said, judged for as many decoys as the spec wants."""
        caught: list[str] = []
        unknown: list[str] = []
        answers: list[Answers[Judgement]] = []
        left = list(said)
        for turn in range(self.spec.decoys):
            if not left:
                break
            decoys = shared_out(query.text, {name: views[name].view.content for name in left}, turn)
            questions = [(QueryView(text=text, as_of=query.as_of), called) for text, called in decoys]
            asked = self.judge(questions, views)
            answers.append(asked.answers)
            cleared: list[str] = []
            for name in left:
                found = asked.judged.get(name)
                if found is None:
                    unknown.append(name)
                else:
                    (cleared if innocent(said[name], found.relevance) else caught).append(name)
            left = cleared
        return Checks(caught=caught, unknown=unknown, answers=answers)
