"""One call: what a server may do, what comes of it, how often it is asked, and what is counted."""

import json
import pickle
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import dspy
import pytest
from dspy._vendor.lm15.transports import ConnectError
from dspy._vendor.lm15.transports._types import TransportRequest
from remote.modelserver import (
    Act,
    ask,
    closed_port,
    completion,
    cuts,
    drips,
    hangs,
    http,
    raw,
    resets,
    says,
    serving,
    status,
)

from memrank.errors import (
    LmBroken,
    LmBudget,
    LmError,
    LmLimited,
    LmRefused,
    LmServerError,
    LmTimeout,
    LmUnreachable,
    UsageError,
)
from memrank.remote import Counts, Remote
from memrank.remote.wire import TimedTransport
from memrank.speclm import LmSpec

Make = Callable[..., Remote]

HTML = http(b"<html>Sign in to the hotel's network</html>", kind="text/html")
DOOMSDAY = "Fri, 31 Dec 2100 23:59:59 GMT"
CUT = http(completion("fine"))[:-20]


def test_an_answer_is_given_and_counted(remote: Make) -> None:
    with serving(says("fine")) as server:
        reading = remote(server.endpoint, price={"input": 2, "output": 10}).reading()
        assert ask(reading.lm) == "fine"
    assert reading.counts == Counts(calls=1, tokens_in=100, tokens_out=10, cost_usd=pytest.approx(300e-6))
    [call] = reading.calls
    assert (call.model, call.attempt, call.outcome, call.tokens_in, call.tokens_out) == (
        "local/m",
        1,
        "answered",
        100,
        10,
    )
    assert reading.remote.counts == reading.counts


def test_what_is_sent(remote: Make) -> None:
    with serving(says("fine")) as server:
        made = remote(server.endpoint, api_key_env="THE_KEY", environ={"THE_KEY": "sk-1"}, max_tokens=77)
        ask(made.reading().lm)
    assert server.bodies == [
        {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 77, "temperature": 0.0}
    ]
    assert "Authorization: Bearer sk-1" in server.heads[0]
    assert server.heads[0].startswith("POST /v1/chat/completions ")


def test_without_a_key_no_key_of_the_environment_is_sent(remote: Make) -> None:
    with serving(says("fine")) as server:
        ask(remote(server.endpoint, environ={"OPENAI_API_KEY": "sk-other"}).reading().lm)
    assert "sk-other" not in server.heads[0]


def test_temperature_may_be_left_to_the_provider(remote: Make) -> None:
    with serving(says("fine")) as server:
        ask(remote(server.endpoint, temperature=None).reading().lm)
    assert "temperature" not in server.bodies[0]


def test_tokens_are_estimated_where_the_server_counts_none(remote: Make) -> None:
    with serving(says("x" * 40, usage=False)) as server:
        reading = remote(server.endpoint).reading()
        ask(reading.lm)
    assert (reading.counts.tokens_in, reading.counts.tokens_out) == (2, 10)
    assert (reading.counts.cost_usd, reading.counts.unpriced) == (0.0, 1)


