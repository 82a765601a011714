"""A server on loopback that speaks just enough of chat completions, and fails as it is told to, call by call."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import dspy

Act = Callable[["Server", socket.socket], None]


@dataclass
class Server:
    """What it was sent, and what it does next: the acts in turn, the last one for good."""

    port: int
    acts: list[Act]
    bodies: list[dict[str, Any]] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    connections: int = 0
    closing: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def next_act(self, head: str, body: dict[str, Any]) -> Act:
        with self.lock:
            self.heads.append(head)
            self.bodies.append(body)
            return self.acts.pop(0) if len(self.acts) > 1 else self.acts[0]


def completion(text: str, *, finish: str = "stop", usage: bool = True) -> bytes:
    """The body of an answer."""
    body: dict[str, Any] = {
        "id": "c1",
        "model": "m",
        "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}],
    }
    if usage:
        body["usage"] = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return json.dumps(body).encode()


def http(body: bytes, *, status: str = "200 OK", headers: str = "", kind: str = "application/json") -> bytes:
    """A whole response."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    return head.encode() + body


def says(text: str, *, finish: str = "stop", usage: bool = True) -> Act:
    """Answer with this text."""
    return raw(http(completion(text, finish=finish, usage=usage)))


def raw(data: bytes) -> Act:
    """Send these bytes."""
    return lambda server, peer: peer.sendall(data)


def status(line: str, *, headers: str = "", body: bytes = b'{"error": {"message": "sk-secret-key said no"}}') -> Act:
    """Fail with a status."""
    return raw(http(body, status=line, headers=headers))


def hangs(server: "Server", peer: socket.socket) -> None:
    """Never answer."""
    server.closing.wait(30)


def drips(data: bytes) -> Act:
    """Send a byte now and then."""

    def act(server: "Server", peer: socket.socket) -> None:
        for at in range(len(data)):
            if server.closing.wait(0.01):
                return
            peer.sendall(data[at : at + 1])

    return act


def resets(server: "Server", peer: socket.socket) -> None:
    """Close the connection with no answer."""
    peer.shutdown(socket.SHUT_RDWR)


def cuts(data: bytes) -> Act:
    """Send this and close."""

    def act(server: "Server", peer: socket.socket) -> None:
        peer.sendall(data)
        peer.shutdown(socket.SHUT_RDWR)

    return act


@contextmanager
def serving(*acts: Act) -> Iterator[Server]:
    """A server that acts; closed at the end, whatever it is doing."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        server = Server(listener.getsockname()[1], list(acts))
        accepting = threading.Thread(target=_accept, args=(listener, server))
        accepting.start()
        try:
            yield server
        finally:
            server.closing.set()
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            accepting.join()


def _accept(listener: socket.socket, server: Server) -> None:
    peers, threads = [], []
    while True:
        try:
            peer, _ = listener.accept()
        except OSError:
            break
        server.connections += 1
        peers.append(peer)
        threads.append(threading.Thread(target=_serve, args=(peer, server)))
        threads[-1].start()
    for peer in peers:
        with suppress(OSError):
            peer.shutdown(socket.SHUT_RDWR)
    for thread in threads:
        thread.join()


def _serve(peer: socket.socket, server: Server) -> None:
    with peer, suppress(OSError):
        pending = b""
        while True:
            while b"\r\n\r\n" not in pending:
                data = peer.recv(65536)
                if not data:
                    return
                pending += data
            head, _, pending = pending.partition(b"\r\n\r\n")
            lines = head.decode().split("\r\n")
            size = next(int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length"))
            while len(pending) < size:
                pending += peer.recv(65536)
            body, pending = pending[:size], pending[size:]
            server.next_act(head.decode(), json.loads(body))(server, peer)


def closed_port() -> int:
    """A port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def ask(lm: dspy.LM) -> str:
    """One call; the text of the answer."""
    text: str = lm("Hello")[0]
    return text
