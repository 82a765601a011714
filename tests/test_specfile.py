# ruff: noqa: E501
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.errors import SpecError, UsageError
from memrank.nodes import plain
from memrank.spec import KERNEL_FIELDS, Spec
from memrank.specfile import (
    MAX_BYTES,
    dump_spec,
    load_spec,
    parse_spec,
    spec_schema,
    spec_sha256,
)
from memrank.starter import starter_memories, starter_spec
from memrank.yamltext import read_yaml

# The illustration of the design, as it stands there.
FINANCE = """\
memrank: 1                     # version of the spec format
name: finance
description: Dated market notes for an analyst's question.
store: {kind: jsonl.v1, path: ../evalsets/finance/memories.jsonl}
example:                       # what `memrank run pipelines/finance.yaml` does when given nothing else
  query: What is the current consensus on interest rate cuts?
  as_of: 2026-03-20T09:00:00Z
lm: null                       # or {model: openai/gpt-4o-mini, api_key_env: OPENAI_API_KEY, deadline: 5s, concurrency: 8, max_calls: 40}
stages:
  - {kind: prefilter.hybrid.v1, top_k: 100}
  - kind: temporal.v1
    sensitivity: auto          # real-time | recent | historical | time-agnostic | auto (from the query)
    half_life: {default: 14d, price: 1d, filing: 90d}
    undated: zero              # zero | neutral
    real_time_window: 24h
  - kind: ranker.v1
    judge: embedded            # embedded | lm | cascade
    weights: {relevance: 0.6, freshness: 0.4}
    relevance_threshold: 0.2
    stale_after: 365d
  - {kind: pruner.v1, max_tokens: 1200, keep_last_turns: 3}
review: {top_score_below: 0.4, ambiguity_margin: 0.05}
evaluate: {evalset: ../evalsets/finance, gates: {"P@3": {min: 0.85}, MAE: {max: 0.15}}}
compile: {objective: "nDCG@10", optimizer: weights}
"""

HEAD = "memrank: 1\nname: a\n"
SHAPE = re.compile(r"f\.yaml:[1-9][0-9]*:[1-9][0-9]*: [^ ]+: .+; .+")
SHIPPED = sorted((Path(__file__).parent.parent / "pipelines").glob("*.yaml"))


def faults(text: str) -> list[str]:
    """Every fault, each of which must have the promised shape, in the order of the text."""
    with pytest.raises(SpecError) as caught:
        parse_spec(text, name="f.yaml")
    found = list(caught.value.faults)
    for line in found:
        assert SHAPE.fullmatch(line), line
        assert not re.search(
            r"Input should|Field required|Value error|Extra inputs|(?<!lm_in)valid|instance|pydantic", line
        ), line
    places = [tuple(int(part) for part in line.split(":")[1:3]) for line in found]
    assert places == sorted(places)
    return found


def stage_faults(stage: str) -> list[str]:
    return faults(f"{HEAD}stages:\n- {stage}\n")


def as_data(text: str) -> Any:
    document = read_yaml(text)
    assert document.root is not None
    return plain(document.root)


class TestValidSpecs:
    def test_the_illustration_of_the_design(self) -> None:
        spec = parse_spec(FINANCE)
        assert [stage.kind for stage in spec.stages] == [
            "prefilter.hybrid.v1",
            "temporal.v1",
            "ranker.v1",
            "pruner.v1",
        ]
        assert spec.example is not None
        assert spec.example.as_of == "2026-03-20T09:00:00Z"
        assert spec.lm is None
        assert spec.evaluate is not None
        assert spec.evaluate.gates["P@3"].min == 0.85
        assert spec.compile is not None
        assert spec.compile.objective == "nDCG@10"
        temporal = spec.stages[1]
        assert temporal.kind == "temporal.v1"
        assert temporal.half_life.of("price") == 86_400
        assert temporal.half_life.of("note") == 14 * 86_400

    @pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
    def test_shipped_specs(self, path: Path) -> None:
        assert load_spec(path).spec.name == path.stem

    def test_a_whole_number_may_stand_for_a_decimal_one(self) -> None:
        spec = parse_spec(f"{HEAD}stages: [{{kind: ranker.v1, weights: {{relevance: 1, freshness: 0}}}}]")
        assert spec.stages[0].kind == "ranker.v1"
        assert spec.stages[0].weights.relevance == 1.0

    def test_a_grace_of_nothing(self) -> None:
        spec = parse_spec(f"{HEAD}stages: [{{kind: temporal.v1, offset: 0s, half_life: 2w}}]")
        assert spec.stages[0].kind == "temporal.v1"
        assert (spec.stages[0].offset, spec.stages[0].half_life.of(None)) == (0.0, 14 * 86_400)

    def test_a_rate_for_each_memory_type(self) -> None:
        rates = "{default: 0.02, preference: 0.005}"
        spec = parse_spec(f"{HEAD}stages: [{{kind: ranker.v1, importance: {{rate_per_month: {rates}}}}}]")
        assert spec.stages[0].kind == "ranker.v1"
        rate = spec.stages[0].importance.rate_per_month
        assert [rate.of(name) for name in (None, "fact", "preference", "default")] == [0.02, 0.02, 0.005, 0.02]
        assert rates in dump_spec(spec)
        one = parse_spec(f"{HEAD}stages: [{{kind: ranker.v1, importance: {{rate_per_month: 1}}}}]")
        assert "rate_per_month: 1.0" in dump_spec(one)

    @pytest.mark.parametrize("line_end", ["\r\n", "\r", "\n"])
    def test_line_ends_and_byte_order_mark(self, line_end: str, tmp_path: Path) -> None:
        path = tmp_path / "a.yaml"
        path.write_bytes(b"\xef\xbb\xbf" + FINANCE.replace("\n", line_end).encode())
        assert load_spec(path).spec == parse_spec("\ufeff" + FINANCE)


