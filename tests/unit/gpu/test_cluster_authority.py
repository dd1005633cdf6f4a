"""Clusters whose certificate authority has no key identifiers, spoken to by every Python that may run our client.

EKS gave such authorities to clusters first created on Kubernetes 1.16 or older; Python 3.13 refuses them by default
(kubernetes-client/python #2394). The functions run on it, and the command line on 3.11 as well.
"""

import datetime as dt
import json
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path

import pytest
import urllib3
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from lamplighter.adapters.aws.cluster_authority import names_its_key
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.errors import OutsideFailed
from stacks import pythons
from tests.machines.lambda_python import lambda_python_or_skip

ROOT = Path(__file__).parents[3]
HERE = "{}.{}".format(*sys.version_info)
OLDEST = "{}.{}".format(*pythons.OLDEST)
#: Any Python -> the status of an answer, or why there is none; the client's packages are built for one Python only.
PROGRAM = """
import sys, urllib3
from lamplighter.adapters.aws.cluster_authority import trusting

pools = urllib3.PoolManager(retries=False, ssl_context=trusting(open(sys.argv[2]).read()))
try:
    print(pools.request("GET", sys.argv[1] + "/version").status)
except urllib3.exceptions.HTTPError as error:
    print(error)
"""


class Signed:
    """Signs in as anybody."""

    def value(self) -> str:
        return "k8s-aws-v1.token"

    def forget(self) -> None:
        pass


def through_the_client(endpoint: str, authority: Path) -> str:
    """What our client hears there: "200", or why it hears nothing."""
    try:
        return str(Connection(endpoint, authority.read_text(), Signed()).ask("GET", "/version").status)
    except OutsideFailed as error:
        return str(error)


def through(python: str, endpoint: str, authority: Path) -> str:
    """The same, by another Python that trusts as our client does."""
    done = subprocess.run(
        [python, "-c", PROGRAM, endpoint, str(authority)],
        env={"PYTHONPATH": f"{ROOT / 'lambdas'}:{Path(urllib3.__file__).parents[2]}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def oldest_or_skip() -> str:
    """The oldest Python that runs the command line."""
    python = pythons.find(OLDEST)
    if python is None:
        pytest.skip(f"no Python {OLDEST} answers on this machine: whom our client trusts was not tried on it")
    return python


Hear = Callable[[str, Path], str]


@pytest.fixture(params=sorted({HERE, pythons.RUNTIME, OLDEST}))
def hear(request: pytest.FixtureRequest) -> Hear:
    """Every Python that our client must run on; the summary tells of one that this machine lacks."""
    if request.param == HERE:
        return through_the_client
    return partial(through, oldest_or_skip() if request.param == OLDEST else lambda_python_or_skip())


class Version(BaseHTTPRequestHandler):
    """The one answer that an API server gives to anybody."""

    def do_GET(self) -> None:
        body = json.dumps({"gitVersion": "v1.35.4-eks-1"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@dataclass(frozen=True)
class Authority:
    """A certificate authority; it and what it signs have key identifiers or have none."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    named: bool

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    @staticmethod
    def made(*, named: bool) -> "Authority":
        key = ec.generate_private_key(ec.SECP256R1())
        draft = certificate("kubernetes", "kubernetes", key).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        if named:
            own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
            draft = draft.add_extension(own, critical=False)
        return Authority(key, draft.sign(key, hashes.SHA256()), named)

    def server(self, host: x509.GeneralName, *, days: int = 1) -> bytes:
        """Key and certificate of a server, PEM, that ends so many days from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        draft = certificate("kube-apiserver", "kubernetes", key, days).add_extension(
            x509.SubjectAlternativeName([host]), critical=False
        )
        if self.named:
            issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
            draft = draft.add_extension(issuer, critical=False)
        signed = draft.sign(self.key, hashes.SHA256())
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return private + signed.public_bytes(serialization.Encoding.PEM)


def certificate(
    subject: str, issuer: str, key: ec.EllipticCurvePrivateKey, days: int = 1
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    subject_name, issuer_name = (
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in (subject, issuer)
    )
    return (
        x509.CertificateBuilder()
        .subject_name(subject_name)
        .issuer_name(issuer_name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=9))
        .not_valid_after(now + dt.timedelta(days=days))
    )


LOOPBACK = x509.IPAddress(IPv4Address("127.0.0.1"))
OLD = Authority.made(named=False)
Serve = Callable[[bytes], str]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts an API server with a certificate; gives its address."""
    servers: list[ThreadingHTTPServer] = []

    def started(pair: bytes) -> str:
        file = tmp_path / "server.pem"
        file.write_bytes(pair)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        server = ThreadingHTTPServer(("127.0.0.1", 0), Version)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return f"https://127.0.0.1:{server.server_port}"

    yield started
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The authority of an old cluster, as a file."""
    file = tmp_path / "authority.pem"
    file.write_text(OLD.pem)
    return file


def test_a_cluster_whose_authority_has_no_key_identifiers_is_spoken_to(
    hear: Hear, serve: Serve, old: Path
) -> None:
    assert hear(serve(OLD.server(LOOPBACK)), old).strip() == "200"


def test_a_server_of_another_authority_is_refused(hear: Hear, serve: Serve, old: Path) -> None:
    stranger = Authority.made(named=False)
    assert "certificate verify failed" in hear(serve(stranger.server(LOOPBACK)), old)


def test_a_server_with_another_host_name_is_refused(hear: Hear, serve: Serve, old: Path) -> None:
    elsewhere = OLD.server(x509.DNSName("other.example"))
    assert "certificate is not valid for '127.0.0.1'" in hear(serve(elsewhere), old)


def test_a_certificate_that_is_over_is_refused(hear: Hear, serve: Serve, old: Path) -> None:
    assert "certificate has expired" in hear(serve(OLD.server(LOOPBACK, days=-1)), old)


def test_an_empty_authority_is_refused_not_replaced_by_the_machines_own() -> None:
    with pytest.raises(ValueError, match="it is empty"):
        Connection("https://127.0.0.1:1", "", Signed())


def test_an_authority_that_is_no_pem_is_refused_as_one_that_cannot_be_read() -> None:
    with pytest.raises(ValueError, match="not ASCII"):
        Connection("https://127.0.0.1:1", f"# Autorité\n{OLD.pem}", Signed())


@pytest.mark.parametrize("named", [True, False])
def test_an_authority_is_told_by_its_key_identifier(named: bool) -> None:
    assert names_its_key(Authority.made(named=named).pem) is named


def test_of_several_authorities_one_without_is_told() -> None:
    both = Authority.made(named=True).pem + OLD.pem
    assert not names_its_key(both)
