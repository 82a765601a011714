import time

import pytest

from memrank.nodes import Place, find, plain, printable, show_path
from memrank.yamltext import MAX_DEPTH, MAX_NODES, read_yaml, write_yaml


def faults(text: str) -> list[str]:
    return [fault.line("f") for fault in read_yaml(text).faults]


def value_of(text: str) -> object:
    document = read_yaml(f"key: {text}\n")
    assert document.faults == ()
    assert document.root is not None
    read = plain(document.root)
    assert isinstance(read, dict)
    return read["key"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("123456789012345678", 123456789012345678),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("-1.5E-3", -0.0015),
        ('"5"', "5"),
        ("'true'", "true"),
    ],
)
def test_core_values(text: str, value: object) -> None:
    read = value_of(text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "no",
        "on",
        "off",
        "True",
        "FALSE",
        "NULL",
        "1:30",
        "0o17",
        "017",
        "0x1F",
        "1_000",
        "00",
        "2026-03-20",
        "2026-03-20T09:00:00Z",
        "nan",
        "inf",
        "Infinity",
        "1e",
        ".",
        "+",
        "=",
        "1.2.3",
    ],
)
def test_what_other_readers_take_for_more_stays_text_as_written(text: str) -> None:
    assert value_of(text) == text


@pytest.mark.parametrize("text", [".nan", ".NaN", ".inf", "-.INF", "+.Inf", "1e999", "-1e999"])
def test_numbers_that_are_not_finite(text: str) -> None:
    assert faults(f"a: {text}\nb: 1") == [faults(f"a: {text}")[0]]
    assert faults(f"a: {text}")[0].startswith(f"f:1:4: a: {text} is not a finite number; allowed: ")


def test_long_numbers_are_faults_and_long_text_is_not() -> None:
    assert faults("a: 1234567890123456789") == [
        "f:1:4: a: the number 1234567890123456789 is too long; allowed: 18 digits, or text in quotes"
    ]
    assert "is too long" in faults("a: 0." + "3" * 100_000)[0]
    assert value_of('"1234567890123456789"') == "1234567890123456789"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: !!python/object/apply:os.system [ls]", "f:1:4: a: the tag"),
        ("a: !foo x", 'f:1:4: a: the tag "!foo" stands here; allowed: values without tags'),
        ("a: !!str 5", "f:1:4: a: the tag"),
        ("a: ! x", "f:1:4: a: the tag"),
        ("!foo a: 1", "f:1:1: spec: an anchor or tag stands before a key"),
        ("a: &x 1", "f:1:4: a: an anchor"),
        ("a: *x", "f:1:4: a: an alias"),
        ("*x : 1", "f:1:1: spec: an alias"),
        ("a:\n  <<: {b: 1}", "f:2:3: a: a merge key"),
        ("? [a, b]\n: 1", "f:1:3: spec: a list or mapping stands as a key"),
        ("{a: 1}: 1", "f:1:1: spec: a list or mapping stands as a key"),
        ("%YAML 1.2\n---\na: 1", "f:1:1: spec: a directive"),
        ("%TAG !x! foo\n---\na: 1", "f:1:1: spec: a directive"),
    ],
)
def test_what_yaml_has_and_a_spec_has_not(text: str, expected: str) -> None:
    assert len(faults(text)) == 1
    assert faults(text)[0].startswith(expected)
    assert "; allowed: " in faults(text)[0]


@pytest.mark.parametrize("key", ["yes", "No", "on", "OFF", "y", "true", "True", "null", "~", "1", "-1.5", "''", "Null"])
def test_keys_are_text(key: str) -> None:
    found = faults(f"a: 1\n{key}: 1")
    if key == "''":
        assert found == []
    else:
        assert [line.split(": ")[0] for line in found] == ["f:2:1"]
        assert "is not text; allowed: text as a key" in found[0]
        assert faults(f'a: 1\n"{key}": 1') == []


def test_an_empty_key_is_a_fault() -> None:
    assert len(faults("?\n: 1")) == 1
    assert faults("?\n: 1")[0].startswith('f:1:2: [""]: the key "" is not text; allowed: text as a key')


def test_a_key_twice_names_both_lines() -> None:
    assert faults("a: 1\nb:\n  c: 1\n  d: 1\n  c: 2\n") == [
        "f:5:3: b.c: the key stands twice, in lines 3 and 5; allowed: every key once"
    ]


