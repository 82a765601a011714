"""The guard of conftest.py itself: it stops what leaves the machine and lets loopback through."""

import socket

import pytest


@pytest.mark.parametrize("address", [("203.0.113.7", 80), ("2001:db8::1", 80, 0, 0), ("example.invalid", 443)])
def test_other_machines_cannot_be_reached(address: tuple[object, ...]) -> None:
    with socket.socket(socket.AF_INET6 if len(address) == 4 else socket.AF_INET) as client:
        with pytest.raises(RuntimeError, match="reached for the network"):
            client.connect(address)
        with pytest.raises(RuntimeError, match="reached for the network"):
            client.connect_ex(address)


def test_datagrams_stay_here() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client, pytest.raises(RuntimeError, match="network"):
        client.sendto(b"x", ("203.0.113.7", 53))


@pytest.mark.parametrize("name", ["example.invalid", b"example.invalid", "203.0.113.7"])
def test_names_are_not_looked_up(name: str | bytes) -> None:
    with pytest.raises(RuntimeError, match="reached for the network"):
        socket.getaddrinfo(name, 80)


def test_loopback_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        peer, _ = server.accept()
        with peer:
            client.sendall(b"here")
            assert peer.recv(4) == b"here"