class TestFaults:
    def test_all_at_once_in_the_order_of_the_text(self) -> None:
        text = (
            FINANCE.replace("memrank: 1 ", "memrank: 2 ")
            .replace("name: finance", "name: !x Finance")
            .replace("top_k: 100", 'top_k: "100"')
            .replace("zero  ", "none  ")
            .replace("24h\n", "24\n")
            .replace("freshness: 0.4", "freshness: 0.3")
            .replace("365d", "&a 365d")
            .replace("max_tokens", "max_tokenz")
            .replace("min: 0.85", "min: .nan")
            .replace("optimizer: weights", "optimizer: weights, optimizer: lm")
        )
        assert [line.split(": ")[1] for line in faults(text)] == [
            "memrank",
            "name",
            "stages[0].top_k",
            "stages[1].undated",
            "stages[1].real_time_window",
            "stages[2].weights",
            "stages[2].stale_after",
            "stages[3].max_tokenz",
            'evaluate.gates["P@3"]',
            'evaluate.gates["P@3"].min',
            "compile.optimizer",
        ]

    @pytest.mark.parametrize(
        ("stage", "expected"),
        [
            ("{kind: pruner.v1, max_tokenz: 1}", "f.yaml:4:21: stages[0].max_tokenz: this key is unknown "
             "(did you mean max_tokens?); allowed: kind, max_tokens, keep_last_turns, keep_below, decay_threshold, "
             "drop_threshold, summary_tokens, summaries, context"),
            ("{kind: temporal.v2}", "f.yaml:4:10: stages[0].kind: \"temporal.v2\" is unknown (did you mean temporal.v1?); "
             "allowed: prefilter.hybrid.v1, pruner.v1, ranker.v1, temporal.v1"),
            ("{top_k: 5}", "f.yaml:4:3: stages[0].kind: this key is missing; "
             "allowed: prefilter.hybrid.v1, pruner.v1, ranker.v1, temporal.v1"),
            ("5", "f.yaml:4:3: stages[0]: 5 is a whole number; "
             "allowed: a mapping with kind: prefilter.hybrid.v1, pruner.v1, ranker.v1, temporal.v1"),
            ("{kind: ranker.v1, weights: {relevance: 0.5, freshness: 0.4}}", "f.yaml:4:30: stages[0].weights: "
             "the weights sum to 0.9; they must sum to 1 (within 1e-06)"),
            ("{kind: ranker.v1, min_score: '0.5'}", 'f.yaml:4:32: stages[0].min_score: "0.5" is text; '
             "allowed: a number from 0 to 1"),
            ("{kind: ranker.v1, min_score: true}", "f.yaml:4:32: stages[0].min_score: true is a boolean; "
             "allowed: a number from 0 to 1"),
            ("{kind: ranker.v1, min_score: 2}", "f.yaml:4:32: stages[0].min_score: 2 is too large; "
             "allowed: a number from 0 to 1"),
            ("{kind: ranker.v1, top_k: 1.0}", "f.yaml:4:28: stages[0].top_k: 1.0 is a decimal number; "
             "allowed: a whole number from 1 to 1000000 or null"),
            ("{kind: ranker.v1, top_k: 0}", "f.yaml:4:28: stages[0].top_k: 0 is too small; "
             "allowed: a whole number from 1 to 1000000 or null"),
            ("{kind: ranker.v1, importance: {boost: 1}}", "f.yaml:4:41: stages[0].importance.boost: 1 is a whole number; "
             "allowed: true or false"),
            ("{kind: ranker.v1, importance: [x]}", "f.yaml:4:33: stages[0].importance: this is a list; "
             "allowed: a mapping with the keys decay, rate_per_month, boost, boost_per_use, boost_cap, floor, ceiling, "
             "count_means"),
            ("{kind: ranker.v1, importance: {floor: 5, ceiling: 4}}", "f.yaml:4:33: stages[0].importance: "
             "floor exceeds ceiling; allowed: floor <= ceiling, both from 1 to 10"),
            ("{kind: ranker.v1, importance: {rate_per_month: {fact: 0.2}}}", "f.yaml:4:50: "
             "stages[0].importance.rate_per_month.default: this key is missing; allowed: a number from 0 to 1"),
            ("{kind: ranker.v1, importance: {rate_per_month: true}}", "f.yaml:4:50: stages[0].importance."
             "rate_per_month: true is a boolean; allowed: a number from 0 to 1 or a mapping with the keys default"),
            ("{kind: ranker.v1, combine: bounded}", "f.yaml:4:3: stages[0]: combine: bounded stands without alphas; "
             "add alphas, such as {freshness: 0.4, importance: 0.2}"),
            ("{kind: prefilter.hybrid.v1, k1: -1}", "f.yaml:4:35: stages[0].k1: -1 is too small; "
             "allowed: a number above 0, 10 at the most"),
            ("{kind: temporal.v1, sensitivity: recant}", 'f.yaml:4:36: stages[0].sensitivity: "recant" is unknown '
             "(did you mean recent?); allowed: real-time, recent, historical, time-agnostic, auto"),
            ("{kind: temporal.v1, undated: [zero]}", "f.yaml:4:32: stages[0].undated: this is a list; "
             "allowed: zero, neutral"),
            ("{kind: temporal.v1, kernel: cliff}", "f.yaml:4:3: stages[0]: the cliff kernel lacks window; "
             "allowed: a value for each"),
            ("{kind: temporal.v1, half_life: {price: 1d}}", "f.yaml:4:34: stages[0].half_life.default: this key is "
             "missing; allowed: text such as 90s, 24h, 14d, 2w"),
            ("{kind: temporal.v1, half_life: 5}", "f.yaml:4:34: stages[0].half_life: 5 is a whole number; "
             "allowed: text such as 90s, 24h, 14d, 2w or a mapping with the keys default"),
            ("{kind: temporal.v1, real_time_window: 24}", "f.yaml:4:41: stages[0].real_time_window: "
             "this is no duration; allowed: a number with a unit, such as 90s, 5m, 24h, 7d or 2w"),
        ],
    )  # fmt: skip
    def test_of_a_stage(self, stage: str, expected: str) -> None:
        assert stage_faults(stage) == [expected]

    @pytest.mark.parametrize("duration", ["14", "14 days", "-1d", "0d", "d", "1e9d", "99999y", "x" * 999, "1d2h", ""])
    def test_of_durations(self, duration: str) -> None:
        for stage in (f'half_life: "{duration}"', f'half_life: {{default: 1d, price: "{duration}"}}'):
            found = stage_faults(f"{{kind: temporal.v1, {stage}}}")
            assert len(found) == 1
            assert "x" * 61 not in found[0]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("memrank: true", "f.yaml:1:10: memrank: this is no version of the spec format; allowed: 1"),
            ("memrank: 1.0", "f.yaml:1:10: memrank: this is no version of the spec format; allowed: 1"),
            ("memrank: '1'", "f.yaml:1:10: memrank: this is no version of the spec format; allowed: 1"),
            ("memrank: 2", "f.yaml:1:10: memrank: 2 is a whole number; allowed: 1"),
            ("name: 5", "f.yaml:1:7: name: 5 is a whole number; allowed: text that matches ^[a-z0-9][a-z0-9_-]{0,63}$"),
            ("name: A b", 'f.yaml:1:7: name: "A b" does not match; allowed: text that matches ^[a-z0-9][a-z0-9_-]{0,63}$'),
            ("description:", "f.yaml:1:13: description: null is no value; allowed: text"),
            ("stages: []", "f.yaml:1:9: stages: this is empty; allowed: a list of 1 to 16"),
            ("stages: {}", "f.yaml:1:9: stages: this is a mapping; allowed: a list of 1 to 16"),
            ("high_stakes: yes", 'f.yaml:1:14: high_stakes: "yes" is text; allowed: true or false'),
            ("lm: {model: x}", "f.yaml:1:13: lm.model: this is no model; allowed: PROVIDER/NAME, such as openai/gpt-4o-mini"),
            ("lm: {api_key_env: 'abcdef'}", "f.yaml:1:19: lm.api_key_env: this is no name of an environment variable; allowed: "),
            ("lm: {endpoint: 'http://u:abc@h'}", "f.yaml:1:16: lm.endpoint: an address holds no user, password or query: keys"),
            ("lm: {api_key: 'abcdef'}", "f.yaml:1:6: lm.api_key: a secret stands in the spec; allowed: the name of an environment"),
            ("lm: true", "f.yaml:1:5: lm: true is a boolean; allowed: a mapping with the keys model, endpoint, api_key_env,"),
            ("lm: {deadline: 5}", "f.yaml:1:16: lm.deadline: this is no duration; allowed: a number with a unit"),
            ("lm: {model: a/b, deadline: 1h}", "f.yaml:1:5: lm: deadline is longer than read_deadline; allowed: at most read_deadline"),
            ("store: {kind: jsonl.v1, path: ''}", "f.yaml:1:31: store.path: this is empty; allowed: text that is not empty"),
            ("store: {kind: csv, path: x}", 'f.yaml:1:15: store.kind: "csv" is unknown; allowed: jsonl.v1, sqlite.v1'),
            ("example: {query: x, as_of: soon}", "f.yaml:1:28: example.as_of: as_of 'soon' cannot be read"),
            ("example: {query: x, as_of: 2026}", "f.yaml:1:28: example.as_of: this is no time; allowed: ISO 8601"),
            ("example: {query: x, filters: {a: 1}}", "f.yaml:1:34: example.filters.a: 1 is a whole number; allowed: text or a list"),
            ("example: {query: x, filters: {a: [x, 1]}}", "f.yaml:1:38: example.filters.a[1]: 1 is a whole number; allowed: text"),
            ("evaluate: {evalset: x, gates: {MAP: {}}}", "f.yaml:1:37: evaluate.gates.MAP: a gate without a bound; allowed: min, max or both"),
            ("evaluate: {evalset: x, gates: {m: {max: 1}}}", "f.yaml:1:32: evaluate.gates.m: there is no such metric; allowed: recall@k, R@k, P@k,"),
            ("evaluate: {evalset: x, gates: {R@5: {mx: 1}}}", 'f.yaml:1:38: evaluate.gates["R@5"].mx: this key is unknown (did you mean max?)'),
            ("compile: {objective: ndcg@10}", "f.yaml:1:22: compile.objective: there is no such metric; allowed: recall@k,"),
            ("compile: {objective: 10}", "f.yaml:1:22: compile.objective: 10 is a whole number; allowed: text that matches ^"),
            ("evaluate: {evalset: x, gates: {MAE: {max: '1'}}}", 'f.yaml:1:43: evaluate.gates.MAE.max: "1" is text; allowed: a number or null'),
            ("revue: 1", "f.yaml:1:1: revue: this key is unknown (did you mean review?); allowed: memrank, name,"),
        ],
    )  # fmt: skip
    def test_of_the_top(self, text: str, expected: str) -> None:
        assert any(line.startswith(expected) for line in faults(text)), faults(text)

    def test_a_missing_key_points_at_the_mapping_that_lacks_it(self) -> None:
        assert [line for line in faults("# x\n\n  name: a\n  store:\n    path: x\n") if "missing" in line] == [
            "f.yaml:3:3: memrank: this key is missing; allowed: 1",
            "f.yaml:3:3: stages: this key is missing; allowed: a list of 1 to 16",
            "f.yaml:5:5: store.kind: this key is missing; allowed: jsonl.v1, sqlite.v1",
        ]

    @pytest.mark.parametrize("text", ["[]", "- a", "5", "text", "null", "---", "''"])
    def test_a_spec_that_is_no_mapping(self, text: str) -> None:
        assert len(faults(text)) == 1
        assert "allowed: a mapping with the keys memrank, name" in faults(text)[0]

    def test_stages_stand_once_and_are_not_too_many(self) -> None:
        assert faults(HEAD + "stages: [{kind: pruner.v1}, {kind: pruner.v1}]") == [
            "f.yaml:3:9: stages: pruner.v1 stands more than once; a stage may stand once"
        ]
        assert faults(HEAD + "stages: [" + "{kind: pruner.v1}, " * 17 + "]") == [
            "f.yaml:3:9: stages: this is a list of 17; allowed: a list of 1 to 16"
        ]

    def test_bad_items_do_not_make_a_list_too_short(self) -> None:
        assert [line.split(": ")[1] for line in faults(HEAD + "stages: [5, !x {}]")] == ["stages[0]", "stages[1]"]

    def test_a_key_named_like_the_kind(self) -> None:
        assert stage_faults("{kind: ranker.v1, ranker.v1: 5}")[0].startswith(
            'f.yaml:4:21: stages[0]["ranker.v1"]: this key is unknown'
        )

    def test_values_are_shown_short_and_escaped(self) -> None:
        long = next(line for line in faults(f"name: {'x' * 1000}") if ": name: " in line)
        assert '"' + "x" * 60 + '..."' in long
        assert "x" * 61 not in long
        assert any(r'"\x1b[31mred\n\u202e"' in line for line in faults('name: "\\e[31mred\\n\\u202e"'))
        assert not any("k" * 61 in line for line in faults(f"{'k' * 1000}: 1"))
        assert all(line.isprintable() for line in faults('"a\\nb\\e": 1'))

    @pytest.mark.parametrize(
        "text",
        [
            "lm: {model: x, api_key: S}",
            "api_key: S",
            "store: {kind: jsonl.v1, path: x, password: S}",
            "OPENAI_API_KEY: S",
            "store: {kind: jsonl.v1, path: x, auth: {access-token: S}}",
            f"{HEAD}stages: [{{kind: temporal.v1, half_life: {{default: 1d, token: S}}}}]",
        ],
    )
    def test_a_secret_is_named_and_not_shown(self, text: str) -> None:
        secret = "sk-abcdef0123456789abcdef"
        found = faults(
            text.replace("S", secret) if text.count("S") == 1 else text[::-1].replace("S", secret[::-1], 1)[::-1]
        )
        assert (
            sum("a secret stands in the spec; allowed: the name of an environment variable" in line for line in found)
            == 1
        )
        assert not any("sk-" in line for line in found)

    def test_a_secret_in_another_place_is_not_shown(self) -> None:
        assert not any("sk-" in line for line in faults("name: sk-abcdef0123456789abcdef"))
        assert not any("sk-" in line for line in stage_faults("{kind: temporal.v1, offset: sk-abcdef0123456789abc}"))

    def test_keys_that_only_sound_secret(self) -> None:
        spec = parse_spec(
            f"{HEAD}example: {{query: x, filters: {{token: x}}}}\nstages: [{{kind: pruner.v1, max_tokens: 5}}]"
        )
        assert spec.example is not None
        assert spec.example.filters == {"token": "x"}

    def test_very_many_faults_are_counted(self) -> None:
        start = time.perf_counter()
        found = faults(HEAD + "stages: [{kind: pruner.v1}]\n" + "".join(f"stage{i}: 1\n" for i in range(9_000)))
        assert time.perf_counter() - start < 1.0
        assert len(found) == 101
        assert "8900 more faults are not listed" in found[-1]

    def test_every_field_refuses_every_wrong_type_in_words(self) -> None:
        schema = spec_schema()
        wrong = ["null", "true", "-5", "1.5", "1000000000000", "x y", "''", "[]", "[1]", "{}", "{zz: 1}"]
        kinds = schema["properties"]["stages"]["items"]["discriminator"]["mapping"]
        for kind, reference in kinds.items():
            for key in schema["$defs"][reference.rpartition("/")[2]]["properties"]:
                refused = [
                    value for value in wrong if key != "kind" and _is_refused(f"{{kind: {kind}, {key}: {value}}}")
                ]
                assert key == "kind" or len(refused) >= 6, (kind, key, refused)
        for key in schema["properties"]:
            assert all(faults(f"{key}: {value}") for value in wrong)


