"""The section of the spec about a language model: which one, where, and what it may cost. Keys are only ever named."""

import re
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from memrank.specbase import Section
from memrank.specvalues import Count, Duration, Grace

MODEL_PATTERN = r"^[A-Za-z0-9_.-]{1,64}/\S{1,200}$"
VARIABLE_PATTERN = r"^[A-Z_][A-Z0-9_]{0,127}$"
"""In capitals: what else stands there might be the key itself."""
ENDPOINT_PATTERN = r"^https?://\S{1,500}$"


def _model(text: str) -> str:
    if re.fullmatch(MODEL_PATTERN[1:-1], text):  # `$` would let a line end pass
        return text
    raise ValueError("this is no model; allowed: PROVIDER/NAME, such as openai/gpt-4o-mini")


def _variable(text: str) -> str:
    if re.fullmatch(VARIABLE_PATTERN[1:-1], text):
        return text
    raise ValueError("this is no name of an environment variable; allowed: capitals, digits and _, such as MY_API_KEY")


def _endpoint(text: str) -> str:
    allowed = "allowed: http:// or https://, a host, a port and a path, such as http://127.0.0.1:8080/v1"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError(f"this is no address of a server; {allowed}") from None
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ValueError(f"an address holds no user, password or query: keys stand in the environment; {allowed}")
    if not parts.hostname or port == 0 or parts.scheme not in ("http", "https"):
        raise ValueError(f"this is no address of a server; {allowed}")
    return text.rstrip("/")


Model = Annotated[
    str,
    AfterValidator(_model),
    WithJsonSchema({"type": "string", "pattern": MODEL_PATTERN, "examples": ["openai/gpt-4o-mini"]}),
]
Variable = Annotated[
    str,
    AfterValidator(_variable),
    WithJsonSchema({"type": "string", "pattern": VARIABLE_PATTERN, "examples": ["MY_API_KEY"]}),
]
Endpoint = Annotated[
    str,
    AfterValidator(_endpoint),
    WithJsonSchema({"type": "string", "pattern": ENDPOINT_PATTERN, "examples": ["http://127.0.0.1:8080/v1"]}),
]
Total = Annotated[int, Field(ge=1, le=10**12)]
Dollars = Annotated[float, Field(ge=0, le=1e9)]


class PriceSpec(Section):
    input: Dollars
    """USD per million tokens that are sent."""
    output: Dollars
    """USD per million tokens that are answered."""


class ModelSpec(Section):
    model: Model
    """Provider and name, such as `openai/gpt-4o-mini`; at an `endpoint` only what follows the first / is sent."""
    endpoint: Endpoint | None = None
    """Address of a server that speaks OpenAI's chat completions; the provider's own where it is left out."""
    api_key_env: Variable | None = None
    """Name of the environment variable that holds the key; the provider's own, or none at an `endpoint`."""
    response_schema: bool | None = None
    """Whether the server keeps to a JSON schema; what the provider is known to do where it is left out."""
    price: PriceSpec | None = None
    """What it costs, where the model is not a known one."""


class LmSpec(ModelSpec):
    """A language model, and the limits that hold for every call, every read and the whole run."""

    temperature: Annotated[float, Field(ge=0, le=2)] | None = 0.0
    """Sampling temperature; `null` leaves it to the provider (some reasoning models take no other)."""
    max_tokens: Count = 2000
    """Tokens of one answer at the most; an answer that is cut there is no answer."""
    batch: Annotated[int, Field(ge=1, le=200)] = 20
    """Memories in one call."""
    deadline: Duration = 5.0
    """How long one call may take, all in all."""
    read_deadline: Duration = 15.0
    """How long all calls of one read may take together; what is missing then is judged without the model."""
    concurrency: Annotated[int, Field(ge=1, le=64)] = 8
    """Calls at the same time."""
    retries: Annotated[int, Field(ge=0, le=5)] = 1
    """Further tries after a time-out, a broken connection, a rate limit or a server error."""
    retry_wait: Grace = 1.0
    """Before the first of them, twice as long before each further one; what the server asks for counts instead."""
    max_calls: Count = 40
    """Calls of one read, retries included."""
    max_calls_per_run: Total | None = None
    """Calls of all reads of one pipeline together."""
    max_tokens_per_run: Total | None = None
    """Tokens sent and answered by all reads of one pipeline together."""
    max_cost_per_run: Dollars | None = None
    """USD of all reads of one pipeline together; needs a `price` where the model is not a known one."""
    on_error: Literal["embedded", "zero"] = "embedded"
    """What a memory is given that the model did not judge: the `embedded` judge's score, or 0."""
    decoys: Annotated[int, Field(ge=0, le=3)] = 1
    """Foreign questions by which a memory is checked that the model places above the `embedded` judge; 0: none."""
    cache: Annotated[int, Field(ge=0, le=1_000_000)] = 10_000
    """Valid answers that are kept in memory at the most; 0: none."""
    fallbacks: tuple[ModelSpec, ...] = Field(default=(), max_length=3)
    """Models that are asked in turn where one cannot be reached, is too slow or fails."""

    @model_validator(mode="after")
    def _calls_fit_in_a_read(self) -> Self:
        if self.deadline > self.read_deadline:
            raise ValueError("deadline is longer than read_deadline; allowed: at most read_deadline")
        return self
