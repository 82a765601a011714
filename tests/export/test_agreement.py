"""Every export, evaluated as its engine is documented to, gives memrank's scores over random specs and ages."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import memrank
from memrank.errors import UsageError
from memrank.export.check import Agreement, Format, agreement, evaluated, ours, sample
from memrank.export.elasticsearch import elasticsearch_of
from memrank.export.engines.point import Point
from memrank.export.fields import Fields
from memrank.export.formula import EXPORTED, formula_of
from memrank.export.qdrant import qdrant_of
from memrank.export.sql import sql_of
from memrank.slate import Column
from memrank.spec import Spec
from memrank.specfile import load_spec, parse_spec
from memrank.yamltext import write_yaml

ROOT = Path(__file__).resolve().parents[2]
FORMATS: tuple[Format, ...] = get_args(Format)
AS_OF = datetime(2026, 3, 20, 9, tzinfo=UTC)
DAY = 86400.0


def spec_with(temporal: dict[str, Any], ranker: dict[str, Any] | None = None) -> Spec:
    stages = [{"kind": "temporal.v1", **temporal}, {"kind": "ranker.v1", **(ranker or {})}]
    return parse_spec(write_yaml({"memrank": 1, "name": "sample", "stages": stages}))


def text_of(to: Format, spec: Spec, fields: Fields, as_of: datetime | None, sensitivity: str | None = None) -> str:
    formula = formula_of(spec, sensitivity)
    if to == "sql":
        return sql_of(formula, fields)
    body = elasticsearch_of(formula, fields, as_of) if to == "elasticsearch" else qdrant_of(formula, fields, as_of)
    return json.dumps(body)


def checked(to: Format, spec: Spec, *, as_of: datetime | None = None, sensitivity: str | None = None) -> Agreement:
    fields = Fields()
    text = text_of(to, spec, fields, as_of, sensitivity)
    return agreement(spec, formula_of(spec, sensitivity), to, text, fields, as_of)


KERNELS: tuple[dict[str, Any], ...] = (
    {"half_life": {"default": "14d", "price": "1d", "o'brien": "90d"}, "offset": "2d", "floor": 0.2},
    {"rate_per_hour": 0.01},
    {"kernel": "linear", "window": {"default": "30d", "price": "36h"}, "offset": "1h"},
    {"kernel": "gaussian", "half_life": {"default": "20d", "price": "3d"}, "undated": "neutral"},
    {"kernel": "power", "scale": {"default": "10d", "note": "1h"}, "p": 1.7, "offset": "1d"},
    {"kernel": "power", "scale": "1s", "p": 100.0},
    {"kernel": "power", "scale": "1d", "p": 0.2},
    {"kernel": "weibull", "half_life": {"default": "9d", "price": "1d"}, "beta": 0.6, "floor": 0.1},
    {"kernel": "weibull", "half_life": "9d", "beta": 1.0},
    {"kernel": "weibull", "half_life": "9d", "beta": 2.0},
    {"kernel": "weibull", "half_life": "60s", "beta": 100.0},
    {"kernel": "weibull", "half_life": "9d", "beta": 0.01},
    {"kernel": "cliff", "window": {"default": "7d", "price": "1d"}, "offset": "1d"},
    {"kernel": "none", "undated": "neutral"},
    {"half_life": "3d", "floor": 1.0},
    {"sensitivity": "real-time", "real_time_window": "6h"},
    {"sensitivity": "time-agnostic"},
)
RANKERS: tuple[dict[str, Any], ...] = (
    {},
    {
        "weights": {"relevance": 0.4, "freshness": 0.3, "importance": 0.2, "authority": 0.1},
        "relevance_threshold": 0.2,
        "stale_after": "365d",
        "min_score": 0.25,
        "top_k": 5,
        "importance": {"rate_per_month": {"default": 0.02, "price": 0.5, "note": 1.0, "fact": 0}},
    },
    {
        "combine": "bounded",
        "alphas": {"freshness": 1.0, "importance": 0.5, "authority": 0.3},
        "min_score": 0.1,
        "importance": {"decay": "linear", "rate_per_month": {"default": 0.1, "price": 0}, "floor": 2, "ceiling": 9},
    },
    {"combine": "bounded", "alphas": {"importance": 0.7}, "importance": {"decay": "none", "boost": False}},
    {"weights": {"freshness": 1.0}},
    {"weights": {"relevance": 0.5000005, "freshness": 0.5000004}},
)


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("temporal", KERNELS, ids=str)
def test_every_kernel_is_as_memrank_has_it(to: Format, temporal: dict[str, Any]) -> None:
    found = checked(to, spec_with(temporal, {"weights": {"freshness": 1.0}}))
    assert found.points > 100
    assert found.agreed, found


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("ranker", RANKERS, ids=str)
def test_every_composite_is_as_memrank_has_it(to: Format, ranker: dict[str, Any]) -> None:
    found = checked(to, spec_with(KERNELS[0], ranker), as_of=AS_OF)
    assert found.agreed, found
    # There are two sides to a threshold, and both were seen.
    thresholds = {"relevance_threshold", "min_score"} & ranker.keys()
    assert (0 < found.excluded < found.points) == bool(thresholds)


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("sensitivity", EXPORTED)
@pytest.mark.parametrize("path", sorted((ROOT / "pipelines").glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_specs_export(to: Format, sensitivity: str, path: Path) -> None:
    found = checked(to, load_spec(path).spec, sensitivity=sensitivity)
    assert found.agreed, found
    assert (found.single is None) == (to == "sql")
    assert found.single is None or found.single < 1e-6


seconds = st.integers(60, 10**8).map(lambda whole: f"{whole}s") | st.floats(60, 1e8).map(lambda x: f"{x:.4f}s")
shares = st.integers(0, 20).map(lambda twentieth: twentieth / 20)


def per_type(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    types = st.dictionaries(st.text("ab'\\\"é{};-", min_size=1, max_size=3), values, max_size=2)
    return st.tuples(values, types).map(lambda given: {"default": given[0], **given[1]})


@st.composite
def temporals(draw: st.DrawFn) -> dict[str, Any]:
    kernel = draw(st.sampled_from(["exponential", "linear", "gaussian", "power", "weibull", "cliff", "none"]))
    size = {"linear": "window", "cliff": "window", "power": "scale", "none": ""}.get(kernel, "half_life")
    found: dict[str, Any] = {
        "kernel": kernel,
        "offset": draw(st.just("0s") | st.integers(1, 10**6).map(lambda whole: f"{whole}s")),
        "floor": draw(shares),
        "undated": draw(st.sampled_from(["zero", "neutral"])),
    }
    if size:
        found[size] = draw(per_type(seconds))
    shape = {"power": "p", "weibull": "beta"}.get(kernel)
    return found if shape is None else {**found, shape: draw(st.floats(0.05, 100))}


@st.composite
def rankers(draw: st.DrawFn) -> dict[str, Any]:
    found: dict[str, Any] = {
        "relevance_threshold": draw(shares),
        "importance": {
            "decay": draw(st.sampled_from(["exponential", "linear", "none"])),
            "rate_per_month": draw(per_type(shares)),
            "boost_per_use": draw(shares),
            "boost": draw(st.booleans()),
        },
    }
    if draw(st.booleans()):
        found["stale_after"] = draw(st.integers(60, 10**9).map(lambda whole: f"{whole}s"))
    parts = ("relevance", "freshness", "importance", "authority")
    if draw(st.booleans()):
        return {**found, "combine": "bounded", "alphas": {part: draw(shares) for part in parts[1:]}}
    raw = [draw(st.integers(0, 9)) for _ in parts]
    whole = sum(raw) or 1
    weights = {part: number / whole for part, number in zip(parts, raw, strict=True)}
    return {**found, "weights": weights if sum(raw) else {"relevance": 1.0}}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(temporal=temporals(), ranker=rankers(), data=st.data())
def test_random_specs_are_as_memrank_has_them(temporal: dict[str, Any], ranker: dict[str, Any], data: Any) -> None:
    spec, fields = spec_with(temporal, ranker), Fields()
    formula = formula_of(spec)
    whole = sample(formula, AS_OF)
    points = data.draw(st.lists(st.sampled_from(whole), min_size=30, max_size=60))
    raw, out = ours(spec, formula, points, AS_OF)
    for to in FORMATS:
        theirs = evaluated(to, text_of(to, spec, fields, AS_OF), points, fields, AS_OF)
        assert [score is None for score in theirs] == out.tolist(), to
        for own, other in zip(raw.tolist(), theirs, strict=True):
            assert other is None or abs(own - other) <= 1e-9, to


def test_the_sample_holds_what_matters() -> None:
    points = sample(formula_of(spec_with({"half_life": {"default": "14d", "price": "1d"}, "offset": "2d"})), AS_OF)
    ages = {None if one.effective_at is None else AS_OF.timestamp() - one.effective_at for one in points}
    assert {None, -DAY, 0.0, 2 * DAY, 3 * DAY, 16 * DAY} <= ages
    assert max(age for age in ages if age is not None) > 900 * 365 * DAY
    assert {one.memory_type for one in points} == {None, "price", "memrank-other"}


@pytest.mark.parametrize("to", FORMATS)
def test_a_wrong_formula_is_found(to: Format) -> None:
    spec, other = spec_with({"half_life": "14d"}), spec_with({"half_life": "15d"})
    fields = Fields()
    found = agreement(spec, formula_of(spec), to, text_of(to, other, fields, None), fields, None)
    assert not found.agreed
    assert found.difference > 0.001


@pytest.mark.parametrize("to", FORMATS)
def test_fields_may_have_other_names(to: Format) -> None:
    fields = Fields(
        table="kept.notes" if to != "sql" else "notes",
        id="key",
        effective_at="at",
        created_at="at",
        memory_type="kind",
        importance="salience",
        uses="used",
        authority="trust",
        relevance="rel",
        score_at_1=1.0 if to == "sql" else 4.0,
    )
    spec = spec_with(KERNELS[0], RANKERS[1])
    text = text_of(to, spec, fields, AS_OF)
    assert agreement(spec, formula_of(spec), to, text, fields, AS_OF).agreed


RECORDS = [
    {"id": "a", "content": "the rate was three percent", "created_at": "2026-03-19T09:00:00Z", "memory_type": "price"},
    {"id": "b", "content": "the rate was four percent", "created_at": "2025-12-20T09:00:00Z", "importance": 0.9},
    {"id": "c", "content": "a rate of two percent", "event_date": "2026-03-01T00:00:00Z", "authority": 0.8},
    {"id": "d", "content": "what a rate is", "access_count": 4},
    {"id": "e", "content": "the new rate will be five", "created_at": "2026-03-18T09:00:00Z",
     "event_date": "2026-05-01T00:00:00Z"},
    {"id": "f", "content": "old rate", "created_at": "2019-01-01T00:00:00Z", "memory_type": "price"},
]  # fmt: skip


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("ranker", RANKERS[:3], ids=str)
def test_a_read_of_memrank_has_the_scores_of_its_export(to: Format, ranker: dict[str, Any], tmp_path: Path) -> None:
    ranker = {**ranker, "supersession": {"infer": False}, "top_k": 100}
    temporal = {"kind": "temporal.v1", "sensitivity": "recent", **KERNELS[0]}
    document = {
        "memrank": 1,
        "name": "sample",
        "index": {"embedder": "none"},
        "stages": [{"kind": "prefilter.hybrid.v1"}, temporal, {"kind": "ranker.v1", **ranker}],
    }
    path = tmp_path / "sample.yaml"
    path.write_text(write_yaml(document), encoding="utf-8")
    result = memrank.load(path)(query="what is the rate", as_of=AS_OF, memories=RECORDS).to_dict()
    judged = {one["id"]: one for one in (*result["results"], *result["excluded"])}
    assert judged.keys() == {one["id"] for one in RECORDS}
    points = [point(one, judged[str(one["id"])]["scores"][Column.RELEVANCE.value]) for one in RECORDS]
    spec, fields = load_spec(path).spec, Fields()
    theirs = evaluated(to, text_of(to, spec, fields, AS_OF), points, fields, AS_OF)
    kept = {one["id"] for one in result["results"]}
    for record, score in zip(RECORDS, theirs, strict=True):
        assert (score is not None) == (record["id"] in kept), record
        assert score is None or abs(score - judged[str(record["id"])]["raw_score"]) < 1e-9, record


def point(record: dict[str, Any], relevance: float) -> Point:
    def seconds_of(name: str) -> float | None:
        return datetime.fromisoformat(record[name]).timestamp() if name in record else None

    created = seconds_of("created_at")
    return Point(
        relevance=relevance,
        effective_at=seconds_of("event_date") or created,
        created_at=created,
        memory_type=record.get("memory_type"),
        importance=record.get("importance"),
        uses=record.get("access_count"),
        authority=record.get("authority"),
    )


def test_half_lives_finer_than_a_millisecond_are_exact() -> None:
    spec = spec_with({"half_life": "1.23456789s"}, {"weights": {"freshness": 1.0}})
    points = [Point(relevance=1.0, effective_at=AS_OF.timestamp() - age) for age in (0, 1, 2, 5, 30)]
    raw, _ = ours(spec, formula_of(spec), points, AS_OF)
    fields = Fields()
    found = evaluated("elasticsearch", text_of("elasticsearch", spec, fields, AS_OF), points, fields, AS_OF)
    np.testing.assert_allclose(np.array(found, dtype=np.float64), raw, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("temporal", "ranker", "said"),
    [
        ({"half_life": "1d", "offset": "0.0005s"}, {}, "offset"),
        ({"kernel": "cliff", "window": "1.5s"}, {}, "window"),
        ({"half_life": "1d"}, {"stale_after": "1.5s"}, "stale_after"),
        ({"sensitivity": "real-time", "real_time_window": "1.5s"}, {}, "real_time_window"),
        ({"kernel": "gaussian", "half_life": "0.000001s"}, {}, "too short"),
        ({"kernel": "linear", "window": "0.001s"}, {}, "too short"),
    ],
)
def test_what_elasticsearch_cannot_say_is_refused(temporal: dict[str, Any], ranker: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        elasticsearch_of(formula_of(spec_with(temporal, ranker)))


@pytest.mark.parametrize("temporal", [{"kernel": "cliff", "window": "1.5s"}, {"kernel": "cliff", "window": "999y"}])
def test_a_moment_that_is_given_needs_no_date_math(temporal: dict[str, Any]) -> None:
    assert checked("elasticsearch", spec_with(temporal, {"weights": {"freshness": 1.0}}), as_of=AS_OF).agreed
