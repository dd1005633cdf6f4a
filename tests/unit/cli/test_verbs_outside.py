"""A failure of AWS or bad input gives one line and the exit code in every verb, and no traceback."""

import base64
import json
import os
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import boto3
import certifi
import pytest

from tests.programs import lamplighter
from tests.steady.http_waits import http_waits
from tests.unit import aws_over_http

REGION, ELSEWHERE = "ap-northeast-2", "eu-central-1"
NAMES = [
    *(
        "status", "open", "close", "extend 30m", "leases", "windows", "simulate --live", "skip evening",
        "pause",
    ),
    *("resume", "why", "diagnose", "cost", "arm gpu", "ack", "keep", "experiment list", "receipt", "page"),
    *("doctor --deployed", "status --watch", "windows --ics -", "adopt team gpus"),
]  # fmt: skip
VERBS = [name.split() for name in NAMES]
# All other verbs begin like status: they look for the lab.
FIRST_CALLS = pytest.mark.parametrize(
    "verb", [["status"], ["adopt", "team", "gpus"]], ids=["status", "adopt"]
)


def environment(home: Path, endpoint: str | None) -> dict[str, str]:
    """The settings that reach the endpoint, without this machine's own AWS settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    own = {
        "HOME": str(home),
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": REGION,
    }
    return kept | own | ({"AWS_ENDPOINT_URL": endpoint} if endpoint else {})


def run(words: list[str], settings: dict[str, str]) -> tuple[int, list[str], float]:
    """Exit code, lines of stderr, and the seconds that it was ready to wait for servers."""
    with http_waits() as waits:
        done = lamplighter(*words, env=settings)
    return done.returncode, done.stderr.splitlines(), waits.seconds


@pytest.fixture(scope="module")
def empty_account() -> Iterator[str]:
    """An AWS account without a lab in the region of these tests."""
    with aws_over_http.account() as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def silence() -> Iterator[str]:
    """An endpoint that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("verb", VERBS, ids=NAMES)
def test_a_closed_endpoint_is_told_with_the_call(verb: list[str], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = f"http://127.0.0.1:{server.getsockname()[1]}"

    code, said, seconds = run(verb, environment(tmp_path, closed))

    assert (code, len(said)) == (3, 1), said
    assert said[0].startswith(("cloudformation:DescribeStacks on", "eks:DescribeCluster on"))
    assert closed in said[0]
    assert 0 < seconds < 10


def test_an_endpoint_that_never_answers_is_told_within_ten_seconds(silence: str, tmp_path: Path) -> None:
    code, said, seconds = run(["status"], environment(tmp_path, silence))
    assert (code, len(said)) == (3, 1), said
    assert "got no answer in 2 attempts" in said[0]
    assert 0 < seconds < 10


@FIRST_CALLS
@pytest.mark.parametrize(
    ("missing", "words"),
    [
        (("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "no AWS credentials"),
        (("AWS_REGION",), "no AWS region is set"),
    ],
)
def test_missing_credentials_or_a_missing_region_are_told_in_one_line(
    verb: list[str], missing: tuple[str, ...], words: str, empty_account: str, tmp_path: Path
) -> None:
    settings = environment(tmp_path, empty_account)
    for name in missing:
        del settings[name]
    code, said, _ = run(verb, settings)
    assert (code, len(said)) == (2, 1), said
    assert said[0].startswith(words)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("AWS_REGION", "not a region", "AWS_REGION"),
        ("AWS_PROFILE", "nobody", "AWS_PROFILE"),
        ("AWS_ENDPOINT_URL", "no address", "AWS_ENDPOINT_URL"),
        ("AWS_CONFIG_FILE", __file__, "AWS settings cannot be read"),
    ],
)
def test_settings_that_cannot_be_meant_are_bad_input(
    name: str, value: str, words: str, empty_account: str, tmp_path: Path
) -> None:
    code, said, _ = run(["status"], environment(tmp_path, empty_account) | {name: value})
    assert (code, len(said)) == (2, 1), said
    assert words in said[0]


@pytest.mark.parametrize("verb", VERBS[:-1], ids=NAMES[:-1])
def test_no_lab_in_the_region_is_bad_input(verb: list[str], empty_account: str, tmp_path: Path) -> None:
    code, said, _ = run(verb, environment(tmp_path, empty_account))
    assert (code, len(said)) == (2, 1), said
    assert said[0].startswith("no lab is deployed in ap-northeast-2")


@pytest.mark.parametrize(
    "words",
    [
        *("adopt", "adopt team", "adopt nobody gpus", "extend", "skip", "skip evening tomorrow", "pause gpu"),
        *("resume now", "open --wait at 20:00", "why --at yesterday", "status --nonsense", "status gpu more"),
        *("opne", "status --lab-name nobody", "verdict", "simulate", "check --lab /nowhere/lab.yaml"),
        *("local up", "local up --json /nowhere/out.json"),
        "local up --json out.json --lab /nowhere/lab.yaml",
        *(
            "local up --json out.json --rate 0",
            "local up --json out.json --start now",
            "local demo --rate 61",
        ),
        *("local demo --act karpenter --rate 2", "local demo --act karpenter --fast"),
    ],
)
def test_words_that_cannot_be_meant_end_with_one_line(words: str, empty_account: str, tmp_path: Path) -> None:
    code, said, _ = run(words.split(), environment(tmp_path, empty_account))
    assert (code, len(said)) == (2, 1), said


def test_without_karpenters_program_its_act_is_not_played_and_says_why(
    empty_account: str, tmp_path: Path
) -> None:
    given = environment(tmp_path, empty_account) | {"XDG_CACHE_HOME": str(tmp_path / "empty")}
    code, said, _ = run(["local", "demo", "--act", "karpenter"], given)
    assert (code, len(said)) == (3, 1), said
    assert "no Karpenter" in said[0]


class _NoAws(BaseHTTPRequestHandler):
    """A web server that is not AWS."""

    def do_POST(self) -> None:
        self.send_response_only(200)
        self.end_headers()
        self.wfile.write(b"<html>welcome</html")

    do_GET = do_POST  # noqa: N815 -- http.server's names


@FIRST_CALLS
def test_an_endpoint_that_is_not_aws_is_told(verb: list[str], tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), _NoAws) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        code, said, _ = run(verb, environment(tmp_path, f"http://127.0.0.1:{server.server_port}"))
        server.shutdown()
    assert (code, len(said)) == (3, 1), said
    assert "was answered, but not by AWS" in said[0]


