"""Terraform with the AWS provider, as a program beside a lab, with the files of the how-to.

No package index has either. A machine that lacks one skips what needs them.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.scenarios.lab_day import LabDay, Said

FILES = ROOT / "docs/how-to/set-up/terraform"
#: Folders in which machines keep providers, laid out as Terraform's own mirror.
MIRRORS = (
    Path.home() / ".terraform.d/plugins",
    Path("/usr/local/share/terraform/plugins"),
    *Path("/opt").glob("*"),
)
PROVIDERS = [mirror for mirror in MIRRORS if (mirror / "registry.terraform.io/hashicorp/aws").is_dir()]
#: Real seconds between two looks at Terraform, and virtual ones that pass meanwhile.
LOOK_SECONDS, PASSING = 0.5, 20.0
#: The embedded cloud has one address for all buckets.
PROVIDER = 'provider "aws" { s3_use_path_style = true }'


class Terraform:
    """A project with the how-to's file, and the assembly of a lab."""

    def __init__(self, day: LabDay, folder: Path) -> None:
        self._day, self._folder = day, folder
        program = shutil.which("terraform")
        if program is None or not PROVIDERS:
            pytest.skip("this machine has no terraform with the provider aws")
        self._program = program
        shutil.copy(FILES / "lamplighter.tf", folder)
        (folder / "provider.tf").write_text(PROVIDER, "utf-8")
        started = self.run("init", f"-plugin-dir={PROVIDERS[0]}")
        assert started.code == 0, started

    def uses(self, assembly: Path) -> None:
        values = {"lamplighter_assembly": str(assembly)}
        (self._folder / "lab.auto.tfvars.json").write_text(json.dumps(values), "utf-8")

    def run(self, *words: str) -> Said:
        """Runs a command. The lab's time passes meanwhile, since Terraform waits by its own clock."""
        settings = {"TF_INPUT": "0", "TF_CLI_ARGS": "-no-color", "TF_CLI_CONFIG_FILE": os.devnull}
        environment = {**os.environ, **self._day.cloud.endpoints().environment(), **settings}
        command = [self._program, *words]
        with (self._folder / "said").open("w+") as said:
            started = subprocess.Popen(command, cwd=self._folder, env=environment, stdout=said, stderr=said)
            while True:
                try:
                    code = started.wait(LOOK_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    self._day.clock.sleep(PASSING)
            said.seek(0)
            return Said(code, said.read(), "")
