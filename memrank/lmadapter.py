"""The adapter between signatures and language models: dspy's JSON prompts, built once, and answers read with patience.

dspy builds the system message and the JSON schema of a signature anew at every call, which is most of what a call
costs on this machine. Here they are kept. The prompts are the same, byte for byte, with one exception: dspy takes
`<<CUSTOM-TYPE-START-IDENTIFIER>>` in any text for a picture or a file to attach. Text of memories stays text here.
"""

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

import dspy
from dspy.adapters.json_adapter import _get_structured_outputs_response_format
from dspy.clients.legacy_requests import _strict_json_schema
from dspy.utils.exceptions import AdapterParseError
from pydantic import TypeAdapter, ValidationError

Made = TypeVar("Made")

KEPT = 64
"""Signatures whose prompts are kept, the newest: optimizers make new ones all the time."""
THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
UNOPENED = re.compile(r"^.*?</(think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
FENCE = re.compile(r"```[A-Za-z0-9_-]*\s*\n?(.*?)```", re.DOTALL)


class Unreadable(ValueError):
    """A text that holds no JSON object, or several that differ."""


def json_object(text: str) -> dict[str, Any]:
    """The one JSON object in an answer. Around it there may be fences, prose and reasoning; in it nothing is mended.

    Raises Unreadable where there is none, where several differ, and for NaN, infinities and keys that stand twice.
    """
    bare = UNOPENED.sub("", THOUGHT.sub("", text)).strip()
    for candidate in (bare, *FENCE.findall(bare)):
        whole = _decoded(candidate.strip())
        if whole is not None:
            return whole
    found = _outermost(bare)
    if len(found) != 1:
        raise Unreadable("no JSON object" if not found else f"{len(found)} JSON objects that differ")
    return found[0]


def _decoded(text: str) -> dict[str, Any] | None:
    try:
        value = DECODER.decode(text)
    except (json.JSONDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _outermost(text: str) -> list[dict[str, Any]]:
    """The distinct objects that stand in a text one after another."""
    found: list[dict[str, Any]] = []
    at = text.find("{")
    while at >= 0:
        try:
            value, end = DECODER.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            at = text.find("{", at + 1)
            continue
        if value not in found:
            found.append(value)
        at = text.find("{", end)
    return found
