"""The code asset as Lambda unpacks it: complete, without what only people's tools need."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lamplighter.lab.model import Lab
from stacks.function_code import CLI_ONLY, SOURCE, stage
from stacks.layer_contents import NEVER_IMPORTED
from tests.infra.conftest import Template

# What no function may load: the layer has it not, or AWS has it not.
ABSENT = {path for path in NEVER_IMPORTED if path.isidentifier()} | {
    "kubernetes.aio",
    "ruamel",
    "aws_cdk",
    "moto",
    "stacks",
    "cli",
    "local",
}

IMPORTS = """
import importlib, json, sys
sys.path[:] = [sys.argv[1]] + [path for path in sys.path if "site-packages" in path or "python3" in path]
for name in sys.argv[2:]:
    assert callable(importlib.import_module(name).handler)
print(json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(scope="session")
def asset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("function")
    stage(Lab.model_validate({"name": "gpu-lab"}), folder)
    return folder


def test_it_carries_the_lab_as_the_functions_read_it(asset: Path) -> None:
    assert Lab.from_json((asset / "lab.json").read_text("utf-8")) == Lab.model_validate({"name": "gpu-lab"})


def test_it_carries_no_reader_of_lab_files(asset: Path) -> None:
    assert not (asset / CLI_ONLY.relative_to(SOURCE)).exists()
    assert (asset / "lamplighter" / "data" / "rbac.yaml").exists()


def test_every_handler_can_be_loaded_from_it(asset: Path, cluster: Template, controller: Template) -> None:
    handlers = {
        function["Handler"].removesuffix(".handler")
        for template in (cluster, controller)
        for function in template.properties("AWS::Lambda::Function")
        if function["Handler"].startswith("handlers.")
    }

    loaded = subprocess.run(
        [sys.executable, "-I", "-c", IMPORTS, str(asset), *sorted(handlers)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert loaded.stderr == ""
    roots = {name for module in json.loads(loaded.stdout) for name in (module, module.split(".")[0])}
    assert not roots & ABSENT


def test_it_is_laid_out_on_another_device_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    linked, copied = tmp_path / "linked", tmp_path / "copied"
    digest = stage(Lab.model_validate({"name": "gpu-lab"}), linked)
    monkeypatch.setattr(os, "link", refuse)

    assert stage(Lab.model_validate({"name": "gpu-lab"}), copied) == digest
    assert contents(copied) == contents(linked)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
