"""The suite is closed to the network: whatever a test reaches in this process, it reaches on this machine.

Nor does any test measure time: a busy machine fails nothing.
"""

import ipaddress
import socket
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("memrank", deadline=None)
settings.load_profile("memrank")

_LOCAL_NAMES = ("", "localhost")


def _is_local(address: object) -> bool:
    """Whether a socket address is of this machine: a path of a Unix socket, a loopback address or its name."""
    if not isinstance(address, tuple):
        return True
    host = address[0]
    if host is None or host in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False


class NetworkUsedError(RuntimeError):
    """No `OSError`, which a client would take for an outage and hide."""


def _guard(address: object) -> None:
    if not _is_local(address):
        raise NetworkUsedError(f"a test reached for the network: {address!r}")


@pytest.fixture(autouse=True, scope="session")
def closed_network() -> Iterator[None]:
    """Connections, datagrams and look-ups of names go to loopback, or fail the test."""
    connect, connect_ex, sendto = socket.socket.connect, socket.socket.connect_ex, socket.socket.sendto
    getaddrinfo = socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: object) -> None:
        _guard(address)
        connect(self, address)  # type: ignore[arg-type]

    def guarded_connect_ex(self: socket.socket, address: object) -> int:
        _guard(address)
        return connect_ex(self, address)  # type: ignore[arg-type]

    def guarded_sendto(self: socket.socket, *arguments: object) -> int:
        _guard(arguments[-1])
        return sendto(self, *arguments)  # type: ignore[call-overload,no-any-return]

    def guarded_getaddrinfo(host: object, *arguments: object, **named: object) -> object:
        _guard((host.decode() if isinstance(host, bytes) else host,))
        return getaddrinfo(host, *arguments, **named)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        patch.setattr(socket.socket, "sendto", guarded_sendto)
        patch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)
        yield
