"""`memrank eval --conversations`: answers to stdout, the gate by exit code, what is refused."""

from pathlib import Path

import pytest
from calling import SPEC, call, spawn
from talking import talk, written

TIGHT = SPEC.replace("max_tokens: 1000", "max_tokens: 45, keep_last_turns: 0")


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    folder = tmp_path / "talks"
    folder.mkdir()
    written(folder / "fit.jsonl", [talk(f"f{k}") for k in range(2)])
    written(folder / "report.jsonl", [talk(f"t{k}") for k in range(4)])
    return folder


@pytest.fixture
def tight(tmp_path: Path) -> Path:
    path = tmp_path / "tight.yaml"
    path.write_text(TIGHT.replace("name: desk", "name: tight"), encoding="utf-8")
    return path


def test_the_defaults(talks: Path) -> None:
    rows = [talk(f"t{k}") for k in range(6)]
    for row in rows:
        row["elements"][1]["pinned"] = True
    written(talks / "fit.jsonl", rows)
    (talks / "report.jsonl").unlink()
    answer = call("eval", "--conversations", talks, "--gate")
    assert answer.code == 0
    assert answer.out.startswith("defaults on talks, all parts: 6 conversations")
    assert "gate: passed" in answer.out
    assert answer.err == ""


def test_json_of_a_part(talks: Path) -> None:
    body = call("eval", "--conversations", talks, "--part", "report", "--json", "--seed", "7").json
    assert body["schema"] == "memrank.eval-conversations/1"
    (report,) = body["reports"]
    assert (report["part"], report["conversations"], report["seed"]) == ("report", 4, 7)
    assert report["limits"]["max_tokens"] == 2000


def test_a_file(talks: Path) -> None:
    assert call("eval", "--conversations", talks / "fit.jsonl", "--json").json["reports"][0]["evalset"] == "fit"


def test_a_gate_that_fails(talks: Path, tight: Path) -> None:
    held = call("eval", tight, "--conversations", talks, "--gate", "--json")
    assert held.code == 1
    assert held.err.rstrip() == "1 of 1 gate failed"
    assert held.json["reports"][0]["gate"]["mends"]
    assert call("eval", tight, "--conversations", talks, "--json", "-q").code == 0
    assert call("eval", tight, "--conversations", talks, "--gate", "-q").err == ""
    assert call("eval", tight, "--conversations", talks, "--gate", "--margin", "1").code == 0


def test_two_specs_and_a_page(desk: Path, tight: Path, talks: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    answer = call("eval", desk, tight, "--conversations", talks, "--html", page)
    assert answer.code == 0
    assert "tight minus desk, paired" in answer.out
    assert "tight against desk" in page.read_text(encoding="utf-8")
    body = call("eval", desk, tight, "--conversations", talks, "--json").json
    assert [(one["spec"], one["against"]) for one in body["comparisons"]] == [("tight", "desk")]


def test_two_versions_of_a_spec_go_by_their_files(desk: Path, talks: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(TIGHT, encoding="utf-8")
    body = call("eval", desk, other, "--conversations", talks, "--json").json
    assert [report["spec"] for report in body["reports"]] == [str(desk), str(other)]


@pytest.mark.parametrize(
    ("extra", "code", "said"),
    [
        (["--evalset", "x"], 2, "--evalset does not go with --conversations"),
        (["--run", "x"], 2, "--run does not go with --conversations"),
        (["--by", "category"], 2, "the domains are shown without it"),
        (["--jobs", "1"], 2, "--jobs does not go with --conversations"),
        (["--resume"], 2, "--resume does not go with --conversations"),
        (["--no-resume"], 2, "--no-resume does not go with --conversations"),
        (["--calibrate"], 2, "--conversations does not go with --calibrate"),
        (["--part", "choose"], 3, "no choose.jsonl there"),
        (["--margin", "2"], 2, "--margin"),
        (["--margin", "nan"], 2, "--margin"),
        (["--html", ""], 2, "--html names no file"),
        (["nowhere.yaml"], 2, "nowhere.yaml"),
    ],
)
def test_what_is_refused(talks: Path, extra: list[str], code: int, said: str) -> None:
    answer = call("eval", "--conversations", talks, *extra)
    assert (answer.code, answer.out) == (code, "")
    assert said in answer.err


def test_a_page_never_replaces_what_is_read(talks: Path, tight: Path) -> None:
    for source in (talks / "fit.jsonl", tight):
        before = source.read_bytes()
        answer = call("eval", tight, "--conversations", talks, "--html", source)
        assert answer.code == 2
        assert "would replace what is read" in answer.err
        assert source.read_bytes() == before


def test_a_margin_without_conversations(desk: Path) -> None:
    answer = call("eval", desk, "--margin", "0.1")
    assert answer.code == 2
    assert "--margin stands without --conversations" in answer.err


def test_a_broken_set(talks: Path) -> None:
    written(talks / "fit.jsonl", [talk("a"), '{"id": '])
    answer = call("eval", "--conversations", talks)
    assert (answer.code, answer.out) == (3, "")
    assert "fit.jsonl:2: not valid JSON" in answer.err
    assert "Traceback" not in answer.err


def test_as_a_process(talks: Path) -> None:
    done = spawn("eval", "--conversations", talks, "--json")
    assert done.returncode == 0
    assert done.stderr == b""
    assert done.stdout == spawn("eval", "--conversations", talks, "--json").stdout
