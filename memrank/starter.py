"""What `memrank init NAME` writes: a first spec with comments, and memories to try it on."""

import json
import re

from memrank.errors import UsageError
from memrank.spec import NAME_PATTERN

_SPEC = """\
# yaml-language-server: $schema=memrank.schema.json
# Try it: `memrank run {name}.yaml --explain`. For help in editors: `memrank schema > memrank.schema.json`.
memrank: 1                     # version of the spec format
name: "{name}"
description: What an assistant remembers about a customer, newest facts first.
store: {{kind: jsonl.v1, path: {name}.memories.jsonl}}   # the path is relative to this file
example:                       # what `memrank run {name}.yaml` asks when it is given nothing else
  query: When does Dana want her appointments?
  as_of: 2026-03-20T09:00:00Z  # what "now" means for the example
lm: null                       # no language model: everything runs on this machine
stages:
  # 1. Hybrid search picks the candidates: BM25 and sentence vectors.
  - {{kind: prefilter.hybrid.v1, top_k: 100}}
  # 2. Freshness: how much the age of each memory counts against it, for this query.
  - kind: temporal.v1
    sensitivity: auto          # real-time | recent | historical | time-agnostic | auto (from the query)
    half_life: {{default: 14d, preference: 90d}}   # the age at which freshness is one half, per memory type
    undated: zero              # zero | neutral: freshness of a memory without a date
    real_time_window: 24h      # real-time queries: anything older has freshness 0
  # 3. Ranking: relevance and freshness combined; a superseded fact stands below the one that replaced it.
  - kind: ranker.v1
    judge: embedded            # relevance without a model call
    weights: {{relevance: 0.6, freshness: 0.4}}    # sum to 1; also importance, authority
    relevance_threshold: 0.2   # below it a memory is excluded, so nothing relevant means an empty list
    stale_after: 365d          # older memories are excluded, unless the query asks about the past
  # 4. Pruning: what stays in the context, within a budget of tokens.
  - {{kind: pruner.v1, max_tokens: 1200, keep_last_turns: 3}}
review: {{top_score_below: 0.4, ambiguity_margin: 0.05}}   # when a person should look
# reads: {{log: {name}.reads.db}}                           # record every read: `memrank reads log --spec {name}.yaml`
# evaluate: {{evalset: evalsets/{name}, gates: {{"P@3": {{min: 0.85}}}}}}
# compile: {{objective: "nDCG@10", optimizer: weights}}
"""

_MEMORIES: tuple[dict[str, object], ...] = (
    {
        "id": "m01",
        "content": "Dana prefers appointments early in the morning, before work.",
        "created_at": "2025-11-04T08:30:00Z",
        "memory_type": "preference",
        "superseded_by": "m06",
    },
    {
        "id": "m02",
        "content": "Dana lives in Utrecht and comes by bicycle.",
        "created_at": "2025-06-12T10:00:00Z",
        "memory_type": "fact",
        "importance": 0.4,
    },
    {
        "id": "m03",
        "content": "Dana is allergic to penicillin.",
        "created_at": "2024-09-02T14:20:00Z",
        "memory_type": "fact",
        "importance": 1.0,
        "pinned": True,
    },
    {
        "id": "m04",
        "content": "Dana missed the appointment of 16 January because her train was late.",
        "event_date": "2026-01-16",
        "memory_type": "episode",
        "access_count": 2,
    },
    {
        "id": "m05",
        "content": "The practice is closed on Wednesday afternoons.",
        "memory_type": "fact",
    },
    {
        "id": "m06",
        "content": "Dana started a new job: from now on she wants her appointments in the late afternoon.",
        "created_at": "2026-03-11T16:05:00Z",
        "memory_type": "preference",
        "importance": 0.8,
    },
    {
        "id": "m07",
        "content": "Dana asked for a reminder by text message a day before each appointment.",
        "created_at": "2026-02-20T09:15:00Z",
        "memory_type": "preference",
    },
    {
        "id": "m08",
        "content": "The invoice of February was paid on the third of March.",
        "created_at": "2026-03-03T11:45:00Z",
        "memory_type": "fact",
    },
    {
        "id": "m09",
        "content": "Dana's next check-up is due in April.",
        "created_at": "2026-03-19T15:30:00Z",
        "memory_type": "episode",
    },
)


def starter_spec(name: str) -> str:
    """The text of a first spec. Raises UsageError for a name that a spec cannot have."""
    if not re.fullmatch(NAME_PATTERN.removesuffix("$"), name):
        what = "the name of a spec is 1 to 64 lower-case letters, digits, - and _, and starts with a letter or digit"
        raise UsageError(what, hint="for example: memrank init support-notes")
    return _SPEC.format(name=name)


def starter_memories() -> str:
    """JSONL that the first spec ranks: varied dates, one memory without a date, one that was superseded."""
    return "".join(json.dumps(memory, ensure_ascii=False) + "\n" for memory in _MEMORIES)
