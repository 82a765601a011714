"""One model of a spec, ready to be asked: where it is, by which key, what it can do and what it costs."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from dspy import lm15
from dspy.clients.engines.lm15_engine import LM15Engine

from memrank.errors import LmRefused, UsageError
from memrank.remote.breaker import Breaker
from memrank.remote.known import Known, known
from memrank.remote.wire import TimedTransport
from memrank.speclm import ModelSpec

SERVER = "memrank-endpoint"
"""The provider that every endpoint is, inside dspy's client; known to this client alone."""
SHORTEST_KEY = 8
"""Characters from which a key is looked for in texts: shorter ones (`none`, `test`) are words."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Target:
    """A model and its connections. Raises UsageError where its name leads nowhere."""

    def __init__(self, spec: ModelSpec, environ: Mapping[str, str], clock: Callable[[], float]) -> None:
        self.spec = spec
        self.name = spec.model
        self.breaker = Breaker(clock)
        self._environ = _Unshown(environ)
        self.variable = spec.api_key_env
        """The environment variable that the key stands in; the provider's own where the spec names none."""
        self._key = _key(environ, self.variable)
        self._known = Known() if spec.endpoint is not None else known(spec.model)
        self._transport = TimedTransport(trust_env=urlsplit(spec.endpoint or "").hostname not in LOOPBACK)
        self._engine = LM15Engine(self._config(), model_type="chat")
        self._wire_model = f"{SERVER}:{self.name.partition('/')[2]}" if spec.endpoint is not None else self.name
        if spec.endpoint is None:
            self._find_provider()

    @property
    def response_schema(self) -> bool:
        """Whether a JSON schema is sent; False where nothing is known."""
        stated = self.spec.response_schema
        return stated if stated is not None else self._known.response_schema is True

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """USD of so many tokens; None where the price is not known."""
        price = self.spec.price
        if price is not None:
            return (tokens_in * price.input + tokens_out * price.output) / 1e6
        if self._known.input_usd is None or self._known.output_usd is None:
            return None
        return tokens_in * self._known.input_usd + tokens_out * self._known.output_usd

    def complete(self, request: lm15.Request) -> lm15.Response:
        """Ask, once, within the deadline of `wire.CURRENT`. Raises LmRefused without a key, else one of `FOREIGN`."""
        if self.spec.api_key_env is not None and not self._key:
            hint = f"set the environment variable {self.spec.api_key_env}"
            raise LmRefused(f"{self.name}: the key is missing", hint=hint)
        if not (self._key.isascii() and self._key.isprintable()):
            hint = f"look at the environment variable {self.variable}"
            raise LmRefused(f"{self.name}: the key holds characters that no key can hold", hint=hint)
        sent = replace(request, model=self._wire_model)
        if not self.response_schema and request.config.response_format is not None:
            sent = replace(sent, config=replace(request.config, response_format=None))
        return self._engine.complete(sent)

    def hidden(self, text: str) -> str:
        """The text without the key, should anybody have written it there."""
        return text.replace(self._key, "[removed]") if len(self._key) >= SHORTEST_KEY else text

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def _config(self) -> lm15.RouterConfig:
        settings: dict[str, Any] = {"transport": self._transport, "env": self._environ}
        if self.spec.endpoint is None:
            return lm15.RouterConfig(**settings)
        access = lm15.AccessPolicy(provider=SERVER, base_url=self.spec.endpoint)
        compat = lm15.OpenAIChatCompat.preset("vllm")
        server = lm15.ProviderDefinition.chat(access, compat=compat, placeholder_key="none")
        keys = {SERVER: self._key} if self._key else None
        return lm15.RouterConfig(providers=(server,), api_keys=keys, **settings)

    def _find_provider(self) -> None:
        try:
            found = self._engine.resolve(self.name)
        except (lm15.LM15Error, ValueError):
            hint = "such as openai/gpt-4o-mini; or give the lm.endpoint of a server"
            raise UsageError(f"lm.model: {self.name} names no provider that is known", hint=hint) from None
        if self.variable is None:
            named = _variables(found.provider)
            self.variable = next((name for name in named if _key(self._environ, name)), next(iter(named), None))
            self._key = _key(self._environ, self.variable)
        if self._key:
            config = replace(self._engine.config, api_keys={found.provider: self._key})
            self._engine = LM15Engine(config, model_type="chat")


class _Key(str):
    """A key, which tracebacks and debuggers that show values do not show."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<a key>"


class _Unshown(dict[str, str]):
    """Variables of the environment, of which the same holds."""

    def __repr__(self) -> str:
        return "<the environment>"


def _key(environ: Mapping[str, str], variable: str | None) -> _Key:
    """The key in a variable, without the line end that `$(cat FILE)` or a copy may leave; empty where there is none."""
    return _Key(environ.get(variable, "").strip() if variable is not None else "")


def _variables(provider: str) -> tuple[str, ...]:
    from dspy._vendor.lm15.registry import lookup

    definition = lookup(provider)
    return tuple(definition.access.env_keys) if definition is not None else ()
