"""`python app.py`, as `make synth` and the CDK call it: no credentials, no network, nothing written for a
lab that cannot be built.
"""

import json
import subprocess
import sys
from pathlib import Path

import app
from stacks import bytecode, runtime_python
from stacks.layer import CHECKOUT
from tests.infra.conftest import Assembly
from tests.programs import started

# Nothing of the caller's account, region, proxy or Node; PATH without any tool.
BARE = {"HOME": "/nonexistent", "PATH": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true"}
#: What a synthesis says on a machine without Lambda's Python.
WITHOUT = "" if runtime_python.interpreter() else f"{bytecode.WITHOUT}\n"


def synthesise(*arguments: str, cwd: Path = CHECKOUT, **environment: str) -> subprocess.CompletedProcess[str]:
    return started("app.py", app.main, *arguments, cwd=cwd, env={**BARE, **environment})


def test_a_lab_of_a_name_alone_is_built_without_credentials_or_network(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text("name: tiny\n")

    done = subprocess.run(
        [sys.executable, str(CHECKOUT / "app.py"), "--out", "assembly"],
        cwd=tmp_path,
        env=BARE,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, WITHOUT)
    manifest = json.loads((tmp_path / "assembly" / "manifest.json").read_text("utf-8"))
    assert {"tiny-cluster", "tiny-controller"} <= set(manifest["artifacts"])


def test_a_bad_lab_is_told_a_line_a_problem_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text("name: tiny\npols: {}\ntime_zone: Mars/Base\n")

    done = synthesise("--lab", "lab.yaml", "--out", "assembly", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("lab.yaml:2: pols: ")
    assert lines[1].startswith("lab.yaml:3: time_zone: ")
    assert [path.name for path in tmp_path.iterdir()] == ["lab.yaml"]


def test_a_lab_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    done = synthesise("--lab", "nowhere.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("nowhere.yaml:1: ")


def test_a_folder_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text("name: x\n")
    (tmp_path / "taken").write_text("a file")
    done = synthesise("--lab", "lab.yaml", "--out", "taken", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "--out: taken cannot be written (File exists), name a folder\n"


def test_the_cdk_names_lab_and_folder_its_own_way(assembly: Assembly, tmp_path: Path) -> None:
    # The default lab's synthesis has started the jsii of this session, in an environment of more than this test's.
    assert assembly.stacks
    (tmp_path / "other.yaml").write_text("name: other\n")

    done = synthesise(
        cwd=tmp_path, CDK_CONTEXT_JSON=json.dumps({"lab": "other.yaml"}), CDK_OUTDIR=str(tmp_path / "theirs")
    )

    assert (done.returncode, done.stderr) == (0, WITHOUT)
    assert (tmp_path / "theirs" / "other-controller.template.json").exists()
