"""Records of other systems as plain records: envelopes, LangGraph items, MCP graphs, LongMemEval, chat logs."""

from collections import Counter
from collections.abc import Iterator, Mapping

from memrank.fields import ALIASES, is_absent
from memrank.fileio import canonical_json, sha256_hex
from memrank.plain import plain_json
from memrank.records import SCALE_KEY
from memrank.types import Notes

ENVELOPES = ("results", "memories", "data", "items", "messages")
"""Keys under which exports put their list of records."""

_ID_NAMES = ("id", *ALIASES["id"])
_CONTENT_NAMES = ("content", *ALIASES["content"])
_SCOPE_NAMES = ("namespace", *ALIASES["namespace"], "session_id", *ALIASES["session_id"])
_DECLARED = {
    SCALE_KEY: SCALE_KEY,
    **{name: field for field in ("namespace", "agent_id", "session_id") for name in (field, *ALIASES[field])},
}
"""What an envelope may declare for all its records: name to field."""

_Object = Mapping[str, object]


class Shaper:
    """Turns the values of one file, in order, into records that `read_record` reads."""

    def __init__(self, notes: Notes, *, naming: bool = True) -> None:
        """Without `naming`, chat messages come out without an id and a turn of memrank's making."""
        self._notes = notes
        self._naming = naming
        self._questions = 0
        self._messages = 0
        self._turns: Counter[tuple[str, ...]] = Counter()
        self._owners: dict[str, str] = {}

    def records(self, value: object) -> Iterator[object]:
        """The records in a value of a file. What has no known shape comes out as it is."""
        if isinstance(value, list):
            for inner in value:
                yield from self._shaped(inner)
        elif isinstance(value, Mapping) and (name := _envelope(value)) is not None:
            yield from self._unwrapped(value, name)
        else:
            yield from self._shaped(value)

    def _unwrapped(self, envelope: _Object, name: str) -> Iterator[object]:
        """The records of an envelope; the scope and the importance scale that it declares hold for each of them."""
        declared = {key: value for key, value in envelope.items() if key in _DECLARED and not is_absent(value)}
        if envelope.keys() - declared.keys() - {name}:
            detail = f"only the records under {name!r} were read, not what stands beside them"
            self._notes.add("info", "read", "envelope_opened", detail)
        inner = envelope[name]
        for value in inner if isinstance(inner, list) else ():
            for record in self._shaped(value):
                yield _with_declared(record, declared) if declared and isinstance(record, Mapping) else record

    def _shaped(self, value: object) -> Iterator[object]:
        if not isinstance(value, Mapping):
            yield value
        elif isinstance(value.get("haystack_sessions"), list):
            yield from self._haystack(value)
        elif isinstance(value.get("entities"), list) and isinstance(value.get("relations"), list):
            for entity in value["entities"]:
                yield from _entity(entity) if isinstance(entity, Mapping) else (entity,)
            for relation in value["relations"]:
                yield _relation(relation) if isinstance(relation, Mapping) else relation
        elif value.get("type") == "entity" and isinstance(value.get("observations"), list) and "name" in value:
            yield from _entity(value)
        elif value.get("type") == "relation" and "relationType" in value:
            yield _relation(value)
        elif "namespace" in value and "key" in value and "value" in value:
            yield self._qualified(_store_item(value))
        elif "role" in value and _is_nameless(value):
            yield self._message(value)
        else:
            yield value

    def _haystack(self, question: _Object) -> Iterator[object]:
        """The turns of a LongMemEval question, each question a namespace of its own; the question itself is none."""
        self._questions += 1
        detail = "questions and answers are no memories; only the sessions were read"
        self._notes.add("info", "read", "questions_left_out", detail)
        namespace = str(question.get("question_id") or f"question-{self._questions}")
        sessions, ids, dates = (
            found if isinstance(found := question.get(f"haystack_{name}"), list) else []
            for name in ("sessions", "session_ids", "dates")
        )
        for at, session in enumerate(sessions):
            name = str(ids[at]) if at < len(ids) else f"session-{at}"
            for turn, message in enumerate(session if isinstance(session, list) else [session]):
                yield self._qualified(
                    {
                        **(message if isinstance(message, Mapping) else {"content": message}),
                        "id": f"{name}/{turn}",
                        "namespace": namespace,
                        "session_id": name,
                        "turn": turn,
                        "created_at": dates[at] if at < len(dates) else None,
                    }
                )

    def _qualified(self, record: dict[str, object]) -> dict[str, object]:
        """The record, its id preceded by its namespace if another namespace of the file has used that id before.

        Keys of a LangGraph store and sessions of LongMemEval are unique within a namespace only.
        """
        given = record["namespace"]
        namespace = "/".join(map(str, given)) if isinstance(given, (list, tuple)) else str(given)
        identity = str(record["id"])
        if self._owners.setdefault(identity, namespace) != namespace:
            record["id"] = f"{namespace}/{identity}"
            detail = "an id is used in several namespaces; all but the first use are preceded by their namespace"
            self._notes.add("info", "read", "id_qualified", detail)
        return record

    def _message(self, message: _Object) -> dict[str, object]:
        """A chat message without an id: named by its place in the file, its turn counted within its session."""
        scope = tuple(str(message[name]) for name in _SCOPE_NAMES if name in message)
        record = {**message}
        if self._naming:
            record["id"] = f"turn-{self._messages}"
            if is_absent(message.get("turn")):
                record["turn"] = self._turns[scope]
        if all(is_absent(message.get(name)) for name in _CONTENT_NAMES):
            record["content"] = ""  # a call of a tool: its place in the conversation is kept
        self._messages += 1
        self._turns[scope] += 1
        return record


