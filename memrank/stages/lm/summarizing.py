"""Summaries that a language model writes: each is checked by code, and where it is not faithful the extract stands."""

from collections.abc import Callable, Mapping

import dspy
from pydantic import BaseModel

from memrank.lmanswers import AnswerError, Repairs, text
from memrank.slate import Reading
from memrank.speclm import LmSpec
from memrank.stages.judged import Summarized, Wanted
from memrank.stages.lm.asking import ask_each
from memrank.stages.lm.demos import SUMMARIES
from memrank.stages.lm.keeping import Keeper
from memrank.stages.lm.showing import CONTENT, fenced
from memrank.stages.lm.signatures import ElementSummary
from memrank.text.faithful import made_up, owed
from memrank.text.instructing import instructs
from memrank.types import Notes

LONGEST = 20_000
"""Characters of a summary that are looked at."""


class LmSummaries(dspy.Module):  # type: ignore[misc]
    """Asks for one summary a call. It must be shorter than its text and have at most the tokens that are given.

    It may hold no number, date or name that the text lacks, and must keep what the text promises, asks or leaves to be
    done as it is written (`text.faithful`). Texts that try to instruct, and those whose promises alone are too long,
    are not asked about: their extract stands.
    """

    def __init__(self, spec: LmSpec) -> None:
        super().__init__()
        self.predict = dspy.Predict(ElementSummary)
        self.predict.demos = list(SUMMARIES)
        self._kept: Keeper[str] = Keeper(spec, self.predict)

    def forward(
        self, *, wanted: Mapping[int, Wanted], query: str, count: Callable[[str], int], reading: Reading
    ) -> dspy.Prediction:
        """A prediction whose `answer` is a `Summarized`; `count` counts tokens, `query` is fit to be shown."""
        return dspy.Prediction(answer=self._summarized(wanted, query, count, reading))

    def _summarized(
        self, wanted: Mapping[int, Wanted], query: str, count: Callable[[str], int], reading: Reading
    ) -> Summarized:
        suspected = frozenset(k for k, one in wanted.items() if instructs(one.content))
        asked = {k: one for k, one in wanted.items() if k not in suspected and _can_be_shorter(one, count)}
        views = {str(k): _Text(content=fenced(one.content), max_tokens=one.most) for k, one in asked.items()}
        keys, kept = self._kept.found(_Asked(query=query), views)
        # What was kept was found faithful to the text as shown; tokens may be counted otherwise by now.
        known = {int(k): said for k, said in kept.items() if _fault(said, asked[int(k)], count) is None}
        open_ones = [k for k in asked if k not in known]
        questions = [{"query": query, **dict(views[str(k)])} for k in open_ones]
        answers = ask_each(self.predict, reading, questions, [_reader(asked[k], count) for k in open_ones])
        texts, failed, notes = dict(known), set(), Notes()
        for k, answer in zip(open_ones, answers, strict=True):
            if answer.value is None:
                failed.add(k)
                notes.add("failure", "pruner", answer.code, f"{answer.said}; sentences of the text stand instead")
            else:
                texts[k] = answer.value
        self._kept.keep(keys, {str(k): said for k, said in texts.items()})
        if suspected:
            said = "texts that try to instruct the judge were not given to it to summarize"
            notes.add("info", "pruner", "injection_suspected", said, len(suspected))
        figures = {"summaries_sent": len(open_ones), "summaries_kept": len(known)}
        return Summarized(texts=texts, failed=frozenset(failed), suspected=suspected, notes=notes, figures=figures)


class _Asked(BaseModel):
    query: str


class _Text(BaseModel):
    content: str
    max_tokens: int


def _can_be_shorter(one: Wanted, count: Callable[[str], int]) -> bool:
    """Whether a model could do better at all: it is shown the whole text, and what must stay leaves room."""
    return len(one.content) <= CONTENT and count(" ".join(owed(one.content))) <= one.most


def _reader(one: Wanted, count: Callable[[str], int]) -> Callable[[dspy.Prediction], str]:
    def read(prediction: dspy.Prediction) -> str:
        said = text(prediction.summary, "summary", Repairs(), longest=LONGEST)
        fault = _fault(said, one, count)
        if fault is not None:
            raise AnswerError(fault)
        return said

    return read


def _fault(said: str, one: Wanted, count: Callable[[str], int]) -> str | None:
    if count(said) > one.most or len(said) >= len(one.content):
        return "the summary is too long"
    return made_up(said, one.content)
