"""Missing, expired, wrong or insufficient credentials give one line and the exit code, within seconds."""

import os
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from botocore.exceptions import EndpointConnectionError

from cli import endings
from lamplighter.errors import OutsideFailed
from tests.unit.cli.test_verbs_outside import environment, run

KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
SIGN_ON = """sso_start_url = https://example.com
sso_region = eu-central-1
sso_account_id = 123456789012
sso_role_name = Lab"""
SAID_BY_AWS = {
    "ExpiredToken": "The security token included in the request is expired",
    "InvalidClientTokenId": "The security token included in the request is invalid.",
    "SignatureDoesNotMatch": "The request signature we calculated does not match the signature you provided.",
    "RequestTimeTooSkewed": "Signature expired: 20261120T100000Z is now earlier than 20261120T110000Z",
    "AccessDenied": (
        "User: arn:aws:sts::123456789012:assumed-role/student/minji is not authorized to perform: "
        "cloudformation:DescribeStacks because no identity-based policy allows the action"
    ),
}


class _Refusing(BaseHTTPRequestHandler):
    """An endpoint that refuses every call with the error code in its address."""

    def do_POST(self) -> None:
        code = self.path.strip("/")
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = (
            "<ErrorResponse><Error><Type>Sender</Type>"
            f"<Code>{code}</Code><Message>{SAID_BY_AWS[code]}</Message></Error></ErrorResponse>"
        ).encode()
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def refusing() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Refusing) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def silence() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def without_keys(tmp_path: Path) -> dict[str, str]:
    settings = environment(tmp_path, None)
    for name in KEYS:
        del settings[name]
    return settings


@pytest.mark.parametrize(
    ("code", "exit_code", "words"),
    [
        ("ExpiredToken", 2, "your AWS credentials have expired: log in again"),
        ("InvalidClientTokenId", 2, "AWS does not know these credentials"),
        ("SignatureDoesNotMatch", 2, "the secret access key does not belong to the access key"),
        ("RequestTimeTooSkewed", 2, "this machine's clock"),
        ("AccessDenied", 3, "AWS denied cloudformation:DescribeStacks on all stacks"),
        ("AccessDenied", 3, "assumed-role/student/minji"),
    ],
)
def test_what_aws_refuses_is_told_with_what_to_do(
    code: str, exit_code: int, words: str, refusing: str, tmp_path: Path
) -> None:
    found, said, seconds = run(["status"], environment(tmp_path, f"{refusing}/{code}"))
    assert (found, len(said)) == (exit_code, 1), said
    assert words in said[0]
    assert seconds < 10


def test_a_silent_metadata_service_is_told_within_seconds(silence: str, tmp_path: Path) -> None:
    settings = without_keys(tmp_path) | {
        "AWS_EC2_METADATA_DISABLED": "false",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": silence,
    }

    code, said, seconds = run(["status"], settings)

    assert (code, len(said)) == (2, 1), said
    assert "no AWS credentials were found" in said[0]
    assert seconds < 8


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"AWS_ACCESS_KEY_ID": "only-half"}, "AWS_SECRET_ACCESS_KEY"),
        ({"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:1/"}, "no AWS credentials were found"),
        ({"AWS_WEB_IDENTITY_TOKEN_FILE": "/nowhere", "AWS_ROLE_ARN": "arn:aws:iam::1:role/r"}, "/nowhere"),
    ],
    ids=["half of a key", "a container without its service", "a token file that is not there"],
)
def test_missing_credentials_are_bad_input(settings: dict[str, str], words: str, tmp_path: Path) -> None:
    code, said, seconds = run(["status"], without_keys(tmp_path) | settings)
    assert (code, len(said)) == (2, 1), said
    assert words in said[0]
    assert seconds < 10


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        ("credential_process = /bin/false", "no AWS credentials were found"),
        (SIGN_ON, "aws sso login"),
        ("role_arn = arn:aws:iam::1:role/lab\nsource_profile = nobody", "nobody"),
    ],
    ids=["a process that fails", "a sign-on that has ended", "a source that is not there"],
)
def test_a_profile_that_gives_no_credentials_is_bad_input(profile: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(f"[profile lab]\n{profile}\n", "utf-8")
    settings = without_keys(tmp_path) | {
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
        "AWS_PROFILE": "lab",
        "PATH": os.environ["PATH"],
    }

    code, said, seconds = run(["status"], settings)

    assert (code, len(said)) == (2, 1), said
    assert words in said[0]
    assert seconds < 10


@pytest.mark.parametrize(
    ("region", "said", "code"),
    [
        ("ap-norteast-2", "AWS_REGION: there is no region 'ap-norteast-2'; did you mean ap-northeast-2?", 2),
        ("ap-northeast-2", "cloudformation:DescribeStacks on all stacks got no answer", 3),
    ],
)
def test_a_region_that_is_none_is_told_apart_from_one_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, region: str, said: str, code: int
) -> None:
    monkeypatch.setenv("AWS_REGION", region)
    error = OutsideFailed("cloudformation:DescribeStacks on all stacks got no answer")
    error.__cause__ = EndpointConnectionError(endpoint_url=f"https://cloudformation.{region}.amazonaws.com/")
    told, ended = endings.ending(error)
    assert ended == code
    assert told.startswith(said)


def test_a_fault_of_our_own_is_one_line_too() -> None:
    said, code = endings.ending(KeyError("lease\nof nobody"))
    assert code == 3
    assert said.startswith("lamplighter itself has a bug (KeyError:")
    assert "\n" not in said
