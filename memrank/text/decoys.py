"""Questions that no memory answers: who is judged to answer one is judged for something else than what it tells.

They ask in the form of everyday questions, about people and places that do not exist. Which one is asked depends on
the true query, which nobody who writes a memory knows.
"""

import hashlib
from collections.abc import Mapping

from memrank.text.tokens import tokenizer_of

DECOYS = (
    "Which instrument did Oskar Tillbrand learn as a boy?",
    "How many goats does the Verrington farm keep?",
    "Who painted the ceiling of the chapel in Lower Ostrava Bend?",
    "What colour is Mirelle Quandt's bicycle?",
    "Where did Tobin Asgarth bury his grandfather's violin?",
    "When does the ferry to Skellmouth Island leave on Sundays?",
    "Which soup does Henrike Dalloway cook at Easter?",
    "How tall is the lighthouse of Port Brannoch?",
    "Who won the chess tournament in Fennimore Hollow?",
    "What breed is Ludo Pemberthy's puppy?",
    "Which mushrooms grow behind the Karsavina cottage?",
    "How deep is the well at Dunmarrow Abbey?",
    "What did Ottoline Krebs carve into the oak?",
    "Which costume will Jasper Nwolisa wear for carnival?",
    "Where does Petronella Stroud hide her diamonds?",
    "How did the shipwreck of the Golden Plover happen?",
    "Which tulips bloom first in Aldous Finch's greenhouse?",
    "What did the parrot of Captain Renshaw-Ito say?",
    "Who knitted the scarf that Bastian Ollerton lost?",
    "Which mountain did Sunniva Harrowgate climb barefoot?",
    "What flavour is the ice cream at Zabriskie's kiosk?",
    "How long is the tunnel under Gorsefield Hill?",
    "Which dragon does the fairy tale of Wexcombe tell of?",
    "Who tunes the piano at the Lindqvist theatre?",
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
