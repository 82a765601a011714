"""Small foreign sets, laid out as they are published."""

import json
from pathlib import Path
from typing import Any

CORPUS = [
    {"_id": "d1", "title": "Tides", "text": "The moon pulls the sea.", "metadata": {}},
    {"_id": "d2", "title": "", "text": "Copper conducts heat.", "metadata": {"url": "https://example.org"}},
    {"_id": "d 3", "title": "Old tides", "text": "", "metadata": {}},
]
QUESTIONS = [
    {"_id": "q1", "text": "What pulls the sea?", "metadata": {"relevant": ["d2"]}},
    {"_id": "q2", "text": "What conducts heat?", "metadata": {}},
    {"_id": "q3", "text": "Who was never judged?", "metadata": {}},
]

Files = dict[str, str]


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def beir(**changed: str) -> Files:
    """The files of a BEIR folder; `qrels_test="..."` replaces `qrels/test.tsv`, and so on."""
    files = {
        "corpus.jsonl": lines(CORPUS),
        "queries.jsonl": lines(QUESTIONS),
        "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td 3\t1\nq1\td2\t0\nq2\td2\t1\n",
    }
    names = {"corpus": "corpus.jsonl", "queries": "queries.jsonl", "qrels_test": "qrels/test.tsv"}
    return files | {names[name]: text for name, text in changed.items()}


TOPICS = """\
<top>

<num> Number: 301
<title> International Organized Crime

<desc> Description:
Identify organizations that take part in it.

<narr> Narrative:
A relevant document names one &amp; its seat.
</top>
<top>
<num> Number: 302
<title>
<desc> Description: Is the disease of Polio under control?
</top>
"""
DOCUMENTS = """\
<DOC>
<DOCNO> FT-1 </DOCNO>
<HEADLINE>A seat &amp; a name</HEADLINE>
<TEXT>
<P>The ring sits
in Rome.</P>
</TEXT>
</DOC>
<DOC><DOCNO>FT-2</DOCNO>Polio is rare.</DOC>
"""
TREC = {"docs.sgml": DOCUMENTS, "topics.301-350": TOPICS, "qrels.txt": "301 0 FT-1 1\n301 0 FT-2 0\n302\t0\tFT-2\t1\n"}


def turn(name: str, speaker: str, text: str, **more: object) -> dict[str, object]:
    return {"speaker": speaker, "dia_id": name, "text": text, **more}


def locomo() -> list[dict[str, Any]]:
    """One conversation of two sessions; the evidence is written in the ways that are met."""
    return [
        {
            "sample_id": "conv-1",
            "conversation": {
                "speaker_a": "Ana",
                "speaker_b": "Ben",
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "session_1": [
                    turn("D1:1", "Ana", "I moved to Lyon."),
                    turn("D1:2", "Ben", "Look!", img_url=["https://example.org"], blip_caption="a photo of a cat"),
                ],
                "session_2_date_time": "9:00 am on 2 June, 2023",
                "session_2": [turn("D2:1", "Ana", "Back in Paris.")],
                "session_3_date_time": "9:00 am on 3 July, 2023",
            },
            "qa": [
                {"question": "Where is Ana?", "answer": "Paris", "evidence": ["D2:01"], "category": 4},
                {
                    "question": "Where was she?",
                    "answer": "Lyon",
                    "evidence": ["D1:1; D2:1", "D:1:2", "D"],
                    "category": 1,
                },
                {"question": "What did Ana show?", "adversarial_answer": "a cat", "evidence": ["D1:2"], "category": 5},
                {"question": "Who knows?", "answer": "nobody", "evidence": [], "category": 3},
                {"question": "When?", "answer": 2023, "evidence": ["D9:9", "D1:1"], "category": 2},
            ],
            "event_summary": {},
            "observation": {},
            "session_summary": {},
        }
    ]


def said(role: str, content: str, *, has_answer: bool | None = None) -> dict[str, object]:
    return {"role": role, "content": content, **({} if has_answer is None else {"has_answer": has_answer})}


def longmemeval() -> list[dict[str, Any]]:
    """An update, one that asks for the value before it, an unanswerable twin, and one without evidence."""
    haystack = {
        "haystack_session_ids": ["s1", "s2", "s1"],
        "haystack_dates": ["2023/04/10 (Mon) 17:50", "2023/05/10 (Wed) 08:00", "2023/03/01 (Wed) 10:00"],
        "haystack_sessions": [
            [said("user", "I run 5 km.", has_answer=True), said("assistant", "Well done.", has_answer=False)],
            [said("user", "I run 8 km now.", has_answer=True)],
            [said("user", "It rains.")],
        ],
        "answer_session_ids": ["s1", "s2"],
        "question_date": "2023/05/30 (Tue) 23:40",
        "question_type": "knowledge-update",
    }
    silent = {**haystack, "haystack_sessions": [[said("user", "Nothing.")], [], []]}
    return [
        {"question_id": "a1", "question": "How far do I run?", "answer": "8 km", **haystack},
        {"question_id": "a2", "question": "How far did I previously run?", "answer": 5, **haystack},
        {"question_id": "a1_abs", "question": "How far do I swim?", "answer": "Not said.", **haystack},
        {"question_id": "a4", "question": "What else?", "answer": "", **silent},
    ]


def put(folder: Path, files: Files) -> Path:
    """The files in a folder, which is made."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    return folder


def put_json(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return path
