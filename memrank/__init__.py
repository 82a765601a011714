"""memrank ranks what an agent remembers: fresh, relevant, explained, within a token budget.

Importing this package is cheap and has no side effect: what needs dspy is loaded when it is first used.
"""

import logging
from typing import TYPE_CHECKING, Any

from memrank.errors import (
    DataError,
    DependencyError,
    MemrankError,
    NamespaceError,
    ScorerError,
    ServiceError,
    SpecError,
    StoreError,
    UsageError,
)
from memrank.version import __version__

if TYPE_CHECKING:
    from memrank.api import load, read_memory
    from memrank.counters import token_counter
    from memrank.dialogue.conversation import Conversation
    from memrank.dialogue.elements import Element
    from memrank.dialogue.judge import Judgement
    from memrank.dialogue.prune import Limits, Scorer, prune
    from memrank.pipeline import Pipeline, Ranking


__all__ = [
    "Conversation",
    "DataError",
    "DependencyError",
    "Element",
    "Judgement",
    "Limits",
    "MemrankError",
    "NamespaceError",
    "Pipeline",
    "Ranking",
    "Scorer",
    "ScorerError",
    "ServiceError",
    "SpecError",
    "StoreError",
    "UsageError",
    "__version__",
    "load",
    "prune",
    "read_memory",
    "token_counter",
]

_LATE = {
    "Conversation": "memrank.dialogue.conversation",
    "Element": "memrank.dialogue.elements",
    "Judgement": "memrank.dialogue.judge",
    "Limits": "memrank.dialogue.prune",
    "Scorer": "memrank.dialogue.prune",
    "prune": "memrank.dialogue.prune",
    "token_counter": "memrank.counters",
    "load": "memrank.api",
    "read_memory": "memrank.api",
    "Pipeline": "memrank.pipeline",
    "Ranking": "memrank.pipeline",
}

logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'memrank' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
