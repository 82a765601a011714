"""The one seam where what dspy's client raises becomes an error of memrank's. What a server says is never quoted.

Servers repeat keys and prompts in their errors; a message of ours holds the model, a status and nothing else of it.
"""

from dspy import lm15
from dspy._vendor.lm15.transports import ConnectError, ConnectTimeout, ReadTimeout, WriteTimeout

from memrank.errors import LmBroken, LmError, LmLimited, LmRefused, LmServerError, LmTimeout, LmUnreachable

FOREIGN = (lm15.LM15Error, OSError, ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""What a call may raise. All but the first two come from reading an answer that is none."""


def translated(fault: Exception, model: str, variable: str | None) -> LmError:
    """The error of memrank's for one of FOREIGN. `variable` is the environment variable that holds the key."""
    if isinstance(fault, lm15.TransportError):
        return _of_transport(fault.__cause__, model)
    if isinstance(fault, TimeoutError):  # ours, of the operating system, and of a server that says so (408, 504)
        return timeout(model)
    if isinstance(fault, OSError):
        return LmUnreachable(f"{model}: the connection broke")
    if isinstance(fault, (lm15.AuthError, lm15.BillingError, lm15.ConfigurationError)):
        return _refused(fault, model, variable)
    if isinstance(fault, lm15.RateLimitError):
        return LmLimited(f"{model}: the server limits the rate of calls")
    if isinstance(fault, lm15.UnsupportedModelError) or getattr(fault, "status", None) in (404, 405):
        hint = "look at lm.model and lm.endpoint"
        return LmRefused(f"{model}: the server knows no such model or address{_status(fault)}", hint=hint)
    if isinstance(fault, lm15.ServerError) or (isinstance(fault, lm15.ProviderError) and _failed(fault)):
        return LmServerError(f"{model}: the server failed{_status(fault)}")
    if isinstance(fault, lm15.CapabilityError):
        return LmBroken(f"{model}: the provider has no such call, or gave several answers at once")
    if isinstance(fault, lm15.ProviderError) and not _succeeded(fault):
        return LmBroken(f"{model}: the server does not take the request{_status(fault)}")
    return LmBroken(f"{model}: the endpoint did not answer as an OpenAI-compatible server", hint=ADDRESS)


ADDRESS = "lm.endpoint must lead to such a server; its address mostly ends in /v1"


def timeout(model: str) -> LmTimeout:
    """The time of a call is up."""
    return LmTimeout(f"{model}: no answer within the deadline", hint="raise lm.deadline, or lower lm.batch")


def _of_transport(cause: BaseException | None, model: str) -> LmError:
    if isinstance(cause, (ReadTimeout, WriteTimeout, ConnectTimeout)):
        return timeout(model)
    if isinstance(cause, ConnectError):
        return LmUnreachable(f"{model}: no connection to the server", hint="is it running? look at lm.endpoint")
    return LmUnreachable(f"{model}: the connection broke")


def _refused(fault: lm15.LM15Error, model: str, variable: str | None) -> LmRefused:
    if isinstance(fault, lm15.BillingError):
        return LmRefused(f"{model}: the server asks for payment{_status(fault)}")
    if isinstance(fault, lm15.NotConfiguredError):
        missing = "is not set" if variable else "is needed: lm.api_key_env names its variable"
        return LmRefused(f"{model}: the key is missing", hint=f"{variable or 'a key'} {missing}")
    if isinstance(fault, lm15.ConfigurationError):
        return LmRefused(f"{model}: the provider is not set up", hint="look at lm.model, lm.endpoint, lm.api_key_env")
    named = f"the environment variable {variable} holds it" if variable else "lm.api_key_env names its variable"
    return LmRefused(f"{model}: the server refuses the key{_status(fault)}", hint=named)


def _status(fault: Exception) -> str:
    status = getattr(fault, "status", None)
    return f" (HTTP {status})" if isinstance(status, int) else ""


def _succeeded(fault: lm15.ProviderError) -> bool:
    """Whether the server said that all is well: a web page, say, in the place of an answer."""
    return isinstance(fault.status, int) and 200 <= fault.status < 300


def _failed(fault: lm15.ProviderError) -> bool:
    return isinstance(fault.status, int) and fault.status >= 500
