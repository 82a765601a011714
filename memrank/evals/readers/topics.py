"""The questions of a foreign set: topics of TREC, tab-separated lines, JSON."""

import html
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from memrank.errors import DataError
from memrank.evals.readers.text import document_of, lines_of, name_at, object_at, objects_of, text_at, text_of
from memrank.types import Notes

HINT = (
    "topics are <top> elements of TREC, lines of `id<TAB>text`, JSON Lines of `_id` and `text`, or JSON of id to text"
)
IDS = ("_id", "id", "query_id", "qid", "query-id", "number", "topic")
_TEXTS = ("text", "query", "title", "question")

_TOPIC = re.compile(r"<top(?:ic)?\b([^>]*)>(.*?)</top(?:ic)?>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<(/?[a-z_]+)(?:\s[^<>]*)?>", re.IGNORECASE)
_NUMBER = re.compile(r"\bnumber\s*=\s*[\"']?([^\"'\s>]+)")
_PREFIX = re.compile(r"\s*(?:number|topic|description|narrative)\s*:\s*", re.IGNORECASE)
_FIELDS = {"description": ("desc", "description"), "narrative": ("narr", "narrative")}

Questions = dict[str, dict[str, Any]]
"""Id to `query` and, where more is said of it, `metadata`."""


def read_topics(paths: Iterable[Path], notes: Notes) -> Questions:
    """The questions of files in their order. Raises DataError with file and line."""
    found: Questions = {}
    for path in paths:
        empty = True
        for where, name, question in _questions(path, notes):
            empty = False
            if name in found:
                raise DataError(f"{where}: the query {name!r:.80} is repeated")
            found[name] = question
        if empty:
            raise DataError(f"{path}: holds no queries", hint=HINT)
    return found


_Question = tuple[str, str, dict[str, Any]]
"""Place, id, and what is asked."""


def _questions(path: Path, notes: Notes) -> Iterator[_Question]:
    suffix = path.suffix.lower()
    if suffix == ".json":
        return _document(path, notes)
    if suffix in (".jsonl", ".ndjson"):
        return _objects(path, notes)
    return _elements(path, notes) if text_of(path, notes).lstrip().startswith("<") else _tabbed(path, notes)


def _document(path: Path, notes: Notes) -> Iterator[_Question]:
    for name, text in object_at(document_of(path, notes), str(path)).items():
        place = f"{path}: {name!r:.80}"
        yield place, name, {"query": text_at(text, place)}


def _objects(path: Path, notes: Notes) -> Iterator[_Question]:
    for where, fields in objects_of(path, notes):
        text = next((fields[name] for name in _TEXTS if fields.get(name) is not None), None)
        question: dict[str, Any] = {"query": text_at(text, f"{where}: the text of the query")}
        if isinstance(fields.get("metadata"), dict) and fields["metadata"]:
            question["metadata"] = {"upstream": fields["metadata"]}  # a level down: it holds no labels of memrank's
        yield where, name_at(fields, IDS, where), question


def _tabbed(path: Path, notes: Notes) -> Iterator[_Question]:
    for where, line in lines_of(path, notes):
        name, tab, text = line.partition("\t")
        if not tab or not name.strip() or not text.strip():
            raise DataError(f"{where}: not an id, a tab and a text", hint=HINT)
        yield where, name.strip(), {"query": text.strip()}


def _elements(path: Path, notes: Notes) -> Iterator[_Question]:
    text = text_of(path, notes)
    for found in _TOPIC.finditer(text):
        where = f"{path}:{text.count(chr(10), 0, found.start()) + 1}"
        parts = _parts(found[2])
        number = _NUMBER.search(found[1])
        name = parts.get("num") or (number[1] if number else "")
        if not name:
            raise DataError(f"{where}: a topic without a number", hint='<num> or <topic number="...">')
        details = {name: value for name, tags in _FIELDS.items() if (value := _first(parts, tags))}
        query = _first(parts, ("title", "query", "question")) or details.get("description", "")
        if not query:
            raise DataError(f"{where}: the topic {name!r:.80} has neither a title nor a description")
        yield where, name, {"query": query, **({"metadata": details} if details else {})}


def _parts(element: str) -> dict[str, str]:
    """The text after each tag up to the next; tags of TREC are often never closed."""
    pieces = _TAG.split(element)
    found: dict[str, str] = {}
    for tag, text in zip(pieces[1::2], pieces[2::2], strict=True):
        plain = " ".join(html.unescape(_PREFIX.sub("", text, count=1) if _PREFIX.match(text) else text).split())
        if plain and not tag.startswith("/"):
            found.setdefault(tag.lower(), plain)
    return found


def _first(parts: dict[str, str], tags: tuple[str, ...]) -> str:
    return next((parts[tag] for tag in tags if tag in parts), "")
