"""Settings and pools for a model that really thinks, slowly: as long as it takes, one call at a time."""

import os
from collections.abc import Sequence

from lmreading import asking
from reading import Record

from memrank.pipeline import Pipeline, Ranking

MODEL = os.environ.get("MEMRANK_LIVE_MODEL", "local/served")
SCHEMA = os.environ.get("MEMRANK_LIVE_SCHEMA", "1") == "1"
PATIENT = {"deadline": "600s", "read_deadline": "1800s", "concurrency": 1, "retries": 0, "model": MODEL}
UNSOUND = {"lm_timeout", "lm_deadline", "lm_unreachable", "lm_refused", "lm_limited", "lm_server", "lm_budget"}
"""What a served model that answers at all must not show. A small one may answer wrongly (`lm_invalid`)."""


def patient(endpoint: str, judge: str = "lm", **lm: object) -> Pipeline:
    """A pipeline whose judge is the served model."""
    return asking(endpoint, judge, **{**PATIENT, "response_schema": SCHEMA, **lm})


def served(ranking: Ranking) -> bool:
    """Whether the exchange with the server was sound, whatever the model made of it."""
    return not UNSOUND & {note.code for note in ranking.notes}


def judged(ranking: Ranking) -> Sequence[str]:
    """Ids of what the model judged."""
    return [item.id for item in (*ranking.results, *ranking.excluded) if item.judged_by == "lm"]


def only(pool: Sequence[Record], *ids: str) -> list[Record]:
    """Some of a pool: every memory costs a real model seconds."""
    return [one for one in pool if one["id"] in ids]
