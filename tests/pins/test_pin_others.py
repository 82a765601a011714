"""What memrank leans on in PyStemmer, PyYAML and pydantic."""

from typing import Annotated, Literal

import pytest
import Stemmer
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("running", "run"),
        ("memories", "memori"),
        ("memory", "memori"),
        ("expectations", "expect"),
        ("cuts", "cut"),
        ("rates", "rate"),
        ("generously", "generous"),
        ("2026", "2026"),
    ],
)
def test_english_stems(word: str, stem: str) -> None:
    """Stores keep terms by their stems: another stemmer would make them stale."""
    assert Stemmer.Stemmer("english").stemWord(word) == stem


def test_yaml_events_carry_marks_and_styles() -> None:
    """`yamltext` builds its nodes from events: plain and quoted scalars are told apart, places count from 0."""
    text = "a: 'x'\nb: [1, {c: true}]\n"
    events = list(yaml.parse(text, Loader=yaml.SafeLoader))
    assert [type(event).__name__ for event in events] == [
        *("StreamStartEvent", "DocumentStartEvent", "MappingStartEvent", "ScalarEvent", "ScalarEvent"),
        *("ScalarEvent", "SequenceStartEvent", "ScalarEvent", "MappingStartEvent", "ScalarEvent", "ScalarEvent"),
        *("MappingEndEvent", "SequenceEndEvent", "MappingEndEvent", "DocumentEndEvent", "StreamEndEvent"),
    ]
    scalars = [event for event in events if isinstance(event, yaml.ScalarEvent)]
    assert [(event.value, event.style) for event in scalars[:2]] == [("a", None), ("x", "'")]
    assert [(event.start_mark.line, event.start_mark.column) for event in scalars] == [
        *((0, 0), (0, 3), (1, 0), (1, 4), (1, 8), (1, 11)),
    ]
    assert all(event.anchor is None and event.tag is None for event in scalars)


def test_yaml_events_show_anchors_aliases_and_tags() -> None:
    """`yamltext` refuses them where they stand, before anything is expanded."""
    events = list(yaml.parse("- &a !!int '1'\n- *a\n", Loader=yaml.SafeLoader))
    scalar = next(event for event in events if isinstance(event, yaml.ScalarEvent))
    alias = next(event for event in events if isinstance(event, yaml.AliasEvent))
    assert (scalar.anchor, scalar.tag, alias.anchor) == ("a", "tag:yaml.org,2002:int", "a")


def test_yaml_syntax_errors_have_a_place() -> None:
    with pytest.raises(yaml.MarkedYAMLError) as caught:
        list(yaml.parse("a: [1\nb: 2\n", Loader=yaml.SafeLoader))
    mark = caught.value.problem_mark
    assert mark is not None
    assert mark.line == 1


class _First(BaseModel):
    kind: Literal["first"]
    size: Annotated[int, Field(ge=1, le=9)] = 1


class _Second(BaseModel):
    kind: Literal["second"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, pattern="^[a-z]*$")] = "a"
    share: Annotated[float, Field(gt=0, lt=1)] = 0.5
    parts: Annotated[list[Annotated[_First | _Second, Field(discriminator="kind")]], Field(min_length=1, max_length=2)]
    flag: bool = False
    mapping: dict[str, int] = {}


GOOD = {"parts": [{"kind": "second"}]}


@pytest.mark.parametrize(
    ("given", "kind", "place"),
    [
        ({}, "missing", ("parts",)),
        ({**GOOD, "more": 1}, "extra_forbidden", ("more",)),
        ({**GOOD, "name": ""}, "string_too_short", ("name",)),
        ({**GOOD, "name": "A"}, "string_pattern_mismatch", ("name",)),
        ({**GOOD, "name": 1}, "string_type", ("name",)),
        ({**GOOD, "share": 0}, "greater_than", ("share",)),
        ({**GOOD, "share": 1}, "less_than", ("share",)),
        ({**GOOD, "flag": "yes"}, "bool_type", ("flag",)),
        ({**GOOD, "mapping": []}, "dict_type", ("mapping",)),
        ({"parts": []}, "too_short", ("parts",)),
        ({"parts": [{"kind": "second"}] * 3}, "too_long", ("parts",)),
        ({"parts": [{"kind": "third"}]}, "union_tag_invalid", ("parts", 0)),
        ({"parts": [{}]}, "union_tag_not_found", ("parts", 0)),
        ({"parts": [{"kind": "first", "size": 0}]}, "greater_than_equal", ("parts", 0, "first", "size")),
        ({"parts": [{"kind": "first", "size": 10}]}, "less_than_equal", ("parts", 0, "first", "size")),
    ],
)
def test_pydantic_names_what_is_wrong_and_where(given: object, kind: str, place: tuple[str | int, ...]) -> None:
    """`specfaults` turns these names and places into faults; a union's branch stands in the place, as "first" here."""
    with pytest.raises(ValidationError) as caught:
        _Model.model_validate(given, strict=True)
    assert [(error["type"], error["loc"]) for error in caught.value.errors(include_url=False)] == [(kind, place)]


def test_pydantic_writes_unions_by_kind_into_the_schema() -> None:
    """`specfaults` opens them by `discriminator.mapping`."""
    schema = _Model.model_json_schema()
    assert schema["properties"]["parts"]["items"]["discriminator"]["mapping"] == {
        "first": "#/$defs/_First",
        "second": "#/$defs/_Second",
    }
