"""Calendars at an address: what is read, and what a stranger's name or redirect may not lead to."""

import datetime as dt
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from lamplighter.adapters.calendars import web
from lamplighter.adapters.calendars.text import LARGEST
from lamplighter.errors import BadInput, OutsideFailed

PUBLIC = "93.184.215.14"
HOST, OTHER = "school.example", "mirror.example"

MOVED = {
    "/moved": "/course.ics?key=secret",
    "/inside": "https://inside.example/latest/meta-data",
    "/plain": "http://school.example/course.ics",
    "/nowhere": "https://[bad/course.ics",
    "/loop": "/loop",
    "/renamed": "/members.ics",
    "/told": f"https://{OTHER}/heard",
    "/elsewhere": f"https://{OTHER}/back",
    "/back": f"https://{HOST}/members.ics",
}


class School(BaseHTTPRequestHandler):
    """A web server of a school, and of its enemies."""

    def do_GET(self) -> None:
        match self.path:
            case path if path in MOVED:
                self._answer(302, b"", MOVED[path])
            case "/members.ics" if self.headers["Authorization"] != "Bearer abc":
                self._answer(401, b"who are you?")
            case "/course.ics?key=secret" | "/members.ics":
                self._answer(200, b"BEGIN:VCALENDAR")
            case "/heard":
                self._answer(200, str(self.headers["Authorization"]).encode())
            case "/large":
                self._answer(200, b"x" * (LARGEST + 1))
            case "/drip":
                self.send_response(200)
                self.end_headers()
                for _ in range(100):
                    self.wfile.write(b"x")
                    time.sleep(0.02)
            case _:
                self._answer(404, b"no")

    def _answer(self, status: int, body: bytes, location: str | None = None) -> None:
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = dt.datetime.now(dt.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST), x509.DNSName(OTHER)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "school.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    return path


class Internet:
    """Where names lead, and one real server behind every public address."""

    def __init__(self, certificate: Path) -> None:
        self.names = {HOST: [PUBLIC], OTHER: [PUBLIC], "inside.example": ["169.254.169.254"]}
        self.connected: list[str] = []
        self.trusting = ssl.create_default_context(cafile=str(certificate))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), School)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def fetch(self, path: str, host: str = HOST, authorization: str | None = None) -> bytes:
        address = f"https://{host}{path}"
        return web.fetch(address, self._resolve, self._connect, self.trusting, authorization)

    def _resolve(self, host: str) -> list[str]:
        return self.names.get(host, [])

    def _connect(self, address: str, port: int, timeout: float) -> socket.socket:
        self.connected.append(f"{address}:{port}")
        return socket.create_connection(("127.0.0.1", self._server.server_port), timeout)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def internet(certificate: Path) -> Iterator[Internet]:
    with closing(Internet(certificate)) as made:
        yield made


def test_what_stands_at_an_address_is_read_also_where_it_has_moved_to(internet: Internet) -> None:
    assert internet.fetch("/course.ics?key=secret") == b"BEGIN:VCALENDAR"
    assert internet.fetch("/moved") == b"BEGIN:VCALENDAR"
    assert set(internet.connected) == {f"{PUBLIC}:443"}


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.9", "169.254.169.254", "100.64.0.1", "0.0.0.0",  # noqa: S104
     "224.0.0.1",
     "::1", "fe80::1%eth0", "fd00:ec2::254", "::ffff:169.254.169.254", "2002:a9fe:a9fe::1"],
)  # fmt: skip
def test_a_name_that_leads_inside_is_not_read(internet: Internet, address: str) -> None:
    internet.names[HOST] = [address]
    with pytest.raises(BadInput, match="only public addresses are read"):
        internet.fetch("/course.ics?key=secret")
    assert internet.connected == []


def test_a_redirect_may_not_lead_inside_or_away_from_https(internet: Internet) -> None:
    with pytest.raises(BadInput, match=r"inside\.example is 169\.254\.169\.254"):
        internet.fetch("/inside")
    with pytest.raises(BadInput, match="it leads to http, and only https addresses are read"):
        internet.fetch("/plain")
    with pytest.raises(OutsideFailed, match="redirects more than 3 times"):
        internet.fetch("/loop")


def test_a_login_is_sent_to_its_own_host_and_to_no_other(internet: Internet) -> None:
    assert internet.fetch("/members.ics", authorization="Bearer abc") == b"BEGIN:VCALENDAR"
    assert internet.fetch("/renamed", authorization="Bearer abc") == b"BEGIN:VCALENDAR"
    assert internet.fetch("/told", authorization="Bearer abc") == b"None"
    # The other host must not choose what the login opens.
    with pytest.raises(OutsideFailed, match="asks for a login"):
        internet.fetch("/elsewhere", authorization="Bearer abc")


def test_an_address_that_wants_another_login_says_so(internet: Internet) -> None:
    with pytest.raises(OutsideFailed) as missing:
        internet.fetch("/members.ics")
    assert str(missing.value) == (
        "school.example answers 401 Unauthorized: it asks for a login, name its secret in calendar_secret"
    )
    with pytest.raises(OutsideFailed) as wrong:
        internet.fetch("/members.ics", authorization="Bearer old")
    assert str(wrong.value) == (
        "school.example answers 401 Unauthorized: it does not accept the login in the secret of calendar_secret"
    )


def test_a_certificate_has_to_be_the_hosts(internet: Internet) -> None:
    internet.names["other.example"] = [PUBLIC]
    with pytest.raises(OutsideFailed, match=r"other\.example cannot be read: .*certificate"):
        internet.fetch("/course.ics?key=secret", "other.example")


def test_size_and_answers_are_limited_and_the_secret_of_an_address_is_not_repeated(
    internet: Internet,
) -> None:
    with pytest.raises(BadInput, match="is larger than 1024 KiB"):
        internet.fetch("/large")
    with pytest.raises(OutsideFailed) as caught:
        internet.fetch("/gone?key=secret")
    assert str(caught.value) == "school.example answers 404 Not Found"


def test_a_server_that_does_not_come_to_its_end_is_given_up(
    internet: Internet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "SECONDS", 0.0)
    with pytest.raises(OutsideFailed, match="timed out"):
        internet.fetch("/course.ics?key=secret")
    monkeypatch.setattr(web, "SECONDS", 0.3)
    with pytest.raises(OutsideFailed):
        internet.fetch("/drip")


def test_what_is_no_address_or_no_name_is_told_like_any_other_failure(internet: Internet) -> None:
    with pytest.raises(OutsideFailed, match=r"school\.example cannot be read"):
        internet.fetch("/nowhere")
    with pytest.raises(OutsideFailed, match=r"cannot be read: .*label.*too long"):
        web.fetch(f"https://{'a' * 70}.example/course.ics")


@pytest.mark.parametrize(
    "address", ["https://school.example:8443/a", "https://me@school.example/a", "https:///a"]
)
def test_only_plain_https_addresses_are_read(address: str) -> None:
    with pytest.raises(BadInput):
        web.fetch(address)
