"""What is forgotten leaves no trace in the file of a conversation."""

from pathlib import Path

import pytest

from memrank.dialogue.conversation import Conversation
from memrank.stores.conversation_forget import ConversationPlace
from memrank.stores.forgetting import Gone, prove, texts_of

SECRET = "The safe opens with the birthday of the third daughter of the house."


@pytest.fixture
def path(tmp_path: Path) -> Path:
    where = tmp_path / "talk.db"
    with Conversation(where) as kept:
        kept.add(
            [
                {"id": "e1", "role": "user", "content": SECRET},
                {"id": "e2", "role": "assistant", "content": f'You said: "{SECRET}" I will not repeat it.'},
                {"id": "e3", "role": "user", "content": "And now to something else."},
            ]
        )
        kept.prune("what was it?")
    return where


def test_the_element_its_course_and_every_quotation_go(path: Path) -> None:
    place = ConversationPlace(path)
    held = place.held(None, "e1")
    assert [memory.content for memory in held] == [SECRET]
    gone = Gone(namespace=None, id="e1", texts=texts_of(held))
    assert prove([place], gone.texts).found == (str(path),) or SECRET in " ".join(place.living())
    assert place.forget(gone) == 2
    proof = prove([place], gone.texts)
    assert proof.pieces
    assert proof.bytes_scanned
    assert proof.found == ()
    with Conversation(path) as kept:
        assert [element.id for element in kept.elements()] == ["e2", "e3"]
        assert kept.elements()[0].content == 'You said: "[forgotten]" I will not repeat it.'
        assert set(kept.trajectories()) == {"e2", "e3"}
        assert kept.prune("and now?").decisions


def test_what_is_not_there_changes_nothing(path: Path) -> None:
    place = ConversationPlace(path)
    assert place.held(None, "e9") == []
    assert place.forget(Gone(namespace=None, id="e9", texts=("nobody ever said this",))) == 0
    assert SECRET in list(place.living())


def test_what_names_things_in_other_elements_stays(tmp_path: Path) -> None:
    where = tmp_path / "calls.db"
    call, result = "call_12345", "call_12345-result"
    with Conversation(where) as kept:
        kept.add(
            [
                {
                    "id": call,
                    "role": "assistant",
                    "memory_type": "tool_call",
                    "call_id": call,
                    "content": "get(id=4417)",
                },
                {
                    "id": result,
                    "role": "tool",
                    "memory_type": "tool_output",
                    "call_id": call,
                    "content": "get(id=4417): lost",
                },
            ]
        )
    place = ConversationPlace(where)
    place.forget(Gone(namespace=None, id=call, texts=texts_of(place.held(None, call))))
    with Conversation(where) as kept:
        (left,) = kept.elements()
        assert (left.id, left.kind, left.call_id, left.content) == (result, "tool_output", call, "[forgotten]: lost")
