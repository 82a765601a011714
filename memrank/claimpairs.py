"""What speaks for and against one memory contradicting another, as numbers: words, values, dates, names, cues.

The pair is ordered: the older memory first. Features are named; `memrank/data/contradiction.json` weighs them.
"""

from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np

from memrank.score import bm25
from memrank.tenant import Rows, Tenant
from memrank.text.claims import CUES, Claim, opposites, read_claim
from memrank.types import Floats, Memory
from memrank.updates import UPDATES, updates

ALIGNED = 60
"""Words of a text that are aligned with the other's."""

FEATURES = (
    *("old_in_new", "new_in_old", "held", "meaning", "cosine", "ratio", "left_old", "left_new", "covered"),
    *("numbers_both", "numbers_shared", "numbers_differ", "number_new", "slot_differs", "slot_same"),
    *("period_differs", "period_shared", "opposite"),
    *("renamed", "heads_differ", "name_new", "name_shared", "head_swapped"),
    *("denial_differs", "denial_new", "one_change", "tail"),
    *(f"new_{cue}" for cue in CUES if cue != "denial"),
    *("old_open", "ended_same", "confirmed_same", "corrected_same", "open_closed"),
    *("kind_differs", "kind_same", "kind_on_topic", "kind_alone"),
    *("holds_old", "holds_new", "ends_old", "ends_new", "turned", "turned_back", "turned_on_topic"),
    *("topic_old", "topic_new", "topic_left_old", "topic_left_new", "no_topic_old", "no_topic_new"),
)
EXCLUDED = ("disjoint", "same", "unrelated")
"""What rules a contradiction out, whatever the features say."""
RULES = (*EXCLUDED, *UPDATES)
"""That, and the plain cases of one."""
LEAST_SHARED = 0.15
LEAST_COSINE = 0.4
"""Two that share less than this, by weight of words and in meaning, are taken to speak of different things."""
MOST = 6.0
"""Words of a topic that count as many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two memories, the older first, with what was read of them."""

    older: Memory
    newer: Memory
    old: Claim
    new: Claim


_NONE: frozenset[str] = frozenset()


