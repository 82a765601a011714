"""What dspy's bundled list says of providers' models. Read from the file: dspy itself would fetch a newer one first."""

import gzip
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a model; None where nothing is."""

    response_schema: bool | None = None
    input_usd: float | None = None
    """USD a token that is sent."""
    output_usd: float | None = None
    """USD a token that is answered."""


def known(model: str) -> Known:
    """What the list says of a `provider/name`."""
    provider, _, name = model.partition("/")
    found = _models().get(model)
    if found is None:
        bare = _models().get(name)
        found = bare if bare is not None and bare.get("litellm_provider") == provider else {}
    schema = found.get("supports_response_schema")
    return Known(
        response_schema=schema if isinstance(schema, bool) else None,
        input_usd=_rate(found.get("input_cost_per_token")),
        output_usd=_rate(found.get("output_cost_per_token")),
    )


def _rate(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0 else None


@cache
def _models() -> dict[str, dict[str, Any]]:
    packed = files("dspy.clients.model_metadata").joinpath("snapshot.json.gz").read_bytes()
    listed: dict[str, dict[str, Any]] = json.loads(gzip.decompress(packed))
    kept = ("litellm_provider", "supports_response_schema", "input_cost_per_token", "output_cost_per_token")
    return {model: {name: entry[name] for name in kept if name in entry} for model, entry in listed.items()}
