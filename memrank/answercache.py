"""Answers of language models kept in memory, by everything that they depend on. Only valid ones belong here."""

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

Value = TypeVar("Value")


def fingerprint(*parts: object) -> str:
    """One hash of JSON values: texts, numbers, None, lists and mappings of them. Raises TypeError for anything else."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def prompt_version(instructions: str, fields: Mapping[str, str], demos: Sequence[Mapping[str, object]]) -> str:
    """What the prompt of a judgement is: its instructions, its fields (name to type and description) and its demos."""
    return fingerprint(instructions, dict(fields), [dict(demo) for demo in demos])


def answer_key(*, endpoint: str | None, model: str, settings: object, prompt: str, context: str, content: str) -> str:
    """The key of the answer about one memory.

    `settings` is what else goes to the server (temperature, schema), `prompt` the `prompt_version`, `context` the hash
    of the query with all that is sent of it, `content` that of the memory with all that is sent of it.
    """
    return fingerprint(endpoint, model, settings, prompt, context, content)


class AnswerCache(Generic[Value]):
    """At most `size` answers; the one asked for longest ago goes first. Safe to share by threads; 0 keeps nothing."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: OrderedDict[str, Value] = OrderedDict()
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0

    def __deepcopy__(self, memo: object) -> "AnswerCache[Value]":
        """dspy copies programs; what they know stays one."""
        return self

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: str) -> Value | None:
        """The answer under the key, or None."""
        with self._lock:
            if key not in self._kept:
                self.misses += 1
                return None
            self.hits += 1
            self._kept.move_to_end(key)
            return self._kept[key]

    def put(self, key: str, value: Value) -> None:
        """Keep an answer that was found valid."""
        if not self._size:
            return
        with self._lock:
            self._kept[key] = value
            self._kept.move_to_end(key)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
