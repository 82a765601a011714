"""Readings of models at loopback servers."""

from collections.abc import Callable, Iterator
from typing import Any

import dspy
import pytest

from memrank.remote import Remote
from memrank.speclm import LmSpec


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """As a pipeline's door: nothing of dspy's that grows."""
    with dspy.context(trace=None, disable_history=True):
        yield


@pytest.fixture
def remote() -> Iterator[Callable[..., Remote]]:
    """Makes remotes of an endpoint, with settings of the spec; they are closed at the end."""
    made: list[Remote] = []

    def make(endpoint: str, *, environ: dict[str, str] | None = None, **settings: Any) -> Remote:
        fields = {"model": "local/m", "endpoint": endpoint, "retry_wait": "0s", **settings}
        made.append(Remote(LmSpec.model_validate(fields), environ=environ or {}))
        return made[-1]

    yield make
    for each in made:
        each.close()
