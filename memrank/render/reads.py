"""Recorded reads for people and for programs: the list, one read, a replay, the review queue, the statistics."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from memrank.render.grid import Column, grid_lines, table_width
from memrank.render.terminal import Look
from memrank.replay import Move, Replay
from memrank.result import Result, to_dict, utc_text
from memrank.stores.readlog import Kept
from memrank.stores.readlog_exchanges import KeptExchange
from memrank.stores.readlog_list import Line, Use
from memrank.stores.readlog_review import Item
from memrank.stores.readlog_stats import Latency, Stats
from memrank.text.counted import counted, verb
from memrank.text.inert import clip, inert

LONGEST = 300
"""Characters of a cell that are looked at."""

SHORT = 8
"""Characters of a read's id that are shown in tables; as many are enough to name it."""
_OF_TEXT = ("content", "justification", "created_at", "date_used", "memory_type", "tokens", "summary")
"""What of a result cannot be told where the memory is unavailable."""


def when(at: float | None) -> str | None:
    """A time of the log, ISO 8601 UTC to the second."""
    return None if at is None else utc_text(datetime.fromtimestamp(at, UTC).replace(microsecond=0))


def list_text(lines: Sequence[Line], look: Look) -> str:
    """One line a call."""
    rows = [
        (
            line.read_id[:SHORT],
            when(line.at) or "",
            _number(line.returned),
            _number(line.judged),
            _score(line.top_score),
            "cache" if line.cached else f"{line.latency_ms:.1f}",
            (line.decision or "-") if line.reasons else "-",
            line.query if line.query is not None else "(not recorded)",
        )
        for line in lines
    ]
    titles = ("read", "at", "returned", "judged", "top", "ms", "review", "query")
    return _grid(titles, rows, look, ("returned", "judged", "top", "ms"))


