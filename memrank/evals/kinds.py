"""The kinds of golden sets, told by their files: queries over memories, pairs of memories, conversations."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from memrank.errors import DataError
from memrank.evals import check as queries
from memrank.evals.checked import FEWEST, Checked, file_findings, repair_findings
from memrank.evals.conversations import load_conversations
from memrank.evals.evalset import HINT, MEMORIES, QUERIES
from memrank.evals.finding import Finding, fault, remark
from memrank.evals.goldenpairs import GoldenPair, read_pairs
from memrank.evals.labelfaults import listed
from memrank.evals.labels import SPLITS
from memrank.evals.leaks import words_of
from memrank.evals.manifest import Manifest, read_manifest, seal
from memrank.stores.formats import iter_items
from memrank.text.counted import counted
from memrank.types import Note, Notes

Kind = Literal["queries", "pairs", "conversations"]
Found = tuple[dict[str, int], list[Finding], Sequence[Note]]
"""Counts, findings, and what was repaired in reading."""


def kind_of(folder: Path) -> Kind:
    """What kind of golden set a folder is: by the names of its files, and by the fields of the first line that has any.

    Raises DataError where it is none.
    """
    if (folder / MEMORIES).exists() or (folder / QUERIES).exists():
        return "queries"
    for path in _parts(folder).values():
        for item in iter_items(path, lambda _: None, Notes()):
            if isinstance(item.value, Mapping) and "elements" in item.value:
                return "conversations"
            if isinstance(item.value, Mapping) and {"older", "newer"} & set(item.value):
                return "pairs"
    raise DataError(f"{folder}: no evalset there", hint=f"{HINT}, or with pairs or conversations in fit.jsonl, ...")


def check(folder: Path) -> Checked:
    """Check a golden set of any kind. Raises DataError for one that cannot be read."""
    kind = kind_of(folder)
    if kind == "queries":
        return queries.check(folder)
    manifest = read_manifest(folder)
    counts, findings, notes = _OTHERS[kind](folder)
    return Checked(
        folder=folder,
        kind=kind,
        manifest=manifest,
        counts=counts,
        findings=[*file_findings(folder, manifest), *repair_findings(notes), *findings],
    )


def seal_set(folder: Path, *, version: str | None = None, licence: str | None = None) -> Manifest:
    """Write the manifest of a golden set of any kind as it is now; what is None stays as it was. Raises as `seal`."""
    kind = kind_of(folder)
    if kind == "queries":
        return queries.seal_evalset(folder, version=version, licence=licence)
    counts, _, _ = _OTHERS[kind](folder)
    return seal(folder, counts, version=version, licence=licence)


def _parts(folder: Path) -> dict[str, Path]:
    """Part to its file, of those that there are."""
    return {part: path for part in SPLITS if (path := folder / f"{part}.jsonl").is_file()}


def _others(folder: Path) -> dict[str, Path]:
    """What else there is in JSON Lines, by its name."""
    parts = _parts(folder)
    return {path.stem: path for path in sorted(folder.glob("*.jsonl")) if path.is_file() and path.stem not in parts}


def _pairs(folder: Path) -> Found:
    notes = Notes()
    files = {**_parts(folder), **_others(folder)}
    found = {name: read_pairs(path, notes) for name, path in files.items()}
    every = [pair for pairs in found.values() for pair in pairs]
    counts = {"pairs": len(every), "true": sum(pair.label for pair in every)}
    counts |= {"groups": len({pair.group for pair in every})}
    counts |= {name: len(pairs) for name, pairs in found.items()}
    findings = [
        *_across("id_across_parts", {name: [pair.id for pair in pairs] for name, pairs in found.items()}),
        *_across("group_across_parts", {name: [pair.group for pair in pairs] for name, pairs in found.items()}),
        *_twice(found),
        *_small({name: len(pairs) for name, pairs in found.items()}, "pair"),
        *(
            remark("unbalanced", name, f"{counted(len(pairs), 'pair')}, all of them {str(pairs[0].label).lower()}")
            for name, pairs in found.items()
            if len({pair.label for pair in pairs}) == 1
        ),
    ]
    return counts, findings, notes.as_tuple()


def _twice(found: Mapping[str, Sequence[GoldenPair]]) -> Iterator[Finding]:
    """The same two texts in two parts, or with two labels."""
    alike: dict[tuple[str, str], list[tuple[str, GoldenPair]]] = {}
    for name, pairs in found.items():
        for pair in pairs:
            texts = words_of(pair.older.content), words_of(pair.newer.content)
            alike.setdefault(texts, []).append((name, pair))
    for same in alike.values():
        names, ids = {name for name, _ in same}, listed([pair.id for _, pair in same])
        if len(names) > 1:
            yield fault("pair_across_parts", ids, f"the same texts stand in {' and '.join(sorted(names))}")
        if len({pair.label for _, pair in same}) > 1:
            yield fault("label_conflict", ids, "the same texts have both labels")


def _conversations(folder: Path) -> Found:
    whole = load_conversations(folder)
    parts = {part: load_conversations(folder, part) for part in _parts(folder)}
    counts = {
        "conversations": whole.count,
        "moments": len(whole.moments),
        "questions": sum(len(moment.later) for moment in whole.moments),
        **{part: found.count for part, found in parts.items()},
        **{name: _lines(path) for name, path in _others(folder).items()},
    }
    groups = {part: sorted({moment.group for moment in found.moments}) for part, found in parts.items()}
    findings = [
        *_across("group_across_parts", groups),
        *_small({part: len(found.moments) for part, found in parts.items()}, "moment"),
    ]
    if not counts["questions"]:
        findings.append(remark("no_questions", "later", "no question comes up later: nothing says what must stay"))
    return counts, findings, whole.notes


def _across(code: str, names: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """What stands in two parts and belongs in one."""
    where: dict[str, set[str]] = {}
    for part, found in names.items():
        for name in found:
            where.setdefault(name, set()).add(part)
    for name, parts in where.items():
        if len(parts) > 1:
            yield fault(code, name[:80], f"it stands in {' and '.join(sorted(parts))}")


def _small(sizes: Mapping[str, int], what: str) -> Iterator[Finding]:
    for name, size in sizes.items():
        if size < FEWEST:
            yield remark("small_part", name, f"it has {counted(size, what)}; figures over it say little")


def _lines(path: Path) -> int:
    """Values of a file that belongs to a set and is not measured with. Raises DataError for one that is no JSON."""
    count = 0
    for item in iter_items(path, lambda _: None, Notes()):
        if item.fault:
            raise DataError(f"{item.where}: {item.fault}")
        count += 1
    return count


_OTHERS: Mapping[str, Callable[[Path], Found]] = {"pairs": _pairs, "conversations": _conversations}
