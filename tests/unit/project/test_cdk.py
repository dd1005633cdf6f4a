"""`.venv/bin/cdk` says at once that it is for AWS, where a shell has the settings of the embedded cloud."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.checkout import ROOT


@pytest.fixture
def cdk(tmp_path: Path) -> Path:
    """The program as make writes it, with a node that prints what it is given."""
    made = tmp_path / ".venv" / "bin" / "cdk"
    made.parent.mkdir(parents=True)
    made.write_text(
        (ROOT / "requirements/cdk/cdk.sh").read_text("utf-8").replace("@ROOT@", str(tmp_path)), "utf-8"
    )
    node = made.with_name("node")
    node.write_text('#!/bin/sh\nshift; echo "$@"\n', "utf-8")
    for program in (made, node):
        program.chmod(0o755)
    return made


def run(cdk: Path, words: str, endpoint: str) -> subprocess.CompletedProcess[str]:
    settings = os.environ | {"AWS_ENDPOINT_URL": endpoint}
    return subprocess.run([cdk, *words.split()], env=settings, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", ["bootstrap", "deploy --all", "--app .build/my-lab destroy --all"])
def test_against_the_embedded_cloud_nothing_is_deployed(cdk: Path, words: str) -> None:
    said = run(cdk, words, "http://127.0.0.1:456")
    assert (said.returncode, said.stdout) == (2, "")
    assert "is for AWS, but AWS_ENDPOINT_URL is http://127.0.0.1:456, the embedded cloud" in said.stderr
    assert len(said.stderr.splitlines()) == 1


@pytest.mark.parametrize(("words", "endpoint"), [("deploy --all", ""), ("synth lab", "http://127.0.0.1:456")])
def test_everything_else_is_the_cdks(cdk: Path, words: str, endpoint: str) -> None:
    said = run(cdk, words, endpoint)
    assert (said.returncode, said.stdout) == (0, f"{words}\n")
