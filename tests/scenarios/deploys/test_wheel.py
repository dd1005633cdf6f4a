"""The wheel as people have it, in an environment without the checkout: the plain command, then the extra `deploy`.

A step is a program: the build by pyproject.toml, the set-up by requirements/run.txt, and each verb.
"""

import json
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.gpu_outputs import smi
from tests.scenarios.lab_day import LabDay, Said

pytestmark = pytest.mark.long
#: Names that others have, too.
COMMON = ("app.py", "cli", "handlers", "local", "stacks")


class Installed:
    """An environment with what was installed in it, and an empty folder to work in."""

    def __init__(self, lab: LabDay, folder: Path) -> None:
        self.lab, self.work, self.environment = lab, folder / "work", folder / "environment"
        self.work.mkdir()
        self.must("-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), at=ROOT)
        [self.wheel] = folder.glob("*.whl")
        self.must("-m", "uv", "venv", "--quiet", "--python", sys.executable, str(self.environment))

    def add(self, extra: str = "") -> None:
        """Installs the wheel, in the versions of the lock; from uv's cache where it has all of them."""
        install = ["-m", "uv", "pip", "install", "--quiet", "--python", str(self.environment)]
        install += ["-c", str(ROOT / "requirements/run.txt"), f"lamplighter{extra} @ {self.wheel.as_uri()}"]
        if self.run(sys.executable, *install, "--offline").code:
            self.must(*install)

    def must(self, *words: str, at: Path | None = None) -> None:
        said = self.run(sys.executable, *words, at=at)
        assert said.code == 0, said

    def run(self, *words: str, at: Path | None = None) -> Said:
        # The tests of the templates apply CloudFormation's rules, which takes longer than the rest.
        place = ("env", "-C", str(at or self.work))
        return self.lab.program(*place, *words, PYTHONPATH="", CDK_VALIDATION="false")

    def lamplighter(self, *words: str) -> Said:
        return self.run(str(self.environment / "bin" / "lamplighter"), *words)


def test_the_wheel_is_the_command_and_with_its_extra_a_deploy(lab: LabDay, tmp_path: Path) -> None:
    # given the wheel in an environment that has nothing else
    installed = Installed(lab, tmp_path)
    installed.add()
    [packages] = (installed.environment / "lib").glob("python*/site-packages")
    assert [name for name in COMMON if (packages / name).exists()] == []

    # then it makes a folder, and checks and simulates its lab
    assert installed.lamplighter("--version").stdout.startswith("lamplighter ")
    assert json.loads(installed.lamplighter("new", "--json").stdout)["files"] == [
        "lab.yaml",
        "app.py",
        "cdk.json",
    ]
    assert installed.lamplighter("check").stdout.startswith("gpu-lab is good")
    simulated = installed.lamplighter(
        "simulate", "--from", "2026-12-01T00:00:00Z", "--to", "2026-12-08T00:00:00Z", "--json", "-"
    )
    assert [pool["node_seconds"] for pool in json.loads(simulated.stdout)["cost"]] == [0]

    # and judges the output of a GPU tool
    (installed.work / "out").write_text(smi(), "utf-8")
    verdict = ("--check", "nvidia-smi", "--instance-type", "g5.xlarge", "--gpus", "1", "--exit-code", "0")
    assert installed.lamplighter("verdict", *verdict, "--output", "out").stdout.startswith("passed")

    # and reads a deployed lab: AWS and Kubernetes
    assert json.loads(installed.lamplighter("status", "--json").stdout)["lab"] == lab.lab.name
    assert json.loads(installed.lamplighter("diagnose", "gpu", "--json", "-").stdout)["findings"] == []

    # and what needs an extra says which
    said = installed.lamplighter("local", "demo")
    assert (said.code, said.stdout) == (2, "")
    assert "`lamplighter local` needs the extra local: uv tool install 'lamplighter[local]'" in said.stderr
    assert len(said.stderr.splitlines()) == 1

    # when the extra is there, then the folder synthesises as the CDK calls it
    installed.add("[deploy]")
    app = json.loads((installed.work / "cdk.json").read_text("utf-8"))["app"]
    said = installed.run("sh", "-c", app)
    assert said.code == 0, said
    assembly = json.loads((installed.work / "cdk.out" / "manifest.json").read_text("utf-8"))
    assert {"gpu-lab-cluster", "gpu-lab-controller"} <= assembly["artifacts"].keys()
