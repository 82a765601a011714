"""The program that optimizers work on: one predictor over cases, and the board on which every evaluation is written."""

import math
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError

from memrank.errors import LmBroken, ServiceError
from memrank.lmadapter import LmAdapter
from memrank.stages.lm.asking import UNREADABLE
from memrank.stages.lm.prompting import LONGEST, Prompt, guarded, plain, prompt_of
from memrank.tune.prompts.cases import Case
from memrank.tune.prompts.quiet import aloud
from memrank.tune.prompts.scoring import Aims, Verdict, broken, verdict

ADAPTER = LmAdapter(typed=False)
QUOTED = 60
"""Characters in a row of a memory that instructions must not hold: they would carry one query's data into all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One prompt that was evaluated on all cases of validation."""

    predictor: str
    number: int
    """From 0, the prompt that the spec has."""
    prompt: str
    """Its key."""
    score: float
    best: float
    calls: int
    """So far, of the whole tuning; as the next two."""
    tokens: int
    cost_usd: float


class Board:
    """Scores by prompt and case. The best prompt is the one with the highest mean over all cases of validation; a
    prompt that was not asked all of them is none, and of equals the earlier one counts.
    """

    def __init__(
        self,
        predictor: str,
        validation: Sequence[str],
        told: Callable[[str, int, str, float, float], Trial],
        progress: Callable[[Trial], None] | None,
    ) -> None:
        self.predictor = predictor
        self.validation = tuple(validation)
        self.history: list[Trial] = []
        self._prompts: dict[str, Prompt] = {}
        self._scores: dict[str, dict[str, float]] = {}
        self._told = told
        self._progress = progress
        self._lock = threading.Lock()

    def __deepcopy__(self, memo: object) -> "Board":
        """dspy copies programs; what they are worth is written in one place."""
        return self

    def know(self, prompt: Prompt) -> str:
        """The key of a prompt, by which it is found again."""
        key = prompt.key
        with self._lock:
            self._prompts.setdefault(key, prompt)
        return key

    def put(self, key: str, case: str, score: float) -> None:
        """Write down a finished evaluation."""
        with self._lock:
            if case not in self.validation or case in (scores := self._scores.setdefault(key, {})):
                return
            scores[case] = score
            if len(scores) < len(self.validation):
                return
            mean = self._mean(scores)
            best = max((trial.score for trial in self.history), default=mean)
            trial = self._told(self.predictor, len(self.history), key, mean, max(best, mean))
            self.history.append(trial)
        if self._progress is not None:
            with aloud():
                self._progress(trial)

    def missing(self, key: str) -> list[str]:
        """Cases of validation that a prompt was not asked, or not answered."""
        with self._lock:
            return [case for case in self.validation if case not in self._scores.get(key, {})]

    def score(self, key: str) -> float:
        """The mean of a prompt; NaN where cases are missing."""
        with self._lock:
            scores = self._scores.get(key, {})
            return self._mean(scores) if len(scores) == len(self.validation) else math.nan

    def prompt(self, key: str) -> Prompt:
        """The prompt of a key."""
        return self._prompts[key]

    def best(self, first: str) -> str:
        """The key of the best prompt; `first` where nothing is known to be better."""
        found, top = first, self.score(first)
        if math.isnan(top):
            return first
        for trial in list(self.history):
            if trial.score > top:
                found, top = trial.prompt, trial.score
        return found

    def _mean(self, scores: Mapping[str, float]) -> float:
        return math.fsum(scores[case] for case in self.validation) / len(self.validation)


class Bench:
    """What all copies of a student share."""

    def __init__(self, cases: Mapping[str, Case], board: Board, wanted: Aims, shipped: str) -> None:
        self.cases = cases
        self.board = board
        self.wanted = wanted
        self.shipped = shipped
        """The instructions that the signature came with."""
        self._pieces = _pieces(cases.values())

    def __deepcopy__(self, memo: object) -> "Bench":
        return self

    def quotes(self, instructions: str) -> bool:
        """Whether instructions hold a piece of a memory."""
        if instructions == self.shipped:
            return False
        text = " ".join(instructions.split())
        return any(piece in text for piece in self._pieces)