class Comparer:
    """Compares memories of one tenant; words weigh what they are worth among all of its memories."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant
        everything = np.ones(len(tenant.memories), dtype=np.bool_)
        terms = np.arange(len(tenant.postings.starts) - 1)
        idf = bm25.idf_of(tenant.postings, terms, everything)
        self._unseen = bm25.idf(len(tenant.memories), 1)
        self._idf = {term: float(idf[i]) for term, i in tenant.vocabulary.items() if i < len(idf)}

    def pair(self, older: int, newer: int) -> Pair:
        """The memories of two rows."""
        memories, language = self._tenant.memories, self._tenant.language
        return Pair(
            older=memories[older],
            newer=memories[newer],
            old=read_claim(memories[older].content, language),
            new=read_claim(memories[newer].content, language),
        )

    def features(self, older: Rows, newer: Rows) -> dict[str, Floats]:
        """FEATURES and RULES of the pairs of rows, each of shape (pairs,)."""
        vectors = self._tenant.vectors
        rows = []
        for a, b in zip(older.tolist(), newer.tolist(), strict=True):
            cosine = 0.0 if vectors is None else float(np.einsum("i,i->", vectors[a], vectors[b]))
            rows.append(self._of(self.pair(a, b), cosine))
        table = np.array(rows, dtype=np.float64).reshape(len(rows), len(FEATURES) + len(RULES))
        return {name: table[:, k] for k, name in enumerate((*FEATURES, *RULES))}

    def _of(self, pair: Pair, cosine: float) -> list[float]:
        old, new = pair.old, pair.new
        words_old, words_new = set(old.words), set(new.words)
        shared = words_old & words_new
        both = self._weight(shared)
        old_in_new = both / (self._weight(words_old) + 1e-9)
        new_in_old = both / (self._weight(words_new) + 1e-9)
        held = max(old_in_new, new_in_old)
        left_old, left_new = words_old - words_new, words_new - words_old
        numbers = _numbers(old, new)
        opposite = opposites()
        names = _names(old, new, left_old, left_new)
        changes = _changes(old, new)
        shown = updates(pair.older.content, old, pair.newer.content, new)
        denied = ("denial" in old.cues, "denial" in new.cues)
        cue = {name: float(name in new.cues) for name in CUES}
        opened = float("open" in old.cues)
        return [
            *(old_in_new, new_in_old, held, held * cosine, cosine, changes[0]),
            *(np.log1p(len(left_old)), np.log1p(len(left_new)), float(not left_old)),
            *numbers,
            float(bool(old.periods - new.periods and new.periods - old.periods)),
            float(bool(old.periods & new.periods)),
            float(any(not opposite.get(word, _NONE).isdisjoint(left_new) for word in left_old)),
            *names,
            *(float(denied[0] != denied[1]), float(denied[1] and not denied[0])),
            *changes[1:],
            *(value for name, value in cue.items() if name != "denial"),
            *(opened, cue["ended"] * old_in_new, cue["confirmation"] * old_in_new, cue["correction"] * old_in_new),
            opened * cue["ended"],
            *_values(old, new),
            float(disjoint(pair.older, pair.newer)),
            float(words_old == words_new and old.cues == new.cues),
            float(held < LEAST_SHARED and cosine < LEAST_COSINE and not shown),
            *(float(name in shown) for name in UPDATES),
        ]

    def _weight(self, words: set[str]) -> float:
        # Sorted: a sum of floats depends on its order, and that of a set on the process.
        return sum(max(1.0, self._idf.get(word, self._unseen)) for word in sorted(words))


def _numbers(old: Claim, new: Claim) -> list[float]:
    """numbers_both, numbers_shared, numbers_differ, number_new, slot_differs, slot_same."""
    one, two = _by_place(old), _by_place(new)
    values = [(one[place], two[place]) for place in one.keys() & two.keys()]
    return [
        float(bool(old.numbers and new.numbers)),
        float(bool(old.numbers & new.numbers)),
        float(bool(old.numbers - new.numbers and new.numbers - old.numbers)),
        float(bool(new.numbers and not old.numbers)),
        float(any(before.isdisjoint(after) for before, after in values)),
        float(any(not before.isdisjoint(after) for before, after in values)),
    ]


def _by_place(claim: Claim) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for place, number in claim.slots:
        found.setdefault(place, set()).add(number)
    return found


def _names(old: Claim, new: Claim, left_old: set[str], left_new: set[str]) -> list[float]:
    """renamed, heads_differ, name_new, name_shared, head_swapped."""
    heads = (old.heads & left_old, new.heads & left_new)
    first = old.words[:1], new.words[:1]
    return [
        float(bool(old.names & left_old and new.names & left_new)),
        float(bool(heads[0] and heads[1])),
        float(bool(new.names & left_new)),
        float(bool((old.names | old.heads) & (new.names | new.heads))),
        float(
            bool(first[0] and first[1]) and first[0][0] in old.heads & left_old and first[1][0] in new.heads & left_new
        ),
    ]


def _values(old: Claim, new: Claim) -> list[float]:
    """From kind_differs to no_topic_new: other values of one kind, words of a state, and what both are about."""
    both = [(old.kinds[kind], new.kinds[kind]) for kind in old.kinds.keys() & new.kinds.keys()]
    differ, same = sum(a.isdisjoint(b) for a, b in both), sum(not a.isdisjoint(b) for a, b in both)
    other = float(differ > 0 and same == 0)
    shared = len(old.topic & new.topic)
    on_old = shared / len(old.topic) if old.topic else 1.0
    on_new = shared / len(new.topic) if new.topic else 1.0
    none_old, none_new = float(not old.topic), float(not new.topic)
    turned, back = _turned(old, new), _turned(new, old)
    return [
        *(min(differ, 2.0), min(same, 2.0)),
        *(other * max(on_old * (1 - none_old), on_new * (1 - none_new)), other * max(none_old, none_new)),
        *(float(old.holds), float(new.holds), float(old.ends), float(new.ends)),
        *(turned, back, max(turned, back) * on_old * (1 - none_old)),
        *(on_old, on_new, min(len(old.topic) - shared, MOST), min(len(new.topic) - shared, MOST)),
        *(none_old, none_new),
    ]


def _turned(one: Claim, two: Claim) -> float:
    """Whether what goes on in one has ended in two."""
    return float(one.holds > 0 and one.ends == 0 and two.ends > 0)


def _changes(old: Claim, new: Claim) -> list[float]:
    """ratio, one_change, tail: how alike the two read, whether one stretch is all that differs, and where it starts."""
    matcher = SequenceMatcher(None, old.words[:ALIGNED], new.words[:ALIGNED], autojunk=False)
    changes = [op for op in matcher.get_opcodes() if op[0] != "equal"]
    replaced = [op for op in changes if op[0] == "replace"]
    tail = old.starts[replaced[-1][1]] if replaced else 0.0
    return [matcher.ratio(), float(len(changes) == len(replaced) == 1), tail]


def in_order(tenant: Tenant, one: Rows, two: Rows) -> tuple[Rows, Rows]:
    """The same pairs, the older first: by event date, else by when it was recorded; undated ones by their place."""
    when = np.where(np.isnan(tenant.times.event), tenant.times.created, tenant.times.event)
    place = np.arange(len(when))
    dated = ~(np.isnan(when[one]) | np.isnan(when[two]))
    later = np.where(dated & (when[one] != when[two]), when[one] > when[two], place[one] > place[two])
    return np.where(later, two, one), np.where(later, one, two)


def disjoint(one: Memory, two: Memory) -> bool:
    """Whether the two state when they were true, and those times do not overlap."""

    def before(first: Memory, second: Memory) -> bool:
        if first.invalid_at is None or second.valid_at is None:
            return False
        return first.invalid_at.start <= second.valid_at.start

    return before(one, two) or before(two, one)
