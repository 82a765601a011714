"""Realistic stores of any size, and questions about them, from a seed: what the speed measurements run on.

Texts have about 25 words, two in five of them function words in their usual proportions, the rest from a Zipf-like
vocabulary of 30,000 and the subjects of their session. Two years of dates, one tenant. Half of the memories are turns
of conversations, the rest facts, notes, preferences, tool outputs and instructions. One seed, one store.
"""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

AS_OF = datetime(2026, 3, 20, 9, tzinfo=UTC)
SPAN = timedelta(days=730)
NAMESPACE = "bench"

# Words and how often each stands among a million words of English prose, rounded.
_FUNCTION_WORDS = {
    "the": 62, "of": 31, "and": 28, "to": 26, "a": 23, "in": 20, "is": 11, "that": 11, "it": 10, "for": 9, "was": 9,
    "on": 7, "with": 7, "i": 7, "as": 7, "be": 6, "he": 6, "you": 6, "at": 5, "by": 5, "we": 5, "are": 5, "this": 5,
    "but": 5, "not": 5, "have": 5, "from": 4, "they": 4, "his": 4, "she": 3, "her": 3, "or": 4, "had": 4, "will": 3,
    "an": 3, "which": 3, "there": 3, "their": 3, "has": 3, "been": 3, "one": 3, "all": 3, "would": 3, "if": 2, "so": 2,
    "no": 2, "what": 2, "up": 2, "when": 2, "can": 2, "about": 2, "into": 2, "more": 2, "them": 2, "our": 2, "my": 2,
}  # fmt: skip

_HEAD = """time people team work day week price report client meeting order project market service plan year month call
rate account system user data test release invoice budget contract review change issue server review region office
customer payment delivery risk policy question answer note message email phone street city school family doctor patient
dose blood result appointment flight hotel ticket trip garden kitchen dinner recipe music book film photo dog cat house
car train bike weather rain summer winter morning evening weekend birthday holiday bank loan interest bond share fund
profit revenue quarter forecast target growth cost tax fee salary job manager engineer designer lawyer supplier factory
shipment stock warehouse truck port bridge road station airport election minister court law vote council party strike
fire storm flood energy oil gas power water battery solar wind steel copper wheat coffee sugar milk rice fish fruit
need want ask tell send move buy sell pay open close start stop build break fix ship write read learn teach cook drive
prefer decide agree confirm cancel delay raise cut lower grow fall reach miss pass fail win lose find keep leave join
new old good bad big small high low early late fast slow cheap expensive open ready sick busy happy tired safe likely
""".split()  # noqa: SIM905 - words read better than a list of quotes

_ONSETS = "b br c ch cl d dr f fl g gr h j k l m n p pl pr qu r s sh sl st t th tr v w z".split()  # noqa: SIM905
_NUCLEI = "a e i o u a e i o ea ou".split()  # noqa: SIM905
_CODAS = ("", "", "l", "m", "n", "nd", "nt", "r", "rd", "s", "ss", "st", "t", "ck")

_TYPES = {"fact": 30, "note": 25, "preference": 15, "tool_output": 20, "instruction": 10}
_ASKED = (
    "What did we decide about the {0} and the {1}?",
    "What is the current {0} of the {1}?",
    "Who told me about the {0} last week?",
    "When was the {0} {1} {2} changed?",
    "Is the {0} still {1} right now?",
    "How does the {0} depend on {1} and {2}?",
    "What was the {0} before the {1}?",
    "{0} {1} {2}",
    "Tell me everything that matters for the {0} in March 2025: {1}, {2} and {3}",
    "latest {0} {1}",
    "I want to plan the {0} with {1}, which {2} do I usually prefer?",
    "What happened with the {0} in 2024?",
)


