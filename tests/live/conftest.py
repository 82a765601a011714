"""A real model, where one is served; without one these tests are skipped, and say why."""

import http.client
import json
import os
from urllib.parse import urlsplit

import pytest

VARIABLE = "MEMRANK_LIVE_ENDPOINT"
USUAL = "http://127.0.0.1:8095/v1"
"""Where a served model is looked for when the variable is not set; an empty variable looks nowhere."""
PATIENCE = 0.5


def serves(endpoint: str) -> bool:
    """Whether something there lists models. It is not asked to think."""
    parts = urlsplit(endpoint)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)
    try:
        connection.request("GET", f"{parts.path}/models")
        answer = connection.getresponse()
        return answer.status == 200 and bool(json.loads(answer.read()).get("data"))
    except (OSError, http.client.HTTPException, ValueError, AttributeError):
        return False
    finally:
        connection.close()


@pytest.fixture(scope="session")
def endpoint() -> str:
    """The model's endpoint."""
    stated = os.environ.get(VARIABLE)
    if stated == "":
        pytest.skip(f"{VARIABLE} is empty: no real model is to be asked")
    if stated is None and not serves(USUAL):
        pytest.skip(f"no real model: {VARIABLE} is not set, and none is served at {USUAL}")
    return (stated or USUAL).rstrip("/")
