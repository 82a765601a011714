"""What memrank leans on in dspy. When one fails after an upgrade, read the code it names before lifting the cap."""

import asyncio
import subprocess
import sys
from typing import Any

import dspy
import pytest
from dspy.dsp.utils.settings import DEFAULT_CONFIG, thread_local_overrides


class _Signature(dspy.Signature):  # type: ignore[misc]
    """Answer."""

    question: str = dspy.InputField()
    answer: list[int] = dspy.OutputField()


class _Code(dspy.Predict):  # type: ignore[misc]
    """Answered by code, as `stages.base.EmbeddedPredict` is."""

    def forward(self, *, question: str) -> dspy.Prediction:
        return self._forward_postprocess({"answer": [[1, 2]]}, self.signature, question=question)


class _Module(dspy.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.judge = _Code(_Signature)

    def forward(self, question: str, *, times: int = 1) -> dspy.Prediction:
        return dspy.Prediction(answer=self.judge(question=question).answer * times)

    async def aforward(self, question: str, *, times: int = 1) -> dspy.Prediction:
        return self.forward(question, times=times)


def test_importing_dspy_leaves_litellm_alone() -> None:
    """Importing litellm takes seconds and fetches a price list from the network."""
    code = "import sys, dspy; print(sorted({'litellm', 'mlflow'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_default_trace_is_a_list_that_grows() -> None:
    """`pipeline._quiet` switches it off; were it None already, there would be nothing to switch off."""
    assert isinstance(DEFAULT_CONFIG["trace"], list)


def test_a_caller_that_collects_a_trace_shows_in_the_overrides() -> None:
    """`pipeline._quiet` tells an optimizer by it."""
    assert "trace" not in thread_local_overrides.get()
    with dspy.context(trace=[]):
        assert "trace" in thread_local_overrides.get()
    assert "trace" not in thread_local_overrides.get()


def test_trace_none_stops_the_trace() -> None:
    """`EmbeddedPredict.forward` writes typed answers only where there is a trace."""
    with dspy.context(trace=None, disable_history=True):
        assert dspy.settings.trace is None
        assert _Module()("?").answer == [1, 2]


def test_a_predict_answered_by_code_is_still_a_predictor() -> None:
    """Optimizers find what they tune by `named_predictors`."""
    module = _Module()
    assert [name for name, _ in module.named_predictors()] == ["judge"]
    assert module.judge.signature.instructions == "Answer."
    assert module.judge.demos == []


def test_its_answer_lands_in_the_trace() -> None:
    module = _Module()
    trace: list[Any] = []
    with dspy.context(trace=trace):
        module("why?")
    [(predictor, inputs, prediction)] = trace
    assert predictor is module.judge
    assert inputs == {"question": "why?"}
    assert prediction.answer == [1, 2]


def test_modules_pass_positional_arguments_on() -> None:
    """Stages are called with their slate by place."""
    assert _Module()("?", times=2).answer == [1, 2, 1, 2]


async def _asked() -> list[int]:
    answer: list[int] = (await _Module().acall("?", times=2)).answer
    return answer


def test_acall_reaches_aforward() -> None:
    assert asyncio.run(_asked()) == [1, 2, 1, 2]


def test_predictions_take_any_values_and_subclasses() -> None:
    """`pipeline.Ranking` is a Prediction with attributes of its own."""

    class _Answer(dspy.Prediction):  # type: ignore[misc]
        def __init__(self, results: tuple[int, ...]) -> None:
            super().__init__(results=results)
            self._own = "kept"

    answer = _Answer((1, 2))
    assert answer.results == (1, 2)
    assert answer._own == "kept"


def test_dspy_is_within_the_pinned_range() -> None:
    version = tuple(map(int, dspy.__version__.split(".")[:2]))
    if version != (3, 4):
        pytest.fail(f"dspy {dspy.__version__}: memrank is written for 3.4")