@pytest.mark.parametrize(
    ("act", "error", "calls"),
    [
        pytest.param(status("500 Oops"), LmServerError, 2, id="500"),
        pytest.param(status("503 Busy"), LmServerError, 2, id="503"),
        pytest.param(status("529 Overloaded"), LmServerError, 2, id="529"),
        pytest.param(status("504 Late"), LmTimeout, 2, id="504"),
        pytest.param(status("429 Slow down"), LmLimited, 2, id="429"),
        pytest.param(status("429 Slow down", headers="Retry-After: 0\r\n"), LmLimited, 2, id="429-now"),
        pytest.param(status("429 Slow down", headers="Retry-After: 1e9\r\n"), LmLimited, 1, id="429-absurd"),
        pytest.param(status("503 Busy", headers="Retry-After: 86400\r\n"), LmServerError, 1, id="503-tomorrow"),
        pytest.param(status("503 Busy", headers="Retry-After: -5\r\n"), LmServerError, 2, id="503-past"),
        pytest.param(status("503 Busy", headers="Retry-After: nan\r\n"), LmServerError, 2, id="503-nan"),
        pytest.param(status("503 Busy", headers="Retry-After: soon\r\n"), LmServerError, 2, id="503-soon"),
        pytest.param(status("503 Busy", headers=f"Retry-After: {DOOMSDAY}\r\n"), LmServerError, 1, id="503-date"),
        pytest.param(status("401 Who?"), LmRefused, 1, id="401"),
        pytest.param(status("403 No"), LmRefused, 1, id="403"),
        pytest.param(status("402 Pay"), LmRefused, 1, id="402"),
        pytest.param(status("404 What?"), LmRefused, 1, id="404"),
        pytest.param(status("400 Eh?"), LmBroken, 1, id="400"),
        pytest.param(status("413 Too much"), LmBroken, 1, id="413"),
        pytest.param(status("302 Elsewhere", headers="Location: /v2\r\n", body=b"<html>"), LmBroken, 1, id="302"),
        pytest.param(status("200 OK"), LmServerError, 2, id="error-with-200"),
        pytest.param(resets, LmUnreachable, 2, id="reset"),
        pytest.param(cuts(CUT), LmUnreachable, 2, id="cut"),
        pytest.param(cuts(b"SSH-2.0-OpenSSH_9.6\r\n"), LmUnreachable, 2, id="not-http"),
        pytest.param(raw(HTML), LmBroken, 1, id="html"),
        pytest.param(raw(http(b"")), LmBroken, 1, id="nothing"),
        pytest.param(raw(http(b"[]")), LmBroken, 1, id="list"),
        pytest.param(raw(http(b"{}")), LmBroken, 1, id="no-choices"),
        pytest.param(raw(http(b'{"choices": []}')), LmBroken, 1, id="empty-choices"),
        pytest.param(raw(http(b'{"choices": {}}')), LmBroken, 1, id="odd-choices"),
        pytest.param(raw(http(b'{"choices": [{"message": {"content": null}}]}')), LmBroken, 1, id="null"),
        pytest.param(raw(http(b'{"choices": [{}], "usage": [1]}')), LmBroken, 1, id="odd-usage"),
        pytest.param(raw(http(completion("x").replace(b": 100", b": 1e999"))), LmBroken, 1, id="endless-usage"),
        pytest.param(raw(http(b"[" * 200_000)), LmBroken, 1, id="deep"),
        pytest.param(raw(http(b'"\xff\xfe"')), LmBroken, 1, id="no-utf-8"),
        pytest.param(raw(http(b" " * (9 * 2**20))), LmBroken, 1, id="endless"),
        pytest.param(says(""), LmBroken, 1, id="empty"),
        pytest.param(says(" \n"), LmBroken, 1, id="blank"),
        pytest.param(says('{"a": 0.', finish="length"), LmBroken, 1, id="truncated"),
        pytest.param(says("I cannot", finish="content_filter"), LmBroken, 1, id="filtered"),
    ],
)  # fmt: skip
def test_what_goes_wrong(act: Act, error: type[LmError], calls: int, remote: Make) -> None:
    with serving(act) as server:
        reading = remote(server.endpoint, api_key_env="THE_KEY", environ={"THE_KEY": "sk-secret-key"}).reading()
        with pytest.raises(error) as raised:
            ask(reading.lm)
    assert len(server.bodies) == reading.counts.calls == len(reading.calls) == calls
    assert {call.outcome for call in reading.calls} == {error.code}
    told = f"{raised.value} {raised.value.__cause__!r}"
    assert "sk-secret-key" not in told
    assert "Hello" not in told
    if error is LmRefused and "(HTTP 40" in told and "404" not in told and "402" not in told:
        assert "THE_KEY" in told


@pytest.mark.parametrize("first", [status("500 Oops"), status("429 Slow"), resets, cuts(CUT)])
def test_a_second_try_may_help(first: Act, remote: Make) -> None:
    with serving(first, says("fine")) as server:
        reading = remote(server.endpoint).reading()
        assert ask(reading.lm) == "fine"
    assert [call.attempt for call in reading.calls] == [1, 2]
    assert (reading.counts.calls, reading.counts.failures) == (2, 1)


def test_retries_are_what_the_spec_says(remote: Make) -> None:
    with serving(status("500 Oops")) as server:
        for retries in (0, 3):
            reading = remote(server.endpoint, retries=retries).reading()
            with pytest.raises(LmServerError):
                ask(reading.lm)
            assert reading.counts.calls == retries + 1


