"""A cluster whose certificate authority EKS rotates while a function has a connection to it."""

import ssl
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import boto3
import pytest
from moto import mock_aws
from moto.eks.models import eks_backends

from lamplighter.adapters.kubernetes.connection import connect
from lamplighter.errors import OutsideFailed
from tests.unit.gpu.test_cluster_authority import LOOPBACK, Authority, Version

REGION, ACCOUNT = "eu-central-1", "123456789012"


class Counted(Version):
    """Counts the requests that reach the server."""

    def log_request(self, *_: object) -> None:
        self.server.requests += 1  # type: ignore[attr-defined]


class Cluster:
    """A cluster of moto, and a server in the place of its API server."""

    def __init__(self, folder: Path) -> None:
        self._pair = folder / "server.pem"
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Counted)
        self._server.requests = 0  # type: ignore[attr-defined]
        boto3.client("eks").create_cluster(
            name="lab", roleArn="arn:aws:iam::123456789012:role/lab", resourcesVpcConfig={"subnetIds": []}
        )
        self._described = eks_backends[ACCOUNT][REGION].clusters["lab"]
        self._described.endpoint = f"https://127.0.0.1:{self._server.server_port}"
        self.name(self.serve())
        self._server.socket = self._context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def requests(self) -> int:
        return self._server.requests  # type: ignore[attr-defined]

    def serve(self) -> Authority:
        """The server has a certificate of a new authority."""
        authority = Authority.made(named=True)
        self._pair.write_bytes(authority.server(LOOPBACK))
        self._context.load_cert_chain(self._pair)
        return authority

    def name(self, authority: Authority) -> None:
        """DescribeCluster answers this authority."""
        self._described.certificate_authority = {"data": b64encode(authority.pem.encode()).decode()}

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.setenv(name, REGION)
    with mock_aws():
        made = Cluster(tmp_path)
        yield made
        made.stop()


def test_a_connection_trusts_the_authority_to_which_eks_has_rotated_the_cluster(cluster: Cluster) -> None:
    connection = connect("lab")
    assert connection.ask("GET", "/version").ok

    cluster.name(cluster.serve())

    assert connection.ask("GET", "/version").ok
    assert cluster.requests == 2, "the refused connection sent nothing"
    cluster.name(cluster.serve())
    assert connection.ask("GET", "/version").ok, "a second time too"


def test_a_server_of_another_authority_than_eks_says_is_refused_as_before(cluster: Cluster) -> None:
    connection = connect("lab")

    cluster.serve()

    with pytest.raises(OutsideFailed, match="certificate verify failed"):
        connection.ask("GET", "/version")
    cluster.name(Authority.made(named=True))
    with pytest.raises(OutsideFailed, match="certificate verify failed"):
        connection.ask("GET", "/version")
    assert cluster.requests == 0
