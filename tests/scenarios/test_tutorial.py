"""Types the tutorial as its pages have it: on the embedded cloud, all commands that need no account."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.steady.hang import HANG_SECONDS, await_value
from tests.tutorial import ROOT, blocks, commands

pytestmark = pytest.mark.long

FIRST, ON_AWS = "first-lab.md", "on-aws.md"
UP = ".venv/bin/lamplighter local up"
#: Commands that have a scenario of their own.
PLAYED_BY = {
    "make demo": "test_day.py",
    ".venv/bin/lamplighter local demo --act trouble": "trouble/test_trouble.py",
}
#: The person who runs the tests has set everything up.
MAKE = "make -o .venv/.ready -o .build/layer/.ready "


class Terminal:
    """A shell in the checkout; its files are in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.before: list[str] = []
        """Commands that changed the shell itself. They are repeated before each command."""

    def here(self, command: str) -> str:
        """The command, with the files that it writes in the test's folder."""
        said = command.replace(".build/", f"{self.folder}/").replace(
            "my-lab.yaml", f"{self.folder}/my-lab.yaml"
        )
        return said.replace("make ", MAKE, 1) if said.startswith("make ") else said

    def start(self, command: str) -> subprocess.Popen[bytes]:
        with (self.folder / "said").open("w") as said:
            return subprocess.Popen(
                ["/bin/bash", "-c", f"exec {self.here(command)}"],
                cwd=ROOT,
                stderr=said,
                start_new_session=True,
            )

    def types(self, command: str, ends: int = 0) -> str:
        """Its output. Fails if it ends with another exit code."""
        script = "\n".join(["set -euo pipefail", *self.before, self.here(command)])
        done = subprocess.run(
            ["/bin/bash", "-c", script],
            cwd=ROOT,
            env={**os.environ, "LAMPLIGHTER_NAMES": ""},
            capture_output=True,
            text=True,
            check=False,
            timeout=HANG_SECONDS,
        )
        assert done.returncode == ends, f"{command}\n{done.stdout}{done.stderr}"
        if command.startswith("eval "):
            self.before.append(self.here(command))
        return done.stdout


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A terminal beside the one in which the cloud of the first page runs."""
    made = Terminal(tmp_path_factory.mktemp("tutorial"))
    (starts,) = [line for line in commands(FIRST) if line.startswith(UP)]
    process = made.start(starts)
    try:

        def ready() -> bool:
            assert process.poll() is None, (made.folder / "said").read_text()
            return (made.folder / "cloud.json").exists()

        await_value("the cloud is ready", ready)
        (leads_there,) = [line for line in commands(FIRST) if line.startswith("eval ")]
        made.types(leads_there)
        (lab,) = [block for block in blocks(ON_AWS) if block.kind == "yaml"]
        (made.folder / "my-lab.yaml").write_text("\n".join(lab.lines), "utf-8")
        yield made
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(HANG_SECONDS)


def test_the_first_lab_can_be_typed(terminal: Terminal) -> None:
    for command in commands(FIRST):
        if command in PLAYED_BY:
            assert (Path(__file__).parent / PLAYED_BY[command]).exists()
        elif not command.startswith(UP):
            terminal.types(command)


def test_the_lab_on_aws_can_be_typed_but_for_what_says_so(terminal: Terminal) -> None:
    for command in commands(ON_AWS):
        terminal.types(command)

    assert (terminal.folder / "my-lab/my-lab-controller.template.json").exists()


def test_the_doctor_of_the_lab_on_aws_misses_here_what_only_an_account_has(terminal: Terminal) -> None:
    (doctor,) = [line for line in commands(ON_AWS, only_on_aws=True) if " doctor " in line]

    found = json.loads(terminal.types(f"{doctor} --json", ends=1))

    assert {line["check"] for line in found if line["outcome"] != "ok"} == {"bootstrap", "trail"}