DRIPPED = [drips(http(completion("fine") * 40)), drips(b"HTTP/1.1 200 OK\r\n" + b"X-Slow: yes\r\n" * 100), hangs]


@pytest.mark.parametrize("act", DRIPPED, ids=["body", "head", "silent"])
def test_the_deadline_of_a_call_is_a_true_one(act: Act, remote: Make) -> None:
    with serving(act) as server:
        reading = remote(server.endpoint, deadline="0.15s", retries=0).reading()
        started = time.perf_counter()
        with pytest.raises(LmTimeout, match="deadline"):
            ask(reading.lm)
        assert time.perf_counter() - started < 1.5
    assert (reading.counts.calls, reading.counts.timeouts) == (1, 1)


def test_the_deadline_of_a_read_bounds_all_its_tries(remote: Make) -> None:
    with serving(hangs) as server:
        reading = remote(server.endpoint, retries=5).reading(deadline=0.2)
        started = time.perf_counter()
        with pytest.raises(LmTimeout):
            ask(reading.lm)
        assert time.perf_counter() - started < 1.5
        with pytest.raises(LmTimeout):
            ask(reading.lm)
    assert (len(server.bodies), reading.counts.calls, reading.counts.refused) == (1, 1, 1)
    assert reading.is_over


def test_no_try_is_waited_for_that_would_come_too_late(remote: Make) -> None:
    with serving(status("500 Oops")) as server:
        reading = remote(server.endpoint, retry_wait="100s").reading()
        with pytest.raises(LmServerError):
            ask(reading.lm)
    assert reading.counts.calls == 1


def test_the_budget_of_a_read_holds_before_the_call(remote: Make) -> None:
    with serving(status("500 Oops")) as server:
        made = remote(server.endpoint, retries=5, max_calls=3)
        reading = made.reading()
        with pytest.raises(LmBudget, match="this read") as raised:
            ask(reading.lm)
        assert raised.value.hint == "raise lm.max_calls"
        assert (len(server.bodies), reading.counts.calls, reading.counts.refused) == (3, 3, 1)
        few = made.reading(max_calls=1)
        with pytest.raises(LmBudget):
            ask(few.lm)
    assert few.counts.calls == 1


@pytest.mark.parametrize(
    ("limit", "calls", "named"),
    [
        ({"max_calls_per_run": 2}, 2, "calls"),
        ({"max_tokens_per_run": 400, "max_tokens": 100}, 3, "tokens"),
        ({"max_cost_per_run": 0.003, "max_tokens": 100, "price": {"input": 10, "output": 0}}, 3, "cost"),
    ],
)
def test_the_budget_of_a_run_is_shared_by_its_reads(
    limit: dict[str, object], calls: int, named: str, remote: Make
) -> None:
    with serving(says("fine")) as server:
        made = remote(server.endpoint, **limit)
        for _ in range(calls):
            ask(made.reading().lm)
        with pytest.raises(LmBudget, match=f"the {named} of this run are spent") as raised:
            ask(made.reading().lm)
    assert f"lm.max_{named}_per_run" in str(raised.value.hint)
    assert len(server.bodies) == made.counts.calls == calls


def test_a_limit_on_cost_needs_a_price(remote: Make) -> None:
    with pytest.raises(UsageError, match="price of local/m is not known"):
        remote("http://127.0.0.1:1", max_cost_per_run=1.0)


def test_a_missing_key_is_named_and_nothing_is_sent(remote: Make) -> None:
    with serving(says("fine")) as server:
        reading = remote(server.endpoint, api_key_env="NOT_THERE").reading()
        with pytest.raises(LmRefused) as raised:
            ask(reading.lm)
    assert "NOT_THERE" in str(raised.value)
    assert server.connections == reading.counts.calls == len(reading.calls) == 0


def test_a_line_end_is_no_part_of_a_key(remote: Make) -> None:
    with serving(says("fine")) as server:
        ask(remote(server.endpoint, api_key_env="K", environ={"K": " sk-1\r\n"}).reading().lm)
    assert "Authorization: Bearer sk-1\r\n" in server.heads[0] + "\r\n"


