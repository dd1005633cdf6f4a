"""The programs of layers: run from any path, and the AWS CLI loaded once."""

import subprocess
import sys
from pathlib import Path

import pytest

from local.aws.functions.layer_tools import LayerTools
from tests.steady.hang import await_value


@pytest.mark.parametrize("name", ["aws", "helm", "kubectl"])
def test_a_program_of_a_layer_runs_from_any_path(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "Käse 'brot"
    for program, text in (
        ("awscli/aws", "import sys; print(*sys.argv[1:])"),
        ("helm/helm", '#!/bin/sh\necho "$@"'),
        ("kubectl/kubectl", '#!/bin/sh\necho "$@"'),
    ):
        file = home / program
        file.parent.mkdir(parents=True)
        file.write_text(text)
        file.chmod(0o755)
    python = home / "python"
    python.symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(python))

    variables = LayerTools(tmp_path / "work space").variables([home])
    said = subprocess.run(
        ["/usr/bin/env", name, "one", "two  three"],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (said.stdout, said.stderr) == ("one two  three\n", "")


CLI = """
import os, sys

with open("{log}", "a") as log:
    log.write("loaded ")

def create_clidriver():
    pass

def main():
    print(*sys.argv[1:], os.environ["COLOUR"], os.getcwd())
    return 3
"""


def test_the_aws_cli_is_loaded_once_for_all_its_runs(tmp_path: Path) -> None:
    home, log = tmp_path / "layer", tmp_path / "log"
    (home / "awscli/awscli").mkdir(parents=True)
    (home / "awscli/awscli/clidriver.py").write_text(CLI.format(log=log))
    (home / "awscli/aws").write_text("print('not loaded yet')")
    variables = LayerTools(tmp_path / "work").variables([home])

    def run(colour: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/usr/bin/env", "aws", colour],
            env={**variables, "COLOUR": colour},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    await_value("the CLI is loaded", lambda: run("red").returncode == 3)

    for colour in ("green", "blue"):
        assert (run(colour).stdout, run(colour).returncode) == (f"{colour} {colour} {tmp_path}\n", 3)
    assert log.read_text() == "loaded "
