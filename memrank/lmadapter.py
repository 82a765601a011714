"""The adapter between signatures and language models: dspy's JSON prompts, built once, and answers read with patience.

dspy builds the system message and the JSON schema of a signature anew at every call, which is most of what a call
costs on this machine. Here they are kept. The prompts are the same, byte for byte, with one exception: dspy takes
`<<CUSTOM-TYPE-START-IDENTIFIER>>` in any text for a picture or a file to attach. Text of memories stays text here.
"""

import json
import math
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import dspy
from dspy.adapters.json_adapter import _get_structured_outputs_response_format
from dspy.adapters.utils import apply_output_field_defaults
from dspy.clients.legacy_requests import _strict_json_schema
from dspy.utils.exceptions import AdapterParseError
from pydantic import TypeAdapter, ValidationError

Made = TypeVar("Made")

KEPT = 256
"""Pieces of prompts that are kept, the newest: optimizers make new signatures all the time."""
LONGEST = 200_000
"""Characters of an answer that are looked at; a longer one is none."""
STARTS = 50
"""Brackets at which a value may be looked for in vain: each try may read all of the rest."""
THOUGHT = re.compile(r"<(/?)(think|thinking|reasoning)>", re.IGNORECASE)
OPENING = re.compile(r"[\[{]")
FENCE = re.compile(r"```[A-Za-z0-9_-]*+\s*+(.*?)```", re.DOTALL)