@pytest.mark.parametrize("key", ["sk-1\nHost: evil", "sk-\u20ac", "sk-\x00"])
def test_a_key_that_no_header_can_hold_is_refused(key: str, remote: Make) -> None:
    with serving(says("fine")) as server:
        reading = remote(server.endpoint, api_key_env="K", environ={"K": key}).reading()
        with pytest.raises(LmRefused, match="characters") as raised:
            ask(reading.lm)
    assert "variable K" in str(raised.value)
    assert "sk-" not in str(raised.value)
    assert server.connections == 0


def test_what_was_sent_counts_where_no_answer_came(remote: Make) -> None:
    with serving(hangs) as server:
        reading = remote(server.endpoint, deadline="0.05s", retries=0, price={"input": 5, "output": 5}).reading()
        with pytest.raises(LmTimeout):
            ask(reading.lm)
    assert (reading.counts.tokens_in, reading.counts.cost_usd) == (2, pytest.approx(10e-6))


def test_the_key_of_a_known_provider_is_looked_for_in_what_was_given() -> None:
    made = Remote(LmSpec(model="openai/gpt-4o-mini"), environ={})
    with pytest.raises(LmRefused) as raised:
        ask(made.reading().lm)
    assert "OPENAI_API_KEY" in str(raised.value)
    assert made.counts.calls == 0
    assert made.targets[0].response_schema
    assert made.targets[0].cost(1_000_000, 0) == pytest.approx(0.15)


def test_an_unknown_provider_is_a_mistake_of_the_spec() -> None:
    with pytest.raises(UsageError, match="nobody/knows") as raised:
        Remote(LmSpec(model="nobody/knows"), environ={})
    assert "endpoint" in str(raised.value)


def test_a_schema_is_sent_where_the_spec_says_that_it_is_kept_to(remote: Make) -> None:
    assert remote("http://127.0.0.1:1", response_schema=True).reading().lm.supports_response_schema
    assert not remote("http://127.0.0.1:1").reading().lm.supports_response_schema


