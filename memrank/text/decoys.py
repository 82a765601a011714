"""Questions that no memory answers: who is judged to answer one is judged for something else than what it tells.

They ask in the form of everyday questions, about people and places that do not exist. Which one is asked depends on
the true query, which nobody who writes a memory knows.
"""

import hashlib
from collections.abc import Mapping

from memrank.text.tokens import tokenizer_of

DECOYS = (
    "What musical instrument is Oskar Tillbrand's favourite?",
    "Does Verrington farm keep goats or llamas?",
    "What fresco decorates Ostrava Bend chapel?",
    "What colour is Mirelle Quandt's bicycle?",
    "Is Tobin Asgarth's violin buried under juniper bushes?",
    "When is Skellmouth Island's ferry leaving?",
    "Which soup is Henrike Dalloway's specialty?",
    "Is Port Brannoch's lighthouse striped?",
    "Is Fennimore Hollow's chess champion left-handed?",
    "What breed is Ludo Pemberthy's poodle mongrel?",
    "What mushrooms surround Karsavina cottage?",
    "Is Dunmarrow Abbey's fountain frozen?",
    "What is Ottoline Krebs carving from oak?",
    "What carnival costume is Jasper Nwolisa sewing?",
    "Where is Petronella Stroud hiding diamonds?",
    "Why was Captain Renshaw's schooner shipwrecked?",
    "Which tulips bloom inside Aldous Finch's greenhouse?",
    "What nickname has Gwendolyn Marsh's parrot?",
    "Is Bastian Ollerton's scarf knitted or crocheted?",
    "Which volcano was Sunniva Harrowgate climbing barefoot?",
    "What sorbet flavours has Zabriskie's kiosk?",
    "Is Gorsefield Hill's tunnel haunted?",
    "What colossal dragon guards Wexcombe's fairytale castle?",
    "Is Lindqvist theatre's curtain velvet?",
)
PER_TURN = len(DECOYS) // 4
"""Decoys of one turn."""
MOST = 3
"""Decoys that the texts of one turn are shared out to."""


def shared_out(query: str, texts: Mapping[str, str], turn: int = 0) -> list[tuple[str, list[str]]]:
    """A decoy for each text (by name) that shares no word with it nor with the query: few decoys for many texts.

    Another `turn` (from 0) shares out other decoys. Left out is a text that has words of too many of them: it cannot be
    told whether it would answer them. The same query and texts always give the same, in any order.
    """
    terms = tokenizer_of("english").terms
    asked = set(terms(query))
    known = {name: set(terms(text)) for name, text in texts.items()}
    order = sorted(DECOYS, key=lambda one: hashlib.sha256(f"{query}\n{one}".encode()).digest())
    start, end = turn * PER_TURN, (turn + 1) * PER_TURN
    foreign = [(one, own) for one in order[start:end] if not (own := set(terms(one))) & asked]
    left, out = list(known), []
    for _ in range(MOST):
        fitting = [(one, [name for name in left if not own & known[name]]) for one, own in foreign]
        decoy, names = max(fitting, key=lambda each: len(each[1]), default=("", []))
        if not names:
            break
        out.append((decoy, names))
        left = [name for name in left if name not in set(names)]
    return out