def _with_declared(record: _Object, declared: _Object) -> _Object:
    """The record with what its envelope declares, except where it gives that field itself under any name."""
    nested = record.get("metadata")
    names = {*record, *(nested if isinstance(nested, Mapping) else ())}
    given = {_DECLARED[name] for name in names if name in _DECLARED and not is_absent(_lookup(record, nested, name))}
    return {**record, **{name: value for name, value in declared.items() if _DECLARED[name] not in given}}


def _lookup(record: _Object, nested: object, name: str) -> object:
    value = record.get(name)
    return nested.get(name) if is_absent(value) and isinstance(nested, Mapping) else value


def _envelope(value: _Object) -> str | None:
    if any(not is_absent(value.get(name)) for name in _CONTENT_NAMES if not isinstance(value.get(name), list)):
        return None
    return next((name for name in ENVELOPES if isinstance(value.get(name), list)), None)


def _is_nameless(value: _Object) -> bool:
    nested = value.get("metadata")
    inner = nested if isinstance(nested, Mapping) else {}
    return all(is_absent(mapping.get(name)) for mapping in (value, inner) for name in _ID_NAMES)


def _store_item(item: _Object) -> dict[str, object]:
    """An item of a LangGraph store. Its value stands for `metadata`, so that fields inside it are read."""
    rest = {name: inner for name, inner in item.items() if name not in ("key", "value", "metadata")}
    value = item["value"]
    record: dict[str, object] = {**rest, "id": item["key"]}
    if not isinstance(value, Mapping):
        return {**record, "content": value}
    content, inner = _split_text(value)
    nested = value.get("content")
    if content is None and isinstance(nested, Mapping):  # {"kind": "Memory", "content": {"content": "..."}}
        content, deeper = _split_text(nested)
        if content is not None:
            inner = {**deeper, **{name: kept for name, kept in value.items() if name != "content"}}
    if "metadata" in item:
        inner.setdefault("metadata", item["metadata"])
    text = canonical_json(plain_json(value)[0]) if content is None else content
    return {**record, "content": text, "metadata": inner}


def _split_text(value: _Object) -> tuple[str | None, dict[str, object]]:
    """The text of an object under one of the names of content, and the rest of it."""
    name = next((name for name in _CONTENT_NAMES if isinstance(value.get(name), str) and value[name]), None)
    return (None if name is None else str(value[name])), {key: kept for key, kept in value.items() if key != name}


def _entity(entity: _Object) -> Iterator[object]:
    """An entity of an MCP memory graph: a memory for each observation, named after the entity and its text.

    The name of the entity is an alias, because observations often leave their subject out.
    """
    name, kind = str(entity.get("name", "")), str(entity.get("entityType", ""))
    rest = {key: value for key, value in entity.items() if key not in ("name", "type", "observations")}
    observations = entity.get("observations")
    about = f"{name} ({kind})" if kind else name
    for observation in observations if isinstance(observations, list) and observations else [about]:
        given = observation if isinstance(observation, Mapping) else {"content": observation}
        text = canonical_json(plain_json(given)[0])
        yield {
            "id": f"{name}/{sha256_hex(text)[:12]}",
            "memory_type": "observation",
            "aliases": [name],
            **given,
            "metadata": {"subject": name, **rest},
        }


def _relation(relation: _Object) -> dict[str, object]:
    """A relation of an MCP memory graph as a sentence."""
    parts = [str(relation.get(name, "")) for name in ("from", "relationType", "to")]
    rest = {key: value for key, value in relation.items() if key != "type"}
    sentence = " ".join((parts[0], parts[1].replace("_", " "), parts[2]))
    return {"id": "/".join(parts), "content": sentence, "memory_type": "relation", "metadata": rest}