def _is_refused(stage: str) -> bool:
    text = f"{HEAD}stages:\n- {stage}\n"
    try:
        parse_spec(text)
    except SpecError:
        return bool(faults(text))
    return False


class TestFiles:
    def test_what_is_loaded(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "a.yaml").write_text(FINANCE, encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        loaded = load_spec("sub/a.yaml")
        assert loaded.spec == parse_spec(FINANCE)
        assert (loaded.path, loaded.folder) == (Path("sub/a.yaml"), tmp_path / "sub")
        assert loaded.sha256 == spec_sha256(loaded.spec)
        assert loaded.fault(("stages", 2, "weights"), "x; allowed: y") == (
            f"{Path('sub/a.yaml')}:18:14: stages[2].weights: x; allowed: y"
        )
        assert loaded.fault(("stages", 0, "b"), "x; y").endswith(":10:5: stages[0].b: x; y")

    def test_the_hash_is_of_the_meaning(self) -> None:
        same = "name: a\nstages: [{max_tokens: 1200, kind: pruner.v1}]  # x\nmemrank: 1\n"
        first = spec_sha256(parse_spec(f"{HEAD}stages:\n- kind: pruner.v1\n"))
        assert spec_sha256(parse_spec(same)) == first
        assert spec_sha256(parse_spec(same.replace("1200", "1201"))) != first
        assert re.fullmatch("[0-9a-f]{64}", first)

    @pytest.mark.parametrize(
        ("data", "expected"),
        [
            (b"", ":1:1: spec: the spec is empty"),
            (FINANCE.encode("utf-16"), ":1:1: spec: the text is UTF-16 or UTF-32; allowed: UTF-8"),
            (FINANCE.encode("utf-16-le"), ":1:2: spec: the character U+0000"),
            (b"a: 1\nb: \xff", ":2:4: spec: the byte 0xFF is not UTF-8"),
            ("a: é\r\nb: é".encode()[:-1], ":2:4: spec: the byte 0xC3 is not UTF-8"),
            (b"a: \xed\xa0\x80", ":1:4: spec: the byte 0xED is not UTF-8"),
            (b"\x89PNG\r\n\x1a\n\x00", ":1:1: spec: the byte 0x89"),
            (b"a: 1\n\x00", ":2:1: spec: the character U+0000"),
            (b"#" * (MAX_BYTES + 1), ":1:1: spec: the spec is too large; allowed: 256 KiB at the most"),
        ],
    )
    def test_bytes_that_are_no_spec(self, data: bytes, expected: str, tmp_path: Path) -> None:
        path = tmp_path / "a.yaml"
        path.write_bytes(data)
        with pytest.raises(SpecError) as caught:
            load_spec(path)
        assert len(caught.value.faults) == 1
        assert caught.value.faults[0].startswith(f"{path}{expected}")
        assert caught.value.hint
        assert caught.value.exit_status == 2

    def test_a_very_large_file_is_not_read(self, tmp_path: Path) -> None:
        path = tmp_path / "a.yaml"
        with path.open("wb") as stream:
            stream.truncate(100_000_000)
        start = time.perf_counter()
        with pytest.raises(SpecError, match="too large"):
            load_spec(path)
        assert time.perf_counter() - start < 0.5

    def test_a_very_large_text(self) -> None:
        with pytest.raises(SpecError, match="too large"):
            parse_spec("#" * (MAX_BYTES + 1))

    @pytest.mark.parametrize("name", ["missing.yaml", "-", "no/such/folder.yaml"])
    def test_a_missing_file(self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(SpecError) as caught:
            load_spec(name)
        assert caught.value.faults == (
            f"{Path(name)}:1:1: spec: there is no such file; allowed: the path of a YAML file",
        )
        assert caught.value.hint

    @pytest.mark.parametrize("name", ["a\0b", "x" * 5000])
    def test_a_path_that_cannot_be(self, name: str) -> None:
        with pytest.raises(SpecError, match=r":1:1: spec: ") as caught:
            load_spec(name)
        assert caught.value.faults[0].isprintable()

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(SpecError, match="this is a folder; allowed: a YAML file"):
            load_spec(tmp_path)

    @pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
    def test_what_could_wait_for_ever(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        for path in (tmp_path / "pipe", Path("/dev/null")):
            with pytest.raises(SpecError, match="this is no plain file; allowed: a YAML file"):
                load_spec(path)


class TestSchema:
    def test_is_a_schema_with_descriptions(self) -> None:
        schema = spec_schema()
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert schema["title"] == "memrank spec"
        assert "$id" not in schema
        for properties in _properties(schema):
            for key, entry in properties.items():
                assert "title" not in entry
                described = "description" in entry or key in ("relevance", "freshness", "importance", "authority")
                assert described, key

    def test_defaults_are_valid(self) -> None:
        schema = spec_schema()
        for properties in _properties(schema):
            for entry in properties.values():
                if "default" in entry:
                    checker = jsonschema.Draft202012Validator({**entry, "$defs": schema["$defs"]})
                    checker.validate(entry["default"])

    def test_is_a_copy(self) -> None:
        spec_schema()["title"] = "x"
        assert spec_schema()["title"] == "memrank spec"

    @pytest.mark.parametrize("text", [FINANCE, starter_spec("a"), *[path.read_text("utf-8") for path in SHIPPED]])
    def test_accepts_valid_specs(self, text: str) -> None:
        jsonschema.Draft202012Validator(spec_schema()).validate(as_data(text))

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("memrank: 1 ", "memrank: 2 "),
            ("memrank: 1 ", "memrank: true "),
            ("name: finance", "name: Finance"),
            ("review:", "revue:"),
            ("temporal.v1", "temporal.v2"),
            ("kind: pruner.v1, ", ""),
            ("top_k: 100", "top_k: '100'"),
            ("top_k: 100", "top_k: 0"),
            ("14d", "14 days"),
            ("24h", "24"),
            ("price: 1d", "price: 1"),
            ("zero  ", "none  "),
            ("0.6", "1.6"),
            ("max_tokens", "max_tokenz"),
            ("max: 0.15", "max: low"),
            ("lm: null", "lm: {}"),
        ],
    )
    def test_refuses_what_loading_refuses(self, old: str, new: str) -> None:
        text = FINANCE.replace(old, new, 1)
        assert faults(text)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(spec_schema()).validate(as_data(text))


def _properties(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for model in (schema, *schema["$defs"].values()):
        yield model.get("properties", {})


class TestStarter:
    def test_runs_as_it_is(self, tmp_path: Path) -> None:
        (tmp_path / "my-notes.yaml").write_text(starter_spec("my-notes"), encoding="utf-8")
        spec = load_spec(tmp_path / "my-notes.yaml").spec
        assert spec.name == "my-notes"
        assert spec.store is not None
        assert (spec.store.kind, spec.store.path) == ("jsonl.v1", "my-notes.memories.jsonl")
        assert spec.example is not None
        assert spec.example.as_of is not None
        assert len(spec.stages) == 4
        assert starter_spec("a").startswith("# yaml-language-server: $schema=memrank.schema.json\n")

    @pytest.mark.parametrize("name", ["a", "0", "1e3", "no", "null", "a_b-c", "x" * 64])
    def test_any_name_of_a_spec(self, name: str) -> None:
        assert parse_spec(starter_spec(name)).name == name

    @pytest.mark.parametrize("name", ["", "A", "a b", "-a", "a\n", "../a", "x" * 65, "é", "{name}"])
    def test_other_names(self, name: str) -> None:
        with pytest.raises(UsageError):
            starter_spec(name)

    def test_memories(self) -> None:
        memories = [json.loads(line) for line in starter_memories().splitlines()]
        ids = {memory["id"] for memory in memories}
        assert 8 <= len(memories) == len(ids) <= 10
        assert sum(not memory.keys() & {"created_at", "event_date"} for memory in memories) == 1
        assert [memory["superseded_by"] in ids for memory in memories if "superseded_by" in memory] == [True]


SHARES = st.floats(0, 1)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
WORDS = st.text("abyno1e_.:/- ", min_size=1, max_size=8)
DURATIONS = st.builds("{}{}".format, st.integers(1, 999), st.sampled_from(["s", "m", "h", "d", "w", "mo", "y"]))
PER_TYPE = DURATIONS | st.dictionaries(WORDS, DURATIONS, max_size=3).flatmap(
    lambda named: DURATIONS.map(lambda default: {**named, "default": default})
)
COUNTS = st.integers(1, 1_000_000)
METRICS = st.sampled_from(["recall@1", "R@1000", "P@3", "nDCG@10", "MRR", "MRR@5", "MAP", "stale@2", "latency_p95"])


def section(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


def kernels(name: str) -> st.SearchStrategy[dict[str, Any]]:
    values = {"half_life": PER_TYPE, "window": PER_TYPE, "scale": PER_TYPE}
    positive = st.floats(0, 100, exclude_min=True)
    fields = {key: values.get(key, positive) for key in sorted(KERNEL_FIELDS[name] - {"rate_per_hour"})}
    return st.fixed_dictionaries({"kind": st.just("temporal.v1"), "kernel": st.just(name), **fields})


STAGES = st.tuples(
    section(top_k=COUNTS, dense_weight=SHARES, future_tolerance=DURATIONS | st.just("0s")).map(
        lambda fields: {"kind": "prefilter.hybrid.v1", **fields}
    ),
    st.sampled_from(sorted(KERNEL_FIELDS)).flatmap(kernels),
    section(
        weights=SHARES.map(lambda share: {"relevance": share, "freshness": 1 - share}),
        min_score=SHARES,
        top_k=COUNTS | st.none(),
        stale_after=DURATIONS | st.none(),
        importance=section(
            boost=st.booleans(),
            rate_per_month=SHARES | st.fixed_dictionaries({"default": SHARES}, optional={"price": SHARES}),
            floor=st.floats(1, 4),
            ceiling=st.floats(4, 10),
        ),
    ).map(lambda fields: {"kind": "ranker.v1", **fields}),
    section(max_tokens=COUNTS, context=section(heading=TEXTS, footer=TEXTS, max_items=COUNTS)).map(
        lambda fields: {"kind": "pruner.v1", **fields}
    ),
)
SPECS = st.fixed_dictionaries(
    {"memrank": st.just(1), "name": st.from_regex(r"[a-z0-9][a-z0-9_-]{0,9}", fullmatch=True), "stages": STAGES},
    optional={
        "description": TEXTS,
        "lm": st.none(),
        "high_stakes": st.booleans(),
        "store": st.fixed_dictionaries({"kind": st.just("jsonl.v1"), "path": WORDS}),
        "example": st.fixed_dictionaries(
            {"query": WORDS},
            optional={"filters": st.dictionaries(TEXTS, TEXTS | st.lists(TEXTS, max_size=3), max_size=3)},
        ),
        "evaluate": st.fixed_dictionaries(
            {"evalset": WORDS, "gates": st.dictionaries(METRICS, st.fixed_dictionaries({"min": st.floats(-1e9, 1e9)}))}
        ),
    },
)


class TestDump:
    @given(SPECS)
    def test_loads_to_an_equal_spec(self, data: dict[str, Any]) -> None:
        spec = Spec.model_validate(data)
        again = parse_spec(dump_spec(spec))
        assert again == spec
        assert spec_sha256(again) == spec_sha256(spec)
        assert dump_spec(again) == dump_spec(spec)

    def test_holds_what_was_set(self) -> None:
        text = "memrank: 1\nname: a\nstages:\n- {kind: pruner.v1, max_tokens: 1200}\n"
        assert dump_spec(parse_spec(text)) == text


METRIC_NAMES = (
    *("recall@5", "R@1", "P@3", "nDCG@10", "MRR", "MRR@1000", "MAP", "MAE", "ECE", "Brier", "current_first"),
    *("stale@5", "must_not@10", "empty_ok", "latency_p50", "latency_p95", "latency_p99", "MAE_freshness", "leaks"),
    *("coverage", "risk", "sensitivity", "actions", "lm_calls", "lm_tokens", "cost_usd"),
    *("lm_sent", "lm_fallbacks", "lm_invalid", "lm_timeouts", "position_bias"),
)
WRONG_METRICS = (
    *("", "P", "P@0", "P@01", "P@1001", "P@-1", "P@k", "P@3\n", "p@3", "MAP@3", "mae", "ndcg@10", "NDCG@10"),
    *("latency_p9", "R@5,P@5", "P@٣", "P@3.0", "MAE_", "risk@1", "leak"),
)


def metric_spec(name: str) -> dict[str, Any]:
    stages = [{"kind": "prefilter.hybrid.v1"}, {"kind": "temporal.v1"}, {"kind": "ranker.v1"}]
    evaluate = {"evalset": "x", "gates": {name: {"min": 0.5}}}
    return {"memrank": 1, "name": "a", "stages": stages, "evaluate": evaluate, "compile": {"objective": name}}


class TestMetrics:
    @pytest.mark.parametrize("name", METRIC_NAMES)
    def test_one_list_for_gates_and_objective(self, name: str) -> None:
        spec = metric_spec(name)
        assert parse_spec(json.dumps(spec)).compile is not None
        jsonschema.Draft202012Validator(spec_schema()).validate(spec)

    @pytest.mark.parametrize("name", WRONG_METRICS)
    def test_another_name_is_a_fault_in_both_places(self, name: str) -> None:
        spec = metric_spec(name)
        found = faults(json.dumps(spec))
        assert len(found) == 2
        assert "evaluate.gates" in found[0]
        assert "compile.objective" in found[1]
        assert all("there is no such metric; allowed: recall@k" in line for line in found)
        if not name.endswith("\n"):  # `$` of a schema lets one pass
            errors = list(jsonschema.Draft202012Validator(spec_schema()).iter_errors(spec))
            assert {error.absolute_path[0] for error in errors} == {"evaluate", "compile"}
