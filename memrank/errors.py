"""The whole error tree: every error that memrank raises on purpose, with its code, exit status and way out.

Errors of other libraries are translated into these at one seam each (YAML in `yamltext`, pydantic in `specfaults`,
SQLite in `stores.sqlite_door`, models in `remote.faults`), and what a scorer of the user's raises by `scoring`, here.
Anything else that escapes is a defect of memrank, and is meant to show its traceback.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar


class MemrankError(Exception):
    """Base of all errors that memrank raises on purpose.

    `code` is a stable snake_case name, `exit_status` what the command line exits with, `hint` the way out.
    """

    code: ClassVar[str] = "error"
    exit_status: ClassVar[int] = 2

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message


class UsageError(MemrankError):
    """The call itself is wrong: an empty query, an unknown filter, options that exclude each other."""

    code = "usage"


class DependencyError(MemrankError):
    """A package that the spec calls for is not installed, or is another version than memrank reads."""

    code = "dependency"


class SpecError(MemrankError):
    """A spec is wrong. `faults` holds every fault found, each `file:line:column: path: what; what is allowed`."""

    code = "spec"

    def __init__(self, faults: Sequence[str], *, hint: str | None = None) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(self.faults), hint=hint)


class DataError(MemrankError):
    """Input data is wrong: a file that is missing or unreadable, a record that cannot be used."""

    code = "data"
    exit_status = 3


class NamespaceError(DataError):
    """The namespace is missing where a store has several, or the store does not know it. Never answered by a merge."""

    code = "namespace"


class StoreError(DataError):
    """A store cannot be opened, read or written."""

    code = "store"


class ServiceError(MemrankError):
    """A model or a remote service failed and the caller asked not to go on without it."""

    code = "service"
    exit_status = 4


class LmError(ServiceError):
    """A language model did not answer, or not in a way that can be used. Never with a key or the text of a prompt."""

    code = "lm"

    retry_after: float | None = None
    """Seconds that the server asks to wait."""


class LmTimeout(LmError):
    """The model took longer than a call or a read may take."""

    code = "lm_timeout"


class LmUnreachable(LmError):
    """No connection to the model's server, a connection that broke, or one that failed too often to be tried again."""

    code = "lm_unreachable"


class LmRefused(LmError):
    """The server refuses to serve this key or this model: trying again is of no use. The hint names the variable."""

    code = "lm_refused"


class LmLimited(LmError):
    """The server asks to wait longer than the read may take."""

    code = "lm_limited"


class LmServerError(LmError):
    """The model's server failed."""

    code = "lm_server"


class LmBudget(LmError):
    """The calls, tokens or dollars that a read or a run may use are spent; nothing was sent."""

    code = "lm_budget"


class LmBroken(LmError):
    """What came is no answer: cut by the token limit, empty, a web page, or a request that the server cannot read."""

    code = "lm_broken"


class ScorerError(MemrankError):
    """A scorer that was plugged in raised what is no error of memrank's; `__cause__` is what it raised."""

    code = "scorer"
    exit_status = 4


@contextmanager
def scoring(scorer: object) -> Iterator[None]:
    """Around a call of a scorer that is the user's: ScorerError, with its name, for what it raises on its own.

    What it raises of this tree stays as it is. The message quotes nothing: it may hold the text of memories.
    """
    try:
        yield
    except MemrankError:
        raise
    except Exception as fault:
        name = getattr(scorer, "__qualname__", type(scorer).__qualname__)
        raise ScorerError(
            f"the scorer {name[:80]} raised {type(fault).__name__}",
            hint="mend it; where the model that it asks is away, it should raise memrank.ServiceError",
        ) from fault