class _Refusing:
    """Counts the connections that are tried."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tried = 0
        real = socket.create_connection

        def create(*args: object, **kwargs: object) -> socket.socket:
            self.tried += 1
            return real(*args, **kwargs)  # type: ignore[arg-type]

        monkeypatch.setattr(socket, "create_connection", create)


def test_a_server_that_is_down_is_tried_once(remote: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = _Refusing(monkeypatch)
    made = remote(f"http://127.0.0.1:{closed_port()}/v1", retries=5)
    for _ in range(20):
        with pytest.raises(LmUnreachable):
            ask(made.reading().lm)
    assert (refusing.tried, made.counts.calls, made.counts.refused) == (1, 1, 19)


def test_many_calls_at_once_learn_from_the_first_that_it_is_down(remote: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = _Refusing(monkeypatch)
    reading = remote(f"http://127.0.0.1:{closed_port()}/v1").reading()
    answers = reading.map([ask] * 16)
    assert {getattr(answer, "reason", answer) for answer in answers} == {"unreachable"}
    assert (refusing.tried, reading.counts.calls, reading.counts.failures) == (1, 1, 1)


def test_it_is_tried_again_once_a_window(remote: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = _Refusing(monkeypatch)
    shift = [0.0]
    spec = LmSpec(model="local/m", endpoint=f"http://127.0.0.1:{closed_port()}/v1")
    made = Remote(spec, environ={}, clock=lambda: time.monotonic() + shift[0])
    for window in range(1, 4):
        for _ in range(3):
            made.reading().map([ask] * 4)
        assert refusing.tried == window
        shift[0] += 31


def test_a_server_that_comes_back_is_used_again() -> None:
    shift = [0.0]
    with serving(*[status("500 Oops")] * 10, says("fine")) as server:
        spec = LmSpec(model="local/m", endpoint=server.endpoint, retries=0)
        made = Remote(spec, environ={}, clock=lambda: time.monotonic() + shift[0])
        for _ in range(10):
            with pytest.raises(LmServerError):
                ask(made.reading().lm)
        with pytest.raises(LmUnreachable, match="left alone"):
            ask(made.reading().lm)
        shift[0] += 31
        assert made.reading().map([ask] * 3).count("fine") >= 1
        assert made.reading().map([ask] * 3) == ["fine"] * 3
        made.close()


@pytest.mark.parametrize(
    ("model", "url", "limit"),
    [
        ("openai/gpt-4o-mini", "https://api.openai.com/v1/chat/completions", "max_completion_tokens"),
        ("openai/gpt-5-mini", "https://api.openai.com/v1/chat/completions", "max_completion_tokens"),
        ("anthropic/claude-sonnet-4-5", "https://api.anthropic.com/v1/messages", "max_tokens"),
        ("groq/llama-3.1-8b-instant", "https://api.groq.com/openai/v1/chat/completions", "max_tokens"),
    ],
)
def test_known_providers_are_reached_natively(
    model: str, url: str, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[TransportRequest] = []

    def stream(transport: TimedTransport, request: TransportRequest) -> None:
        sent.append(request)
        raise ConnectError("not from here")

    monkeypatch.setattr(TimedTransport, "stream", stream)
    spec = LmSpec(model=model, api_key_env="MY_KEY", temperature=None, max_tokens=77, retries=0)
    with pytest.raises(LmUnreachable):
        ask(Remote(spec, environ={"MY_KEY": "sk-1", "OPENAI_API_KEY": "sk-other"}).reading().lm)
    [request] = sent
    assert request.url == url
    assert any("sk-1" in value for _, value in request.headers)
    assert not any("sk-other" in value for _, value in request.headers)
    body = json.loads(request.body)
    assert (body["model"], body[limit]) == (model.partition("/")[2], 77)


def test_failures_in_a_row_open_the_breaker(remote: Make) -> None:
    with serving(status("500 Oops")) as server:
        made = remote(server.endpoint, retries=0)
        for _ in range(20):
            with pytest.raises((LmServerError, LmUnreachable)):
                ask(made.reading().lm)
    assert len(server.bodies) == 10


def test_calls_cut_short_by_their_read_do_not(remote: Make) -> None:
    with serving(hangs) as server:
        made = remote(server.endpoint)
        for _ in range(8):
            with pytest.raises(LmTimeout):
                ask(made.reading(deadline=0.02).lm)
        assert made.targets[0].breaker.admits()


def test_the_next_model_is_asked_where_one_fails(remote: Make) -> None:
    with serving(status("500 Oops")) as bad, serving(says("second")) as good:
        second = {"model": "local/other", "endpoint": good.endpoint}
        reading = remote(bad.endpoint, response_schema=True, fallbacks=[second]).reading()
        format_ = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}, "strict": True}}
        assert reading.lm("Hello", response_format=format_) == ["second"]
    assert len(bad.bodies) == 2
    assert "response_format" in bad.bodies[0]
    assert [(body["model"], "response_format" in body) for body in good.bodies] == [("other", False)]
    assert [call.model for call in reading.calls] == ["local/m", "local/m", "local/other"]


def test_connections_are_kept(remote: Make) -> None:
    with serving(says("fine")) as server:
        made = remote(server.endpoint)
        for _ in range(5):
            ask(made.reading().lm)
    assert server.connections == 1


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="descriptors are counted by /proc")
def test_calls_that_fail_leave_no_descriptors(remote: Make) -> None:
    with serving(*[resets, cuts(CUT), status("500 Oops"), raw(HTML)] * 25) as server:
        made = remote(server.endpoint, retries=0)
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(100):
            made.targets[0].breaker.succeeded()
            with pytest.raises(LmError):
                ask(made.reading().lm)
        assert len(list(Path("/proc/self/fd").iterdir())) <= before + 4


def test_keys_stand_in_no_representation(remote: Make) -> None:
    made = remote("http://127.0.0.1:1", api_key_env="K", environ={"K": "sk-secret-key"})
    reading = made.reading()
    target = made.targets[0]
    for thing in (*(vars(one) for one in (made, reading, reading.lm, target)), target._engine.config):
        assert "sk-secret-key" not in repr(thing)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(made)


def test_litellm_is_not_imported(remote: Make) -> None:
    with serving(says("fine")) as server:
        ask(remote(server.endpoint).reading().lm)
    assert "litellm" not in sys.modules


def test_errors_come_through_predictors_as_they_are(remote: Make) -> None:
    with serving(status("401 Who?")) as server:
        reading = remote(server.endpoint).reading()
        with pytest.raises(LmRefused):
            dspy.Predict("question -> answer")(question="?", lm=reading.lm)