class _Words:
    """A vocabulary of `size` content words with Zipf-like frequencies: common words first, then made-up ones."""

    def __init__(self, rng: random.Random, size: int = 30_000) -> None:
        found = dict.fromkeys(_HEAD)
        while len(found) < size:
            syllables = [rng.choice(_ONSETS) + rng.choice(_NUCLEI) for _ in range(rng.choice((2, 2, 3)))]
            found["".join(syllables) + rng.choice(_CODAS)] = None
        self.content = list(found)
        self.content_weights = list(accumulate((rank + 10) ** -1.1 for rank in range(len(self.content))))
        self.function = list(_FUNCTION_WORDS)
        self.function_weights = list(accumulate(_FUNCTION_WORDS.values()))

    def subjects(self, rng: random.Random, count: int) -> list[str]:
        """Different content words."""
        return list(dict.fromkeys(rng.choices(self.content, cum_weights=self.content_weights, k=count)))

    def text(self, rng: random.Random, subjects: list[str]) -> str:
        """A text of one to three sentences around some subjects."""
        count = max(6, min(60, round(rng.gauss(25, 8))))
        common = iter(rng.choices(self.function, cum_weights=self.function_weights, k=count))
        content = iter(rng.choices(self.content, cum_weights=self.content_weights, k=count))
        words = []
        for _ in range(count):
            draw = rng.random()
            words.append(next(common) if draw < 0.4 else rng.choice(subjects) if draw < 0.55 else next(content))
        stops = {rng.randrange(6, 18), rng.randrange(18, 40), count - 1}
        text = " ".join(word + "." if i in stops else word for i, word in enumerate(words))
        return text[0].upper() + text[1:]


def records(count: int, seed: int = 1) -> Iterator[dict[str, object]]:
    """`count` records in the order they were made, all known at AS_OF."""
    rng = random.Random(seed)
    words = _Words(rng)
    made = 0
    while made < count:
        subjects = words.subjects(rng, 8)
        session = f"s{made}" if rng.random() < 0.2 else None
        for turn in range(min(rng.randint(10, 40) if session else rng.randint(1, 10), count - made)):
            yield _record(rng, words, made, count, subjects, session, turn)
            made += 1


def _record(
    rng: random.Random, words: _Words, i: int, count: int, subjects: list[str], session: str | None, turn: int
) -> dict[str, object]:
    at = AS_OF - SPAN * (1 - i / count) + timedelta(seconds=turn)
    record: dict[str, object] = {
        "id": f"m{i}",
        "namespace": NAMESPACE,
        "content": words.text(rng, subjects),
        "created_at": at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "agent_id": rng.choice(("planner", "coder", "reviewer")),
    }
    if session is not None:
        role = ("user", "assistant")[turn % 2]
        return {**record, "memory_type": "turn", "session_id": session, "turn": turn, "role": role}
    record["memory_type"] = rng.choices(list(_TYPES), weights=list(_TYPES.values()))[0]
    record["importance"] = rng.randint(1, 10) / 10
    if rng.random() < 0.2:
        record["event_date"] = (at + timedelta(days=rng.randint(-60, 10))).date().isoformat()
    if rng.random() < 0.02 and i:
        record["access_count"] = rng.randint(1, 9)
    if rng.random() < 0.02 and i + 1 < count:
        record["superseded_by"] = f"m{rng.randrange(i + 1, min(count, i + 200))}"
    if rng.random() < 0.01:
        record["expires_at"] = (at + timedelta(days=90)).isoformat(timespec="seconds").replace("+00:00", "Z")
    return record


def write(path: Path, count: int, seed: int = 1) -> Path:
    """A store of `count` records as JSON Lines."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records(count, seed))
    return path


def queries(count: int, texts: list[str], seed: int = 2) -> list[str]:
    """`count` different questions, each about content words of one of the texts, in a dozen forms."""
    rng = random.Random(seed)
    asked: dict[str, None] = {}
    while len(asked) < count:
        own = [word.strip(".").lower() for word in rng.choice(texts).split()]
        own = list(dict.fromkeys(word for word in own if word not in _FUNCTION_WORDS))
        if len(own) >= 4:
            asked[_ASKED[len(asked) % len(_ASKED)].format(*rng.sample(own, 4))] = None
    return list(asked)