def create_lab(endpoint: str, lab: str, region: str) -> None:
    """The stack of a lab, as a deploy leaves it; its ledger is not there."""
    cloudformation = boto3.client(
        "cloudformation",
        endpoint_url=endpoint,
        region_name=region,
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    template = {
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {"LedgerTable": {"Value": "ledger"}},
    }
    cloudformation.create_stack(
        StackName=f"{lab}-controller",
        TemplateBody=json.dumps(template),
        Tags=[{"Key": "lamplighter:lab", "Value": lab}],
    )


@pytest.fixture(scope="module")
def crowded(empty_account: str) -> str:
    """The account, with two labs in another region."""
    for lab in ("lab-a", "lab-b"):
        create_lab(empty_account, lab, ELSEWHERE)
    return empty_account


def test_of_several_labs_one_must_be_named(crowded: str, tmp_path: Path) -> None:
    code, said, _ = run(["status"], environment(tmp_path, crowded) | {"AWS_REGION": ELSEWHERE})
    assert (code, len(said)) == (2, 1), said
    assert said[0] == f"--lab-name: several labs are deployed in {ELSEWHERE}, name one of lab-a, lab-b"


def test_a_lab_whose_ledger_is_not_there_is_told_with_the_call(crowded: str, tmp_path: Path) -> None:
    code, said, _ = run(
        ["leases", "--lab-name", "lab-a"], environment(tmp_path, crowded) | {"AWS_REGION": ELSEWHERE}
    )
    assert (code, len(said)) == (3, 1), said
    assert said[0].startswith("dynamodb:GetItem on ledger")


def root() -> bytes:
    """A certificate of a real authority."""
    _, _, rest = Path(certifi.where()).read_text("utf-8").partition('# Label: "ISRG Root X1"')
    return rest[rest.index("-----BEGIN") : rest.index("\n\n")].encode()


class _Eks(BaseHTTPRequestHandler):
    """An EKS with one cluster whose Kubernetes does not answer."""

    def do_GET(self) -> None:
        authority = base64.b64encode(root()).decode()
        group = {
            "scalingConfig": {"minSize": 0, "maxSize": 1, "desiredSize": 0},
            "instanceTypes": ["g5.xlarge"],
        }
        cluster = {
            "endpoint": "https://127.0.0.1:1",
            "certificateAuthority": {"data": authority},
            "version": "1.35",
            "accessConfig": {"authenticationMode": "API"},
        }
        found = {"nodegroup": group} if "node-groups" in self.path else {"cluster": cluster}
        self.send_response_only(200)
        self.end_headers()
        self.wfile.write(json.dumps(found).encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


def test_a_kubernetes_that_does_not_answer_is_told_with_the_call(tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), _Eks) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        code, said, seconds = run(
            ["adopt", "team", "gpus"], environment(tmp_path, f"http://127.0.0.1:{server.server_port}")
        )
        server.shutdown()

    assert (code, len(said)) == (3, 1), said
    assert "GET /apis/apps/v1/deployments on https://127.0.0.1:1: no answer" in said[0]
    assert 0 < seconds < 10
