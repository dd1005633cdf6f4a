"""How a call to AWS fails: soon, and saying which call and on what."""

import socket
from collections.abc import Iterator

import pytest

from lamplighter.adapters.aws.calls import ATTEMPTS, CONNECT_SECONDS, READ_SECONDS
from lamplighter.adapters.aws.nodegroups import NodeGroups
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
