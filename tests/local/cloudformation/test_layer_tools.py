"""The programs of layers run from a cache and a checkout whose paths have a blank or a quotation mark."""

import subprocess
import sys
from pathlib import Path

import pytest

from local.aws.functions.layer_tools import LayerTools


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
