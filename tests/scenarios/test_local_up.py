"""`lamplighter local up` as other programs use it: what it writes, when it ends, and that it leaves nothing behind."""

import hashlib
import hmac
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest
from kubernetes import client, config

from local.slack.workspace import PATH as SLACK
from tests.steady.hang import HANG_SECONDS, await_value

START = "2026-12-01T19:50:00+09:00"


class Up:
    """One run, with its own folder for temporary files."""

    def __init__(self, folder: Path, lab: str) -> None:
        folder.mkdir()
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.out, self.said = folder / "up.json", folder / "said"
        path = folder / "lab.yaml"
        path.write_text(lab, "utf-8")
        words = ["local", "up", "--lab", str(path), "--rate", "30", "--start", START, "--json", str(self.out)]
        with self.said.open("w") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "cli.main", *words],
                env={**os.environ, "TMPDIR": str(self.temporary)},
                stderr=stderr,
                start_new_session=True,
            )

    def until_said(self, text: str) -> None:
        def said() -> bool:
            assert self.process.poll() is None, self.said.read_text()
            return text in self.said.read_text()

        await_value(f"it says {text}", said)

    def ready(self) -> dict[str, Any]:
        self.until_said("ready:")
        document: dict[str, Any] = json.loads(self.out.read_text("utf-8"))
        return document

    def end(self, number: signal.Signals) -> None:
        """Stops it. It ends with exit code 0, and nothing of it is left."""
        self.process.send_signal(number)
        assert self.process.wait(HANG_SECONDS) == 0, self.said.read_text()
        assert list(self.temporary.iterdir()) == []
        assert sorted(path.name for path in self.out.parent.iterdir()) == ["lab.yaml", "said", "tmp"]
        assert self.left() == []

    def kill(self) -> None:
        """Not even a kill may leave a process behind."""
        self.process.kill()
        self.process.wait(HANG_SECONDS)
        await_value("no process of it is left", lambda: not self.left())

    def left(self) -> list[str]:
        """Processes with its folder in their command or environment."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                about = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
            except OSError:
                continue
            if str(self.temporary).encode() in about and process.name != str(os.getpid()):
                found.append(about.replace(b"\0", b" ").decode(errors="replace")[:200])
        return found


@contextmanager
def up(folder: Path, lab: str) -> Iterator[Up]:
    run = Up(folder, lab)
    try:
        yield run
    finally:
        if run.process.poll() is None:
            os.killpg(run.process.pid, signal.SIGKILL)
            run.process.wait()


def said_in_slack(document: dict[str, Any], text: str, signed_with: str | None = None) -> str:
    """Types a command as Slack posts it. Returns where its answer goes.

    A signature is valid for five minutes of the lab's time, which here is the machine's time.
    """
    slower = Request(document["clock"]["url"], json.dumps({"rate": 1}).encode())
    with urlopen(slower) as clock:
        now = str(int(datetime.fromisoformat(json.load(clock)["now"]).timestamp()))
    address = uuid4().hex
    words = {"command": "/gpu", "text": text, "user_id": "U0MINJI", "user_name": "minji", "team_id": "T0LAB"}
    words["response_url"] = f"{document['aws']['endpoint']}{SLACK}/reply/{address}"
    body = urlencode(words)
    secret = (signed_with or document["slack"]["signing_secret"]).encode()
    signature = hmac.new(secret, f"v0:{now}:{body}".encode(), hashlib.sha256).hexdigest()
    request = Request(
        document["slack"]["url"],
        body.encode(),
        {
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Slack-Request-Timestamp": now,
            "X-Slack-Signature": f"v0={signature}",
        },
    )
    with urlopen(request) as reply:
        assert (reply.status, reply.read()) == (200, b"")
    return address


def answers(document: dict[str, Any], address: str) -> list[dict[str, Any]]:
    """What the played Slack was answered there."""
    with urlopen(f"{document['aws']['endpoint']}{SLACK}") as page:
        told = json.load(page)["told"]
    return [each["said"] for each in told if each.get("address") == address]


@pytest.mark.long
def test_two_at_once_are_reached_as_they_say_and_end_without_a_trace(tmp_path: Path) -> None:
    with up(tmp_path / "one", "name: one-lab") as one, up(tmp_path / "two", "name: two-lab") as two:
        documents = [one.ready(), two.ready()]

        for document, name in zip(documents, ("one-lab", "two-lab"), strict=True):
            forged = said_in_slack(document, "status", signed_with="another")
            address = said_in_slack(document, "status")
            [said] = await_value("an answer", partial(answers, document, address))
            assert said["response_type"] == "ephemeral"
            assert not answers(document, forged)
            assert document["clock"]["now"].startswith("2026-12-01T10:5")
            assert document["clock"]["rate"] == 30
            with urlopen(document["clock"]["url"]) as clock:
                assert json.load(clock)["now"].startswith("2026-12-01T1")
                assert clock.headers["Date"].startswith("Tue, 01 Dec 2026")
            assert status(document)["lab"] == name
            assert len(nodes(document)) == 2
        one.end(signal.SIGTERM)
        assert status(documents[1])["lab"] == "two-lab"
        two.kill()

        for document in documents:
            address = urlsplit(document["aws"]["endpoint"])
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((str(address.hostname), int(address.port or 0)))


@pytest.mark.long
@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("starting Kubernetes", signal.SIGINT),
        ("deploying moment-lab-controller", signal.SIGTERM),
    ],
)
def test_it_can_be_ended_at_any_moment(moment: str, number: signal.Signals, tmp_path: Path) -> None:
    with up(tmp_path / "run", "name: moment-lab") as run:
        run.until_said(moment)
        time.sleep(1)  # into the middle of it, whatever it is
        run.end(number)


def test_a_lab_with_problems_is_not_started(tmp_path: Path) -> None:
    with up(tmp_path / "run", "name: Bad_Name\nregoin: eu-west-1") as run:
        assert run.process.wait(HANG_SECONDS) == 2

        lines = run.said.read_text().splitlines()
        assert [line.split(": ")[1] for line in lines] == ["name", "regoin"]
        assert not run.out.exists()


def status(document: dict[str, Any]) -> dict[str, Any]:
    """What `lamplighter status` says there."""
    aws = document["aws"]
    settings = {
        "AWS_ENDPOINT_URL": aws["endpoint"],
        "AWS_REGION": aws["region"],
        "AWS_ACCESS_KEY_ID": aws["access_key_id"],
        "AWS_SECRET_ACCESS_KEY": aws["secret_access_key"],
    }
    done = subprocess.run(
        [sys.executable, "-m", "cli.main", "status", "--json"],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def nodes(document: dict[str, Any]) -> list[str]:
    """The nodes, from a client that knows only the kubeconfig, as an administrator."""
    connection = config.new_client_from_config(document["kubernetes"]["kubeconfig"])
    everything = client.V1ResourceAttributes(verb="*", resource="*", group="*")
    review = client.V1SelfSubjectAccessReview(
        spec=client.V1SelfSubjectAccessReviewSpec(resource_attributes=everything)
    )
    answer = client.AuthorizationV1Api(connection).create_self_subject_access_review(review)
    assert answer.status is not None
    assert answer.status.allowed
    return [
        str(node.metadata and node.metadata.name) for node in client.CoreV1Api(connection).list_node().items
    ]