def test_faults_of_form_are_all_reported() -> None:
    assert [line.split(": ")[0] for line in faults("a: !x 1\nb: &y 2\nc: .nan\na: 3\n1: 4\nd: *y\n")] == [
        "f:1:4",
        "f:2:4",
        "f:3:4",
        "f:4:1",
        "f:5:1",
        "f:6:4",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "f:1:1: spec: the spec is empty"),
        ("# only a comment\n", "f:1:1: spec: the spec is empty"),
        ("a: 1\n\tb: 2", "f:2:1: spec: a tab stands"),
        ("a:\n\tb: 2", "f:2:1: a: a tab stands"),
        ("a:\t1", "f:1:3: a: a tab stands"),
        ("a: 1\n---\nb: 2", "f:2:1: spec: a second document"),
        ("a: 1\n...\nb: 2", "f:3:1: spec: text after the end"),
        ("a: {b: 1", "f:1:9: a: a comma or the closing bracket"),
        ("a: [1 2", "f:1:8: a[0]: a comma or the closing bracket"),
        ("a: 'x\nb: 1", "f:1:4: a: a quote is not closed"),
        ("a: 'x\n---\nb: 1'", "f:1:4: a: a quote is not closed"),
        ("a: b: c", "f:1:5: spec: a colon"),
        ("a: 1\nb\nc: 2", "f:2:1: spec: a key without a colon"),
        ("a:\n  b: 1\n c: 2", "f:3:2: spec: this does not fit"),
        ('a: "\\q"', "f:1:6: a: an unknown escape"),
        ('a: "\\xZZ"', "f:1:7: a: an escape with too few digits"),
        ('a: "\\UFFFFFFFF"', "f:1:7: a: the number or escape here is too large"),
        ('a: "\\ud83d\\ude00"', "f:1:4: a: an escape stands for U+D83D"),
        ('a: "\\0"', "f:1:4: a: an escape stands for U+0000"),
        ("%YAML 1." + "9" * 5000 + "\n---\na: 1", "f:1:9: spec: the number or escape"),
        ("a: @x", "f:1:4: a: a character that cannot start a value"),
        ("a: - b", "f:1:4: a: an item or key that cannot stand here"),
        ("a: *", "f:1:5: a: an anchor or alias without a name"),
        ("a: ]", "f:1:4: a: a bracket or comma"),
        ("a: !<> x", "f:1:6: a: not YAML"),
    ],
)
def test_syntax_faults_point_at_their_place_in_words(text: str, expected: str) -> None:
    assert len(faults(text)) == 1
    assert faults(text)[0].startswith(expected)
    assert "; allowed: " in faults(text)[0]


@pytest.mark.parametrize(
    "char", ["\x00", "\x07", "\x0c", "\x1b", "\x7f", "\x85", "\x9f", "\u2028", "\u2029", "\ud800", "\ufeff", "\uffff"]
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_control_characters_and_surrogates(char: str, line_end: str) -> None:
    assert faults(f"a: 1{line_end}b: x{char}y") == [
        f"f:2:5: spec: the character U+{ord(char):04X} cannot stand here; "
        "allowed: printable text, escapes in double quotes"
    ]


def test_places_count_characters_and_any_line_end() -> None:
    for end in ("\n", "\r\n", "\r"):
        root = read_yaml(f"é: 1{end}{end}b: [x, 😀, y]{end}").root
        assert root is not None
        assert find(root, ("b", 2)).place == Place(line=3, column=11)
        assert root.keys["b"] == Place(line=3, column=1)


def test_depth_is_limited() -> None:
    assert faults("[" * MAX_DEPTH + "]" * MAX_DEPTH) == []
    deep = faults("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))
    assert len(deep) == 1
    assert deep[0].startswith(f"f:1:{MAX_DEPTH + 1}: ")
    assert "nested too deeply" in deep[0]


def test_the_number_of_values_is_limited() -> None:
    assert faults("- 1\n" * (MAX_NODES - 1)) == []
    assert "too many values" in faults("- 1\n" * MAX_NODES)[0]


BOMB = "a: &a [x]\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{f'*{chr(97 + i)}, ' * 9}]\n" for i in range(12))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200000,
        "- " * 100000,
        "? " * 100000,
        "{a: " * 60000,
        BOMB,
        "[" + "[]," * 80000,
        "a: &" + "x" * 250000,
        "a: !" + "%41" * 80000,
        "x" * 250000,
        "'" + "\n" * 250000,
        'a: "' + "x\n" * 120000,
        "\n" * 250000,
        "#" * 250000,
        "a: >\n" + " x\n" * 80000,
        "a: " + "x " * 120000,
        "%a b\n" * 50000,
        "a: 0" + "_" * 200000,
        "\r" * 250000,
        "a: " + "9" * 250000,
        "!" * 250000,
        "a: |" + "0" * 250000,
    ],
    ids=range(21),
)
def test_hostile_text_ends_soon(text: str) -> None:
    start = time.perf_counter()
    read_yaml(text)
    assert time.perf_counter() - start < 1.0


def test_written_text_reads_back() -> None:
    data = {
        "texts": [
            "yes",
            "1e3",
            "1_000",
            "0o17",
            "1:30",
            "2026-03-20",
            "null",
            "~",
            "",
            " a ",
            "a: b",
            "#c",
            "é\u2028😀",
            "a\nb\n",
            "<<",
            "=",
            "- x",
            "{",
            "'",
            '"',
            "\\",
            "\x1b",
            "\t",
            "y",
            "N",
            "1.",
            ".5",
            "-",
            "x" * 300,
            "a b " * 99,
        ],
        "numbers": [1, -1, 0.1, 1e-7, 1.5e300, -2.5e-300, 1e22, 0.30000000000000004],
        "rest": [True, False, None, [], {}, {"1": {"on": [1]}}],
    }
    document = read_yaml(write_yaml(data))
    assert document.faults == ()
    assert document.root is not None
    assert plain(document.root) == data


def test_paths_and_texts_are_shown_on_one_line() -> None:
    assert show_path(("stages", 2, "weights")) == "stages[2].weights"
    assert show_path(("gates", "P@3", "min")) == 'gates["P@3"].min'
    assert show_path(()) == "spec"
    assert show_path(("x" * 100,)) == f'["{"x" * 60}..."]'
    assert printable("a\nb\x1b[0m\u202e\ud800") == r"a\nb\x1b[0m\u202e\ud800"
    assert printable("x" * 61) == "x" * 60 + "..."
    assert printable("x" * 60) == "x" * 60