def list_json(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """The same for programs."""
    return [asdict(line) | {"at": when(line.at)} for line in lines]


def read_lines(kept: Kept, missing: Sequence[str], uses: Sequence[Use]) -> list[str]:
    """What stands above the answer of a recorded read."""
    forgotten = sum(candidate.forgotten for candidate in kept.candidates)
    lines = [
        f"read {kept.read_id}, {counted(kept.seen, 'call')}, the first at {when(kept.first_at) or 'unknown'}",
        f"spec {kept.spec_sha256[:16]}, store {clip(kept.store_version, 16)}, memrank {kept.memrank}, {kept.model}",
    ]
    if uses:
        lines.append(
            f"of use: {', '.join(clip(name, 40) for name in dict.fromkeys(i for use in uses for i in use.ids))}"
        )
    if kept.exchanges:
        lines.append(f"a model was asked: {counted(len(kept.exchanges), 'call')}; --json shows every word of them")
    if missing:
        texts = counted(len(kept.candidates), "text")
        lines.append(f"unavailable: {len(missing)} of {texts}, {forgotten} of them forgotten")
    return lines


def read_json(kept: Kept, result: Result, missing: Sequence[str], uses: Sequence[Use]) -> dict[str, Any]:
    """A recorded read for programs: every number that was judged by, and the answer."""
    return {
        "read_id": kept.read_id,
        "seen": kept.seen,
        "first_at": when(kept.first_at),
        "latency_ms": kept.latency_ms,
        "memrank": kept.memrank,
        "analyzer": kept.analyzer,
        "judge": kept.judge,
        "model": kept.model,
        "prompts": kept.prompts,
        "validation": kept.validation,
        "spec_sha256": kept.spec_sha256,
        "store_version": kept.store_version,
        "used": [asdict(use) | {"at": when(use.at)} for use in uses],
        "unavailable": list(missing),
        "candidates": [
            {"id": found.id, "hash": found.hash.hex(), "forgotten": found.forgotten, "redacted": found.redacted}
            for found in kept.candidates
        ],
        **({"exchanges": [_exchange(one) for one in kept.exchanges]} if kept.exchanges else {}),
        "columns": {name: values.tolist() for name, values in kept.recorded.numbers.items()},
        "result": _available(to_dict(result), set(missing)),
    }


def _exchange(one: KeptExchange) -> dict[str, Any]:
    messages = [{"role": role, "content": text} for role, text in one.messages]
    return {**asdict(one), "messages": messages, "forgotten": not one.messages}


def _available(result: dict[str, Any], missing: set[str]) -> dict[str, Any]:
    for item in result["results"]:
        if item["id"] in missing:
            for name in _OF_TEXT:
                item.pop(name, None)
            item["unavailable"] = True
    del result["meta"]["latency_ms"]
    return result


def replay_text(replay: Replay, look: Look) -> str:
    """What came of a replay."""
    lines = [f"read {replay.read_id}"]
    if replay.settings:
        change = verb(len(replay.moves), "changes", "change")
        lines.append(f"with {', '.join(replay.settings)}: {len(replay.moves)} of the judged memories {change}")
        lines.extend(_review(replay))
        if replay.moves:
            return "\n".join([*map(inert, lines), "", _moves(replay.moves, look)])
    elif replay.unavailable:
        gone = len(replay.unavailable)
        judged = counted(gone, "judged memory", "judged memories")
        lines.append(f"cannot be reproduced: {judged} {verb(gone)} unavailable")
        lines.append(f"unavailable: {', '.join(replay.unavailable)}")
    elif replay.reproduced:
        lines.append("reproduced from the record, bit for bit")
    else:
        lines.append("NOT reproduced; these differ:")
        lines.extend(f"  {path}" for path in replay.differences)
    lines.extend(f"since then: {what}" for what in replay.since)
    lines.extend(_store(replay))
    return "\n".join(map(inert, lines))


def _review(replay: Replay) -> list[str]:
    """Whether a person would be asked for, where that or why changes."""
    if replay.review is None or replay.review[0] == replay.review[1]:
        return []
    then, now = (f"yes ({', '.join(reasons)})" if reasons else "no" for reasons in replay.review)
    return [f"needs_review: {then} -> {now}"]


def _store(replay: Replay) -> list[str]:
    store = replay.store
    if store is None:
        return []
    if store.moved_on:
        what = [
            f"{len(ids)} {word} ({_few(ids)})"
            for ids, word in ((store.changed, "changed"), (store.gone, "gone"))
            if ids
        ]
        return [f"the store has moved on: of the judged memories {' and '.join(what) or 'none has changed'}"]
    if store.rerun is None:
        return ["the store stands as it stood"]
    return [f"run again over the store, which stands as it stood: {'the same' if store.rerun else 'ANOTHER answer'}"]


def _few(ids: Sequence[str]) -> str:
    return ", ".join(ids[:5]) + (", ..." if len(ids) > 5 else "")


def _moves(moves: Sequence[Move], look: Look) -> str:
    rows = [
        (
            _pair(*map(_number, move.rank)),
            _pair(*(f"{score:.3f}" for score in move.score)),
            _pair(*(reason or "returned" for reason in move.reason)),
            _pair(*(action or "-" for action in move.action)),
            move.id,
        )
        for move in moves
    ]
    return _grid(("rank", "score", "fate", "action", "id"), rows, look, ())


def _pair(before: str, after: str) -> str:
    return before if before == after else f"{before} -> {after}"


def replay_json(replay: Replay) -> dict[str, Any]:
    """The same for programs."""
    store = replay.store
    return {
        "read_id": replay.read_id,
        "reproduced": replay.reproduced,
        "unavailable": list(replay.unavailable),
        "differences": list(replay.differences),
        "since": list(replay.since),
        "store": store and asdict(store) | {"moved_on": store.moved_on},
        "settings": list(replay.settings),
        "moves": [asdict(move) for move in replay.moves],
        "review": replay.review and dict(zip(("then", "now"), map(_needed, replay.review), strict=True)),
        "result": None if replay.result is None else to_dict(replay.result),
    }


def _needed(reasons: Sequence[str]) -> dict[str, object]:
    return {"needs_review": bool(reasons), "review_reasons": list(reasons)}


def queue_text(items: Sequence[Item], look: Look) -> str:
    """One line an item of the review queue."""
    rows = [
        (
            str(item.number),
            item.read_id[:SHORT],
            item.kind,
            item.decision,
            when(item.at) or "",
            item.who or "-",
            f"{', '.join(item.reasons)}" + (f": {item.subject}" if item.subject else ""),
        )
        for item in items
    ]
    return _grid(("item", "read", "kind", "decision", "since", "who", "why"), rows, look, ("item",))


def item_json(item: Item) -> dict[str, Any]:
    """An item of the review queue for programs."""
    return asdict(item) | {"at": when(item.at), "decided_at": when(item.decided_at)}


def stats_text(stats: Stats, look: Look) -> str:
    """The statistics, a block for each subject."""
    lines = [
        f"reads            {stats.reads}, {stats.distinct} different"
        + (f", {when(stats.first_at)} to {when(stats.last_at)}" if stats.reads else ""),
        f"latency          {_latency(stats.latency_ms)}; from the cache {_latency(stats.cached_latency_ms)}",
        f"cache            {counted(stats.cache_hits, 'hit')}, rate {_share(stats.cache_hit_rate)}",
        f"model            {counted(stats.timeouts, 'timeout')}, {counted(stats.invalid_answers, 'invalid answer')}",
        f"fallbacks        {stats.fallbacks}",
        f"review           rate {_share(stats.review_rate)}, {stats.review_undecided} undecided",
        f"context          average decay {_score(stats.average_decay)}, dropped {_share(stats.dropped_share)} a read",
        f"stale but high   {counted(stats.stale_high, 'item')}",
    ]
    if not stats.weeks:
        return "\n".join(lines)
    rows = [
        (
            week.week,
            str(week.reads),
            "-" if week.psi is None else f"{week.psi:.3f}",
            "DRIFTED" if week.drifted else "",
            " ".join(map(str, week.bins)),
        )
        for week in stats.weeks
    ]
    titles = ("week", "reads", "psi", "", "returned scores by tenths, from 0 to 1")
    return "\n".join([*lines, "", _grid(titles, rows, look, ("reads", "psi"))])


def stats_json(stats: Stats) -> Mapping[str, Any]:
    """The same for programs."""
    return asdict(stats) | {"first_at": when(stats.first_at), "last_at": when(stats.last_at)}


def _grid(titles: Sequence[str], rows: Sequence[Sequence[str]], look: Look, numbers: Sequence[str]) -> str:
    """The rows under their titles; columns in `numbers` stand to the right, the last one gives way."""
    columns: list[Column[Sequence[str]]] = [
        Column(title=title, cell=_cell(k), justify="right" if title in numbers else "left")
        for k, title in enumerate(titles)
    ]
    return "\n".join(grid_lines(columns[:-1], columns[-1], rows, width=table_width(look.width), colour=look.colour))


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _latency(value: Latency | None) -> str:
    return "-" if value is None else f"p50 {value.p50:.1f}, p95 {value.p95:.1f}, p99 {value.p99:.1f} ms"


def _cell(k: int) -> Callable[[Sequence[str]], str]:
    return lambda row: clip(row[k], LONGEST)
