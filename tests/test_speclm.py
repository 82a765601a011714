"""The lm section of a spec."""

from typing import Any

import pytest
from pydantic import ValidationError

from memrank.spec import Spec
from memrank.speclm import LmSpec

STAGES = [{"kind": "prefilter.hybrid.v1"}]


def test_what_stands_where_nothing_is_said() -> None:
    spec = LmSpec(model="openai/gpt-4o-mini")
    assert (spec.deadline, spec.read_deadline, spec.concurrency, spec.retries) == (5.0, 15.0, 8, 1)
    assert (spec.batch, spec.max_calls, spec.on_error, spec.temperature) == (20, 40, "embedded", 0.0)
    assert (spec.endpoint, spec.api_key_env, spec.response_schema, spec.fallbacks) == (None, None, None, ())


def test_a_spec_takes_it() -> None:
    given = {
        "memrank": 1,
        "name": "x",
        "lm": {
            "model": "local/qwen",
            "endpoint": "http://127.0.0.1:8080/v1/",
            "deadline": "20s",
            "read_deadline": "1m",
            "price": {"input": 0.15, "output": 0.6},
            "fallbacks": [{"model": "openai/gpt-4o-mini", "api_key_env": "MY_KEY"}],
        },
        "stages": STAGES,
    }
    spec = Spec.model_validate(given)
    assert spec.lm is not None
    assert spec.lm.endpoint == "http://127.0.0.1:8080/v1"
    assert spec.lm.fallbacks[0].api_key_env == "MY_KEY"
    assert Spec.model_validate(spec.model_dump(mode="json", exclude_unset=True)) == spec


@pytest.mark.parametrize("given", [{}, {"lm": None}])
def test_none_is_none(given: dict[str, Any]) -> None:
    assert Spec.model_validate({"memrank": 1, "name": "x", "stages": STAGES, **given}).lm is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": "gpt-4o-mini"},
        {"model": "openai/"},
        {"model": "openai/a b"},
        {"endpoint": "127.0.0.1:8080"},
        {"endpoint": "ftp://host/v1"},
        {"endpoint": "http://"},
        {"endpoint": "http://host:99999/v1"},
        {"endpoint": "http://user:sk-secret@host/v1"},
        {"endpoint": "http://host/v1?key=sk-secret"},
        {"api_key_env": "sk-secret"},
        {"api_key_env": "lower_case"},
        {"model": "openai/gpt-4o\n"},
        {"api_key": "sk-secret"},
        {"deadline": "20s"},
        {"deadline": 5},
        {"temperature": 3},
        {"temperature": float("nan")},
        {"batch": 0},
        {"concurrency": 0},
        {"retries": -1},
        {"max_calls": 0},
        {"max_cost_per_run": -1},
        {"on_error": "raise"},
        {"cache": -1},
        {"fallbacks": [{"model": "local/m", "batch": 3}]},
    ],
)
def test_what_it_does_not_take(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as raised:
        LmSpec.model_validate({"model": "local/m", **wrong})
    assert "sk-secret" not in str(raised.value)
