"""The gateway's connections to the API server: they are kept, and some traffic passes through unchanged."""

import selectors
import ssl
import threading
from http.client import HTTPSConnection
from urllib.parse import urlsplit

from urllib3.util import wait_for_read

from local.hang import HANG_SECONDS

_BUFFER = 65536


class Upstream:
    """The idle connections to the API server. A new connection costs a handshake."""

    def __init__(self, address: str, context: ssl.SSLContext) -> None:
        self._host, self._port = str(urlsplit(address).hostname), int(urlsplit(address).port or 0)
        self._context = context
        self._idle: list[HTTPSConnection] = []
        self._lock = threading.Lock()

    def take(self) -> HTTPSConnection:
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self.fresh()
            # If there is something to read although no answer is due, the connection has ended.
            if connection.sock is not None and not wait_for_read(connection.sock, timeout=0):
                return connection
            connection.close()

    def fresh(self) -> HTTPSConnection:
        connection = HTTPSConnection(self._host, self._port, context=self._context, timeout=HANG_SECONDS)
        connection.connect()
        connection.sock.settimeout(None)  # a watch may be silent for long
        return connection

    def give_back(self, connection: HTTPSConnection) -> None:
        with self._lock:
            self._idle.append(connection)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def pass_between(one: ssl.SSLSocket, other: ssl.SSLSocket) -> None:
    """Passes data on until either side ends. On one thread, because a TLS connection allows no second one."""
    peer = {one: other, other: one}
    with selectors.DefaultSelector() as arrivals:
        for each in peer:
            arrivals.register(each, selectors.EVENT_READ, each)
        while True:
            decrypted = [each for each in peer if each.pending()]
            for each in decrypted or [key.data for key, _ in arrivals.select()]:
                if not _pass_on(each, peer[each]):
                    return


def _pass_on(each: ssl.SSLSocket, peer: ssl.SSLSocket) -> bool:
    """Passes on what has arrived; False at the end."""
    each.settimeout(0)
    try:
        piece = each.recv(_BUFFER)
    except ssl.SSLWantReadError:  # TLS messages without data
        return True
    finally:
        each.settimeout(None)
    peer.sendall(piece)
    return bool(piece)
