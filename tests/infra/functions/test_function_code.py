"""The code asset as Lambda unpacks it: complete, without what only people's tools need."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lamplighter.lab.model import Lab
from stacks.function_code import CLI_ONLY, SOURCE
from stacks.layer_contents import NEVER_IMPORTED
from tests.infra.conftest import Template
from tests.infra.functions.unpacked import Unpacked

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
def asset(unpacked: Unpacked) -> Path:
    return unpacked.code


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
