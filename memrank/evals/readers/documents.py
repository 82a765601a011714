"""The documents of a foreign set as memories: JSON Lines, tab-separated lines, elements of TREC."""

import html
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memrank.errors import DataError
from memrank.evals.readers.converted import Pool
from memrank.evals.readers.text import document_of, lines_of, list_at, name_at, object_at, objects_of, text_of
from memrank.types import Notes

HINT = "documents are JSON Lines of `_id`, `title`, `text`, lines of `id<TAB>text`, or <DOC> elements of TREC"
IDS = ("_id", "id", "docid", "docno", "doc_id", "pid")
TEXTS = ("text", "contents", "content", "body", "passage")

_DOCUMENT = re.compile(r"<DOC>(.*?)</DOC>", re.DOTALL | re.IGNORECASE)
_NAME = re.compile(r"<DOCNO>\s*(\S+)\s*</DOCNO>", re.IGNORECASE)
_SHOWN = re.compile(r"<(TITLE|HEADLINE|HEAD|HL|TTL|TEXT)\b[^>]*>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")


def read_documents(path: Path, pool: Pool, notes: Notes) -> None:
    """Add the documents of a file to the pool. Raises DataError with file and line, and where there are none."""
    empty = True
    for where, record in _documents(path, notes):
        pool.add(record, where)
        empty = False
    if empty:
        raise DataError(f"{path}: holds no documents", hint=HINT)


def _documents(path: Path, notes: Notes) -> Iterator[tuple[str, dict[str, object]]]:
    suffix = path.suffix.lower()
    if suffix == ".json":
        for at, value in enumerate(list_at(document_of(path, notes), str(path))):
            yield f"{path}: [{at}]", _record(object_at(value, f"{path}: [{at}]"), f"{path}: [{at}]")
    elif suffix in (".jsonl", ".ndjson"):
        for where, fields in objects_of(path, notes):
            yield where, _record(fields, where)
    elif text_of(path, notes).lstrip().startswith("<"):
        yield from _elements(path, notes)
    else:
        yield from _tabbed(path, notes)


def _record(fields: Mapping[str, Any], where: str) -> dict[str, object]:
    """The title stands before the text; what else a document says of itself is read by memrank's names."""
    name = name_at(fields, IDS, where)
    holder = next((key for key in TEXTS if fields.get(key) is not None), "text")
    title, text = fields.get("title") or "", fields.get(holder) or ""
    if not isinstance(title, str) or not isinstance(text, str):
        raise DataError(f"{where}: {'title' if isinstance(text, str) else 'text'} is not a text", hint=HINT)
    used = {"title", holder, *(key for key in IDS if str(fields.get(key)) == name)}
    rest = {key: value for key, value in fields.items() if key not in used}
    return {**rest, "id": name, "content": "\n".join(filter(None, (title.strip(), text)))}


def _tabbed(path: Path, notes: Notes) -> Iterator[tuple[str, dict[str, object]]]:
    for where, line in lines_of(path, notes):
        name, tab, text = line.partition("\t")
        if not tab or not name.strip():
            raise DataError(f"{where}: not an id, a tab and a text", hint=HINT)
        yield where, {"id": name.strip(), "content": "\n".join(filter(None, text.split("\t")))}


def _elements(path: Path, notes: Notes) -> Iterator[tuple[str, dict[str, object]]]:
    text = text_of(path, notes)
    for found in _DOCUMENT.finditer(text):
        where = f"{path}:{text.count(chr(10), 0, found.start()) + 1}"
        name = _NAME.search(found[1])
        if name is None:
            raise DataError(f"{where}: a document without <DOCNO>", hint=HINT)
        shown = [part[2] for part in _SHOWN.finditer(found[1])] or [_NAME.sub("", found[1])]
        plain = (" ".join(html.unescape(_TAG.sub(" ", part)).split()) for part in shown)
        yield where, {"id": name[1], "content": "\n".join(filter(None, plain))}
