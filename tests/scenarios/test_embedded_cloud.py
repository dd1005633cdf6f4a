"""The embedded cloud as its users meet it: one command, a file that says how to reach it, no trace at the end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
import urllib3

pytestmark = pytest.mark.cloud

COMMAND = [str(Path(sys.executable).with_name("lamplighter")), "local", "up"]
START = "2026-12-01T19:50:00+09:00"


class Up:
    """`lamplighter local up` in a process group of its own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "lab.yaml").write_text("name: gpu-lab\n")
        self.out = folder / "cloud.json"
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        arguments = [
            "--lab",
            str(folder / "lab.yaml"),
            "--json",
            str(self.out),
            "--rate",
            "10",
            "--start",
            START,
        ]
        environment = {**os.environ, "TMPDIR": str(self.temporary)}
        self.process = subprocess.Popen(COMMAND + arguments, env=environment, start_new_session=True)

    def ready(self) -> dict:
        """The document, waited for."""
        deadline = time.monotonic() + 180
        while not self.out.exists():
            assert self.process.poll() is None, "it ended before it was ready"
            assert time.monotonic() < deadline, "it did not become ready"
            time.sleep(0.1)
        return json.loads(self.out.read_text())

    def everybody(self) -> list[int]:
        """Every process that descends from it, itself included."""
        parents: dict[int, int] = {}
        for status in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = status.read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            parents[int(status.parent.name)] = int(fields[1])
        found = [self.process.pid]
        for one in found:
            found += [child for child, parent in parents.items() if parent == one]
        return found


def gone(processes: list[int]) -> bool:
    """Whether all of them end within a few seconds."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if not any(Path(f"/proc/{one}").exists() for one in processes):
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def two(tmp_path: Path) -> Iterator[list[Up]]:
    clouds = [Up(tmp_path / name) for name in ("one", "other")]
    yield clouds
    for cloud in clouds:
        if cloud.process.poll() is None:
            cloud.process.send_signal(signal.SIGTERM)
            cloud.process.wait(30)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads processes from /proc")
def test_two_clouds_at_once_each_say_how_to_reach_them_and_leave_nothing(two):
    documents = [cloud.ready() for cloud in two]
    for document in documents:
        aws = document["aws"]
        client = boto3.client(
            "cloudformation",
            endpoint_url=aws["endpoint"],
            region_name=aws["region"],
            aws_access_key_id=aws["access_key_id"],
            aws_secret_access_key=aws["secret_access_key"],
        )
        stacks = {stack["StackName"]: stack["StackStatus"] for stack in client.describe_stacks()["Stacks"]}
        assert stacks == {"gpu-lab-cluster": "CREATE_COMPLETE", "gpu-lab-controller": "CREATE_COMPLETE"}
        assert json.loads(Path(document["kubernetes"]["kubeconfig"]).read_text())["kind"] == "Config"
        clock = urllib3.request("GET", document["clock"]["url"]).json()
        assert clock["rate"] == document["clock"]["rate"] == 10
        assert document["clock"]["now"].startswith("2026-12-01T10:5")
    assert documents[0]["aws"]["endpoint"] != documents[1]["aws"]["endpoint"]

    processes = two[0].everybody()
    two[0].process.send_signal(signal.SIGINT)
    assert two[0].process.wait(10) == 0
    assert gone(processes)
    assert not two[0].out.exists()
    assert list(two[0].temporary.iterdir()) == []

    processes = two[1].everybody()
    two[1].process.send_signal(signal.SIGKILL)
    two[1].process.wait(10)
    assert gone(processes), "not even a kill may leave a process behind"
