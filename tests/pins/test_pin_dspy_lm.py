"""What the door to language models (memrank/remote, memrank/lmadapter.py) leans on in dspy, inside and outside."""

import gzip
import inspect
import json
import socket
import subprocess
import sys
import textwrap
from importlib.resources import files
from typing import Any

import dspy
import pytest
from dspy import lm15
from dspy._vendor.lm15.transports import ConnectError, ConnectTimeout, ReadTimeout, StdlibTransport, WriteTimeout
from dspy.clients.engines.lm15_engine import LM15Engine
from dspy.utils.exceptions import LMUnexpectedError

ANSWER = lm15.Response(
    id=None,
    model="m",
    message=lm15.Message(role="assistant", parts=(lm15.TextPart(text="fine"),)),
    finish_reason="stop",
    usage=lm15.Usage(input_tokens=1, output_tokens=1),
)


class _Engine:
    """Answers, and keeps what it was asked."""

    supports_response_schema = True
    supported_params = frozenset({"response_format"})

    def __init__(self, fault: Exception | None = None) -> None:
        self.asked: list[lm15.Request] = []
        self.fault = fault

    def complete(self, request: lm15.Request) -> lm15.Response:
        self.asked.append(request)
        if self.fault is not None:
            raise self.fault
        return ANSWER


def _lm(engine: _Engine) -> dspy.LM:
    return dspy.LM("local/m", engine=engine, cache=False, num_retries=0)


def test_an_engine_is_asked_once_a_call_without_limits_of_dspys_own() -> None:
    """`Engine.complete` sets temperature and max_tokens itself, where they are None."""
    engine = _Engine()
    assert _lm(engine)("Hello") == ["fine"]
    [request] = engine.asked
    assert (request.config.max_tokens, request.config.temperature, request.model) == (None, None, "local/m")
    assert [message.text for message in request.messages] == ["Hello"]


def test_what_an_engine_raises_is_the_cause_of_what_comes_out() -> None:
    """`Model.__call__` takes it out again."""
    fault = KeyError("ours")
    with pytest.raises(LMUnexpectedError) as raised:
        _lm(_Engine(fault))("Hello")
    assert raised.value.__cause__ is fault


def test_an_lm_may_override_its_call() -> None:
    """Overriding `forward` would be the deprecated way; `__call__` is not looked at."""

    class Own(dspy.LM):  # type: ignore[misc]
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return super().__call__(*args, **kwargs)

    assert Own("local/m", engine=_Engine(), cache=False)("Hello") == ["fine"]


def test_an_engine_says_itself_what_it_supports() -> None:
    lm = _lm(_Engine())
    assert lm.supports_response_schema
    assert lm.supported_params == {"response_format"}
    assert not lm.supports_function_calling


def test_a_call_of_a_custom_engine_fetches_no_price_list() -> None:
    """dspy fetches one from the network where it estimates the cost of a call of its own engines."""
    code = """
        import urllib.request, dspy
        from dspy import lm15
        def refuse(*a, **k): raise SystemExit("fetched")
        urllib.request.urlopen = refuse
        class Engine:
            def complete(self, request):
                part = lm15.TextPart(text="fine")
                return lm15.Response(id=None, model="m", message=lm15.Message(role="assistant", parts=(part,)),
                                     finish_reason="stop", usage=lm15.Usage(input_tokens=1, output_tokens=1))
        lm = dspy.LM("openai/gpt-4o-mini", engine=Engine(), cache=False)
        print(dspy.Predict("a -> b").forward and lm("Hello"))
        import sys
        print("litellm" in sys.modules, "dspy.clients.model_metadata" in sys.modules)
        from dspy.clients import model_metadata
        print(model_metadata._data)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:3] == ["['fine']", "False True", "None"]


def test_the_list_of_models_is_where_it_is_read() -> None:
    """`remote.known` reads it by name."""
    packed = files("dspy.clients.model_metadata").joinpath("snapshot.json.gz").read_bytes()
    entry = json.loads(gzip.decompress(packed))["gpt-4o-mini"]
    assert entry["litellm_provider"] == "openai"
    assert entry["supports_response_schema"] is True
    assert entry["input_cost_per_token"] < entry["output_cost_per_token"] < 1e-3


def test_the_transport_opens_connections_in_one_place() -> None:
    """`TimedTransport` overrides it, and puts its own socket in the place of what it finds."""
    names = ["self", "parsed", "proxy", "origin", "connect_timeout"]
    assert list(inspect.signature(StdlibTransport._open).parameters) == names
    with socket.create_server(("127.0.0.1", 0)) as server:
        from dspy._vendor.lm15.transports._url import parse_url

        parsed = parse_url(f"http://127.0.0.1:{server.getsockname()[1]}/")
        transport = StdlibTransport()
        connection = transport._open(parsed, proxy=None, origin=("http", "x", 1), connect_timeout=1.0)
        assert isinstance(connection.sock, socket.socket)
        connection.close()


def test_the_transport_uses_of_its_sockets_what_ours_have() -> None:
    """Anything else it called would fail on `TimedSocket`."""
    source = inspect.getsource(sys.modules[StdlibTransport.__module__])
    used = {part.split("(")[0] for part in source.split("conn.sock.")[1:]}
    assert used <= {"settimeout", "sendall", "recv", "close"}


def test_an_engine_uses_the_transport_it_is_given() -> None:
    """And asks nothing of the environment that it is not given."""

    class Refusing(StdlibTransport):  # type: ignore[misc]
        def stream(self, request: Any) -> Any:
            assert request.url == "http://127.0.0.1:1/v1/chat/completions"
            raise ConnectError("refused")

    access = lm15.AccessPolicy(provider="memrank-endpoint", base_url="http://127.0.0.1:1/v1")
    compat = lm15.OpenAIChatCompat.preset("vllm")
    server = lm15.ProviderDefinition.chat(access, compat=compat, placeholder_key="none")
    registered = lm15.registered_providers()
    engine = LM15Engine(lm15.RouterConfig(providers=(server,), transport=Refusing(), env={}), model_type="chat")
    request = lm15.Request(model="memrank-endpoint:some/model", messages=(lm15.Message.user("Hello"),))
    with pytest.raises(lm15.TransportError) as raised:
        engine.complete(request)
    assert isinstance(raised.value.__cause__, ConnectError)
    assert lm15.registered_providers() == registered


def test_timeouts_of_the_transport_are_told_apart() -> None:
    """`remote.faults` looks at the cause of a TransportError."""
    assert issubclass(ConnectTimeout, ConnectError)
    assert not issubclass(ReadTimeout, ConnectError)
    assert not issubclass(WriteTimeout, ConnectError)
    assert issubclass(lm15.TimeoutError, TimeoutError)


def test_signatures_are_told_apart_by_identity_and_their_text() -> None:
    """`LmAdapter` keeps what it builds by class, and looks at the docstring, which can be set in place."""
    one = dspy.Signature("a -> b", "Same.")
    other = dspy.Signature("a -> b", "Same.")
    assert one != other
    assert len({one, other}) == 2
    one.instructions = "Another."
    assert one.__doc__ == "Another."
