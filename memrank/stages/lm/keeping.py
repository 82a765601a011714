"""Answers of a judge kept from read to read, each by everything that it depends on; only valid ones are kept."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import dspy
from pydantic import BaseModel

from memrank.answercache import AnswerCache, answer_key, fingerprint, prompt_version
from memrank.speclm import LmSpec

T = TypeVar("T")


class Keeper(Generic[T]):
    """The cache of one predictor. Nothing is kept while the predictor is asked through a model that is not the spec's.

    An answer belongs to the memory and the query, whatever else stood in its batch.
    """

    def __init__(self, spec: LmSpec, predict: dspy.Predict) -> None:
        self._spec = spec
        self._predict = predict
        self._cache: AnswerCache[T] = AnswerCache(spec.cache)

    def found(self, context: BaseModel, views: Mapping[str, BaseModel]) -> tuple[dict[str, str], dict[str, T]]:
        """The key of each view, by its name, and the answers that are there; nothing where nothing may be kept."""
        if not self._spec.cache or self._predict.lm is not None or dspy.settings.trace is not None:
            return {}, {}
        asked = fingerprint(context.model_dump(mode="json"))
        settings, prompt = self._settings(), self._prompt()
        keys = {
            name: answer_key(
                endpoint=self._spec.endpoint,
                model=self._spec.model,
                settings=settings,
                prompt=prompt,
                context=asked,
                content=fingerprint(view.model_dump(mode="json", exclude={"id"})),
            )
            for name, view in views.items()
        }
        answers = {name: answer for name, key in keys.items() if (answer := self._cache.get(key)) is not None}
        return keys, answers

    def keep(self, keys: Mapping[str, str], answers: Mapping[str, T]) -> None:
        """Keep valid answers, by name."""
        for name, answer in answers.items():
            if name in keys:
                self._cache.put(keys[name], answer)

    def _settings(self) -> object:
        names = {"temperature", "response_schema", "max_tokens", "fallbacks"}
        return self._spec.model_dump(mode="json", include=names)

    def _prompt(self) -> str:
        signature = self._predict.signature
        fields = {
            name: f"{field.annotation} {field.json_schema_extra.get('desc')}"
            for name, field in signature.fields.items()
        }
        return prompt_version(signature.instructions, fields, [_plain(dict(demo)) for demo in self._predict.demos])


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value
