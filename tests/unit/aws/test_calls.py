"""How a call to AWS fails: soon, and saying which call and on what."""

import socket
from collections.abc import Iterator

import pytest

from lamplighter.adapters.aws.calls import ATTEMPTS, CONNECT_SECONDS, READ_SECONDS, client, outside
from lamplighter.adapters.capacity.node_group.nodegroups import NodeGroups
from lamplighter.errors import OutsideFailed

BACK_OFF_SECONDS = 1


@pytest.fixture
def nobody_listens(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: a connection is refused
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{taken.getsockname()[1]}",
            "AWS_REGION": "ap-northeast-2",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }.items():
            monkeypatch.setenv(name, value)
        yield


@pytest.mark.usefixtures("nobody_listens")
def test_an_unreachable_endpoint_names_the_call_and_the_object() -> None:
    with pytest.raises(OutsideFailed, match="eks:DescribeNodegroup on lab/gpu got no answer in 2 attempts"):
        NodeGroups("lab").read("gpu")


def test_an_endpoint_that_never_answers_is_told_within_ten_seconds() -> None:
    assert ATTEMPTS * max(CONNECT_SECONDS, READ_SECONDS) + BACK_OFF_SECONDS < 10


def test_a_call_that_is_never_answered_is_the_outside_worlds_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        eks = client("eks", read_seconds=1, attempts=1)

        with (
            pytest.raises(OutsideFailed, match="eks:ListClusters on all got no answer"),
            outside("eks:ListClusters", "all"),
        ):
            eks.list_clusters()


@pytest.mark.usefixtures("nobody_listens")
def test_who_calls_is_said_by_name() -> None:
    said: list[bytes] = []
    eks = client("eks", attempts=1)
    eks.meta.events.register(
        "before-send.eks", lambda request, **_: said.append(request.headers["User-Agent"])
    )

    with pytest.raises(OutsideFailed), outside("eks:ListClusters", "all"):
        eks.list_clusters()

    assert [name.split()[0] for name in said] == [b"lamplighter"]


@pytest.mark.usefixtures("nobody_listens")
def test_a_function_keeps_its_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    assert client("eks") is not client("eks"), "elsewhere the environment may change"

    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "demo-guard")

    assert client("eks") is client("eks")
    assert client("eks") is not client("eks", read_seconds=1)
