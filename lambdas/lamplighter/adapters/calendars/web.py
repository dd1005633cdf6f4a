"""A course calendar at an address: read over https, with limits, and never from inside.

Owns what may be reached: the address comes from a lab file, but where its name leads is decided by strangers,
so every host, redirected ones too, is resolved here and only public addresses are connected to. An
address may hold a secret (calendars are often shared by one): nothing here repeats more than its host.
"""

import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from typing import TypeAlias
from urllib.parse import SplitResult, urljoin, urlsplit

from lamplighter.adapters.calendars.text import LARGEST
from lamplighter.errors import BadInput, OutsideFailed

SECONDS = 10.0
"""For everything together: names, redirects, and the last byte."""
MOST_REDIRECTS = 3
HTTPS = 443
_CHUNK = 16 * 1024
_OK, _MOVED = 200, (301, 302, 303, 307, 308)

Resolve: TypeAlias = Callable[[str], Sequence[str]]
Connect: TypeAlias = Callable[[str, int, float], socket.socket]


def fetch(
    address: str,
    resolve: Resolve | None = None,
    connect: Connect | None = None,
    context: ssl.SSLContext | None = None,
) -> bytes:
    """What stands at an https address. BadInput for one that is not read, OutsideFailed where reading fails."""
    until = time.monotonic() + SECONDS
    reader = _Reader(resolve or _resolve, connect or _connect, context or ssl.create_default_context(), until)
    for _ in range(MOST_REDIRECTS + 1):
        found = reader.read(address)
        if isinstance(found, bytes):
            return found
        address = found
    raise OutsideFailed(f"{host_of(address)} redirects more than {MOST_REDIRECTS} times")


def host_of(address: str) -> str:
    """What may be said of an address."""
    try:
        return urlsplit(address).hostname or "the address"
    except ValueError:
        return "the address"


class _Reader:
    def __init__(self, resolve: Resolve, connect: Connect, context: ssl.SSLContext, until: float) -> None:
        self._resolve, self._connect, self._context, self._until = resolve, connect, context, until

    def read(self, address: str) -> bytes | str:
        """The content, or where it has moved to."""
        parts = _checked(address)
        host = parts.hostname or ""
        try:
            with closing(self._open(host)) as connection, self._ends(connection):
                path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
                connection.request(
                    "GET",
                    path,
                    headers={"Accept": "text/calendar, text/plain;q=0.5", "User-Agent": "lamplighter"},
                )
                answer = connection.getresponse()
                if answer.status in _MOVED:
                    return urljoin(address, answer.getheader("Location") or "")
                if answer.status != _OK:
                    raise OutsideFailed(f"{host} answers {answer.status} {str(answer.reason)[:60]}".rstrip())
                return self._body(answer, host)
        # ValueError: a name that is none, or a redirect to what is no address.
        except (OSError, HTTPException, ValueError) as error:
            raise OutsideFailed(f"{host} cannot be read: {_said(error)}") from None

    @contextmanager
    def _ends(self, connection: HTTPSConnection) -> Iterator[None]:
        """Hang up when the time is over: a time-out alone begins anew with every byte that drips in."""
        line: socket.socket = connection.sock

        def hang_up() -> None:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

        watch = threading.Timer(self._left(), hang_up)
        watch.daemon = True
        watch.start()
        try:
            yield
        finally:
            watch.cancel()

    def _open(self, host: str) -> HTTPSConnection:
        inside = []
        for found in self._resolve(host):
            if not _is_public(found):
                inside.append(found)
                continue
            # To this very address, whatever the name means a moment later; the certificate is the name's.
            plain = self._connect(found, HTTPS, self._left())
            connection = HTTPSConnection(host, timeout=self._left())
            connection.sock = self._context.wrap_socket(plain, server_hostname=host)
            return connection
        if inside:
            raise BadInput(f"leads inside: {host} is {inside[0]}, and only public addresses are read")
        raise OutsideFailed(f"{host} has no address")

    def _body(self, answer: HTTPResponse, host: str) -> bytes:
        content = bytearray()
        while chunk := answer.read1(_CHUNK):
            content += chunk
            if len(content) > LARGEST:
                raise BadInput(f"is larger than {LARGEST // 1024} KiB, export a smaller calendar")
        if time.monotonic() > self._until:
            raise OutsideFailed(f"{host} takes longer than {SECONDS:g} s")
        if answer.length:
            raise OutsideFailed(f"{host} hung up before the end")
        return bytes(content)

    def _left(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        return left


def _checked(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise BadInput("is no address, write one that begins with https://") from None
    if parts.scheme != "https" or not parts.hostname:
        raise BadInput(f"leads to {parts.scheme or 'nowhere'}, and only https addresses are read")
    if port not in {None, HTTPS} or parts.username is not None:
        raise BadInput("names a port or a user, and only plain https addresses are read")
    if not (parts.path + parts.query).isascii() or any(mark.isspace() for mark in parts.path + parts.query):
        raise BadInput("is no address, percent-encode what is not ASCII")
    return parts


def _is_public(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None) or getattr(found, "sixtofour", None)
    if mapped is not None:
        found = mapped
    return found.is_global and not found.is_multicast


def _resolve(host: str) -> Sequence[str]:
    # Of IPv4 first: functions outside a network of their own have no IPv6.
    found = socket.getaddrinfo(host, HTTPS, type=socket.SOCK_STREAM)
    ordered = sorted(found, key=lambda each: each[0] != socket.AF_INET)
    return [str(each[4][0]) for each in ordered]


def _connect(address: str, port: int, timeout: float) -> socket.socket:
    return socket.create_connection((address, port), timeout=timeout)


def _said(error: Exception) -> str:
    return " ".join(str(getattr(error, "strerror", None) or error or type(error).__name__).split())[:120]