class UnreadableError(ValueError):
    """A text that holds no JSON value that could be the answer, or several that differ."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise UnreadableError("a key stands twice in one object")
    return made


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise UnreadableError("a number is beyond all bounds")
    return number


def _integer(text: str) -> int:
    if len(text) > 300:  # as far as numbers with a point go
        raise UnreadableError("a number is beyond all bounds")
    return int(text)


def _constant(text: str) -> float:
    raise UnreadableError(f"{text} is no number")


DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_float=_number, parse_int=_integer, parse_constant=_constant)


def json_value(text: str) -> dict[str, Any] | list[Any]:
    """The one JSON object or list in an answer, with fences, prose and reasoning around it. In it nothing is mended.

    Raises UnreadableError where there is none, where several differ, and for NaN, infinities and doubled keys.
    """
    if len(text) > LONGEST:
        raise UnreadableError("the answer is too long")
    bare = _without_thoughts(text)
    for whole in (text.strip(), bare):  # a justification may speak of <think> itself
        found = _decoded(whole)
        if found is not None:
            return found
    fenced = [value for value in (_decoded(block.strip()) for block in FENCE.findall(bare)) if value is not None]
    values = _distinct(fenced) or _distinct(_standing(bare))
    if len(values) != 1:
        raise UnreadableError("no JSON object" if not values else "several JSON values that differ")
    return values[0]


def _without_thoughts(text: str) -> str:
    """What stands outside of marked reasoning: behind its end, too, where its beginning was left out."""
    kept: list[str] = []
    at, inside = 0, None
    for tag in THOUGHT.finditer(text):
        closes, name = bool(tag[1]), tag[2].lower()
        if closes and inside in (None, name):
            if inside is None:
                kept.clear()
            at, inside = tag.end(), None
        elif not closes and inside is None:
            kept.append(text[at : tag.start()])
            inside = name
    return "".join([*kept, "" if inside is not None else text[at:]]).strip()


def _decoded(text: str) -> dict[str, Any] | list[Any] | None:
    try:
        value = DECODER.decode(text)
    except (json.JSONDecodeError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) else None


def _standing(text: str) -> Iterator[dict[str, Any] | list[Any]]:
    """The objects, and lists of objects, that stand in a text one after another. Lists of anything else are prose."""
    at, vain = 0, 0
    while vain < STARTS and (start := OPENING.search(text, at)) is not None:
        try:
            value, at = DECODER.raw_decode(text, start.start())
        except (json.JSONDecodeError, RecursionError):
            at, vain = start.start() + 1, vain + 1
            continue
        if isinstance(value, dict) or (value and all(isinstance(entry, dict) for entry in value)):
            yield value


def _distinct(values: Iterable[Made]) -> list[Made]:
    """The values that differ, two at the most."""
    found: list[Made] = []
    for value in values:
        if value not in found:
            found.append(value)
        if len(found) > 1:
            break
    return found


class LmAdapter(dspy.JSONAdapter):  # type: ignore[misc]
    """dspy's `JSONAdapter` that builds once what depends on the signature alone. Safe to share by threads.

    With `typed` false an answer's fields are plain JSON values, which the judge checks itself; the prompt is the same.
    """

    def __init__(self, *, typed: bool = True) -> None:
        super().__init__(use_native_function_calling=False)
        self._typed = typed
        self._kept: OrderedDict[object, tuple[object, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def __deepcopy__(self, memo: object) -> "LmAdapter":
        """dspy copies programs; what was built stays one."""
        return self

    def format(
        self, signature: type[dspy.Signature], demos: list[dict[str, Any]], inputs: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """System message, demonstrations and question, all of them text."""
        messages = [{"role": "system", "content": self.format_system_message(signature)}]
        messages.extend(self.format_demos(signature, demos))
        content = self.format_user_message_content(signature, dict(inputs), main_request=True)
        if content:
            # Half a surrogate pair can be sent nowhere; dspy would raise.
            messages.append({"role": "user", "content": content.encode("utf-8", "replace").decode("utf-8")})
        return messages

    def format_system_message(self, signature: type[dspy.Signature]) -> str:
        """As dspy's, kept."""
        made: str = self._once("system", signature, super().format_system_message)
        return made

    def user_message_output_requirements(self, signature: type[dspy.Signature]) -> str:
        """As dspy's, kept."""
        made: str = self._once("reminder", signature, super().user_message_output_requirements)
        return made

    def format_demos(self, signature: type[dspy.Signature], demos: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """As dspy's, kept for as long as the same demonstrations come."""
        same = [dict(demo) for demo in demos]
        key = ("demos", signature, tuple(map(id, demos)))
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and kept[0] == same:
            return [*kept[1]]
        made = super().format_demos(signature, demos)
        self._keep(key, same, made)
        return [*made]

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """The output fields of an answer. Raises AdapterParseError, which holds the answer."""
        names = list(signature.output_fields)
        try:
            value = json_value(completion)
            if isinstance(value, list):
                if len(names) != 1:
                    raise UnreadableError("a list where an object is asked for")
                value = {names[0]: value}
            fields = {name: value[name] for name in names if name in value}
            if self._typed:
                types: dict[str, TypeAdapter[Any]] = self._once("types", signature, _types)
                fields = {name: _typed(name, types[name], field) for name, field in fields.items()}
        except UnreadableError as fault:
            raise AdapterParseError("LmAdapter", signature, completion, message=str(fault)) from None
        complete: dict[str, Any] = apply_output_field_defaults(signature, fields)
        if len(complete) != len(names):
            missing = ", ".join(name for name in names if name not in complete)
            raise AdapterParseError("LmAdapter", signature, completion, message=f"missing: {missing}")
        return complete

    def _prepare_response_format(
        self, lm: dspy.BaseLM, lm_kwargs: dict[str, Any], signature: type[dspy.Signature]
    ) -> None:
        """The JSON schema of the answer, where the model takes one."""
        if lm.supports_response_schema:
            lm_kwargs["response_format"] = self._once("schema", signature, _response_format)

    def _once(self, what: str, signature: type[dspy.Signature], make: Callable[[Any], Made]) -> Made:
        # The instructions of a signature can be set in place; its fields cannot.
        key, instructions = (what, signature), signature.__doc__
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and kept[0] == instructions:
                self._kept.move_to_end(key)
                return kept[1]  # type: ignore[no-any-return]
        made = make(signature)
        self._keep(key, instructions, made)
        return made

    def _keep(self, key: object, of: object, made: object) -> None:
        with self._lock:
            self._kept[key] = (of, made)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)


def _types(signature: type[dspy.Signature]) -> dict[str, TypeAdapter[Any]]:
    return {name: TypeAdapter(field.annotation) for name, field in signature.output_fields.items()}


def _response_format(signature: type[dspy.Signature]) -> dict[str, Any]:
    """As dspy makes it of the output fields: strict, every property required, no other allowed."""
    model = _get_structured_outputs_response_format(signature, use_native_function_calling=False)
    schema = _strict_json_schema(model.model_json_schema())
    return {"type": "json_schema", "json_schema": {"name": model.__name__, "schema": schema, "strict": True}}


def _typed(name: str, type_: TypeAdapter[Any], value: object) -> Any:
    """The value as its type says. Raises UnreadableError with what is wrong and where, not with what stood there."""
    try:
        return type_.validate_python(value)
    except ValidationError as fault:
        faults = fault.errors(include_input=False, include_url=False, include_context=False)
        told = [f"{'.'.join(map(str, (name, *each['loc'])))}: {each['msg']}" for each in faults[:10]]
        raise UnreadableError("; ".join(told)) from None
