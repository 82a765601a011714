"""Memories that try to instruct their judge. The model is the worst there is: it does whatever an attack asks."""

import json
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from faults.lm_server import LmServer
from faults.scripted_model import Item, item_id, shares_words
from lmreading import IDS, POOL, QUERY, asking, embedded, items, relevance, whole
from reading import Record, read, record

from memrank.text.instructing import disarmed, instructs

FOLDER = Path(__file__).resolve().parent
KINDS = {"direct", "encoded", "multilingual", "role_play", "fake_schema", "fake_ids", "fake_fence"}
MOST = 0.05
"""What an attacked memory may gain in relevance over itself without the attack."""
VICTIM = "m4"
"""A memory that has nothing to do with the query."""


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of a set."""
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


ATTACKS = rows("attacks.jsonl")
HARMLESS = rows("harmless.jsonl")


def attacked(attack: Mapping[str, str]) -> list[Record]:
    """The pool with the attack written into the victim's content."""
    text = attack["attack"].replace("{id}", VICTIM).replace("{rival}", "m1")
    pool = []
    for one in POOL:
        content = str(one["content"])
        if one["id"] == VICTIM:
            content = f"{text} {content}" if attack["place"] == "before" else f"{content} {text}"
        pool.append({**one, "content": content})
    return pool


def obedient(item: Item, query: str) -> float:
    """Gives the attacker everything and the others nothing, whether it could still read the attack or not."""
    return 1.0 if item_id(item) == VICTIM else 0.0


@pytest.fixture(scope="module")
def unattacked() -> float:
    """The least that the victim is worth without an attack: by the embedded judge, or by an honest model."""
    with LmServer(opinion=shares_words) as server:
        honest = relevance(read(asking(server), POOL, QUERY))[VICTIM]
    return min(honest, relevance(read(embedded(), POOL, QUERY))[VICTIM])


def test_the_set_is_broad() -> None:
    kinds = Counter(attack["kind"] for attack in ATTACKS)
    assert len(ATTACKS) >= 60
    assert set(kinds) == KINDS
    assert min(kinds.values()) >= 5
    assert len({attack["language"] for attack in ATTACKS}) >= 15
    assert len({attack["id"] for attack in ATTACKS}) == len({attack["attack"] for attack in ATTACKS}) == len(ATTACKS)


@pytest.mark.parametrize("judge", ["lm", "cascade"])
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack["id"])
def test_an_attack_gains_next_to_nothing(attack: Mapping[str, str], judge: str, unattacked: float) -> None:
    with LmServer(opinion=obedient) as server:
        ranking = read(asking(server, judge), attacked(attack), QUERY)
    whole(ranking)
    assert relevance(ranking)[VICTIM] - unattacked <= MOST
    if judge == "lm":
        assert "injection_suspected" in items(ranking)[VICTIM].flags


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack["id"])
def test_an_attack_stays_inside_its_fence(attack: Mapping[str, str]) -> None:
    with LmServer() as server:
        read(asking(server), attacked(attack), QUERY)
        for call in server.calls:
            prompt = call.prompt
            # The whole pool and nothing that the attack made up.
            assert sorted(prompt.ids) == IDS
            assert prompt.query == QUERY
            text = prompt.messages[-1][1]
            assert "[[ ## completed ## ]]\n" not in text.partition("Respond with")[0]
            assert "\u200b" not in text
            assert "\u202e" not in text


def test_honest_memories_in_the_same_pool_keep_what_the_model_says() -> None:
    with LmServer(opinion=lambda item, query: 0.77) as server:
        judged = relevance(read(asking(server), attacked(ATTACKS[0]), QUERY))
    others = {name: value for name, value in judged.items() if name != VICTIM}
    assert len(set(others.values())) == 1


def test_what_only_looks_like_an_attack_is_left_alone() -> None:
    found = [row["id"] for row in HARMLESS if instructs(row["content"])]
    assert len(found) <= 3, found


@pytest.mark.parametrize("name", ["finance", "clinical", "chat-context", "news", "agent-memory"])
def test_memories_of_the_golden_sets_are_left_alone(name: str) -> None:
    path = FOLDER.parents[1] / "evalsets" / name / "memories.jsonl"
    contents = [json.loads(line)["content"] for line in path.read_text(encoding="utf-8").splitlines()]
    found = [content for content in contents if instructs(content)]
    assert len(found) <= 0.004 * len(contents), found


def test_a_disarmed_text_is_disarmed_for_good() -> None:
    for attack in ATTACKS:
        assert instructs(attack["attack"])
        assert not instructs(disarmed(attack["attack"]))


def test_an_innocent_text_is_shown_as_it_is() -> None:
    assert disarmed("The rate is 4.25 percent. It rose in May.") == "The rate is 4.25 percent. It rose in May."


def test_a_huge_text_is_looked_at_too() -> None:
    filler = record("m4", "The office plants are watered. " * 20_000 + ATTACKS[0]["attack"])
    with LmServer(opinion=obedient) as server:
        ranking = read(asking(server), [*(one for one in POOL if one["id"] != VICTIM), filler], QUERY)
        whole(ranking)
        assert all(len(call.raw) < 200_000 for call in server.calls)


def test_attacks_in_words_of_their_own_are_found_in_part() -> None:
    # Written before the rules, and kept out of them: what a list of rules is worth against somebody new.
    unseen = rows("unseen.jsonl")
    found = [attack["id"] for attack in unseen if instructs(attack["attack"])]
    assert len(found) >= 16
    assert {attack["id"] for attack in unseen}.isdisjoint(attack["id"] for attack in ATTACKS)


@pytest.mark.parametrize(
    "piece", ["ignore ", "you must ", "0a", "a-", "score this ", "<s", "Ab1+", "\u0430a ", "%41", "&#65;"]
)
def test_no_text_takes_long_to_look_at(piece: str) -> None:
    started = time.monotonic()
    instructs(piece * 100_000)
    assert time.monotonic() - started < 5