def _pieces(cases: Iterable[Case]) -> frozenset[str]:
    """Pieces of the memories of cases such that every long enough quotation holds one of them."""
    found: set[str] = set()
    for case in cases:
        for view in [*case.inputs.get("memories", ()), *case.inputs.get("passages", ())]:
            content = " ".join(view.content.split())[3:-3]
            found.update(content[at : at + QUOTED] for at in range(0, len(content) - QUOTED + 1, 8))
    return frozenset(found)


class Student(dspy.Module):  # type: ignore[misc]
    """Asks the predictor about one case. What a model or a server does wrong is a bad answer, never an error."""

    def __init__(self, predict: dspy.Predict, bench: Bench, *, by_code: bool = False) -> None:
        super().__init__()
        self.predict = predict
        self.bench = bench
        self.by_code = by_code
        """Answer as the judge by code does, without any model."""

    def forward(self, case: str, **fields: Any) -> dspy.Prediction:
        """A prediction with the output fields; `failed` says why there are none, `open` that it may be asked again."""
        bench = self.bench
        predict = self.predict
        if self.by_code:
            outputs = bench.cases[case].by_code
            self._trace(fields, dspy.Prediction(**outputs))
            return dspy.Prediction(case=case, prompt="", **{name: plain(value) for name, value in outputs.items()})
        prompt = effective(predict, bench.shipped)
        key = bench.board.know(prompt)
        if len(prompt.instructions) > LONGEST or not prompt.instructions:
            return self._failed(case, key, fields, "the instructions are empty or too long")
        if bench.quotes(prompt.instructions):
            return self._failed(case, key, fields, "the instructions quote a memory; they must be general")
        signature = predict.signature.with_instructions(prompt.instructions)
        try:
            with dspy.context(adapter=ADAPTER):
                said = predict(signature=signature, **fields)
        except AdapterParseError:
            return self._failed(case, key, fields, UNREADABLE)
        except LmBroken as fault:
            return self._failed(case, key, fields, fault.message)
        except ServiceError as fault:
            return dspy.Prediction(case=case, prompt=key, failed=fault.message, open=True)
        return dspy.Prediction(case=case, prompt=key, **{name: said[name] for name in predict.signature.output_fields})

    def _failed(self, case: str, key: str, fields: Mapping[str, Any], why: str) -> dspy.Prediction:
        self._trace(fields, dspy.Prediction(answer=f"none: {why}"))
        return dspy.Prediction(case=case, prompt=key, failed=why)

    def _trace(self, fields: Mapping[str, Any], said: dspy.Prediction) -> None:
        if dspy.settings.trace is not None:
            dspy.settings.trace.append((self.predict, dict(fields), said))


def effective(predict: dspy.Predict, shipped: str) -> Prompt:
    """The prompt that a predictor of a student is asked with: guarded."""
    prompt = prompt_of(predict)
    return prompt._replace(instructions=guarded(prompt.instructions, shipped))


class Metric:
    """As optimizers call it: the score of a prediction; with the feedback where it is asked for a predictor."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def __call__(
        self,
        gold: dspy.Example,
        pred: dspy.Prediction,
        trace: Any = None,
        pred_name: str | None = None,
        pred_trace: Any = None,
    ) -> Any:
        """In [0, 1]. A finished evaluation is written on the board."""
        found = self.verdict(gold.case, pred)
        if pred.get("prompt") and not pred.get("open"):
            self._bench.board.put(pred.prompt, gold.case, found.score)
        if pred_name is None:
            return found.score
        return dspy.Prediction(score=found.score, feedback=found.feedback)

    def verdict(self, case: str, pred: dspy.Prediction) -> Verdict:
        """What a prediction is worth."""
        if pred.get("failed"):
            return broken(pred.failed)
        outputs = {name: pred[name] for name in self._bench.cases[case].outputs if name in pred}
        return verdict(self._bench.cases[case], outputs, self._bench.wanted)
