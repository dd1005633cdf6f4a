"""Code and layer carry bytecode that Lambda's Python takes as it is: no cold start compiles anything."""

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lamplighter.lab import Lab
from local.aws.runnable_layer import add_native_modules
from stacks import built_folder, layer, runtime_python
from stacks.function_code import stage
from tests.infra.conftest import Template

LAB = Lab.model_validate({"name": "gpu-lab"})
UNCHECKED_HASH = (0b01).to_bytes(4, "little")
"""The flags of bytecode that is never compared with its source (PEP 552)."""

pytestmark = pytest.mark.skipif(
    "{}.{}".format(*sys.version_info) != runtime_python.VERSION,
    reason=f"the native modules of the environment are for another Python than Lambda's {runtime_python.VERSION}",
)

#: What Lambda does on its way to a handler; says which files were compiled, and from where modules came.
IMPORTS = """
import importlib, importlib.machinery, json, sys
compiled = []
compiles = importlib.machinery.SourceFileLoader.source_to_code
def seen(loader, data, path, **options):
    compiled.append(path)
    return compiles(loader, data, path, **options)
importlib.machinery.SourceFileLoader.source_to_code = seen
code, packages, *handlers = sys.argv[1:]
sys.path.insert(0, code)
sys.path.append(packages)
for name in handlers:
    assert callable(importlib.import_module(name).handler)
loaded = [module.__spec__.origin or "" for module in list(sys.modules.values()) if module.__spec__]
print(json.dumps({"compiled": compiled, "loaded": [path for path in loaded if path.startswith((code, packages))]}))
"""


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folders of code and packages, as Lambda has them: from archives, read-only."""
    folder = tmp_path_factory.mktemp("unpacked")
    stage(LAB, folder / "staged")
    code = through_an_archive(folder / "staged", folder / "task")
    packages = through_an_archive(layer.ensure(), folder / "opt") / "python"
    add_native_modules(packages)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555)
    return code, packages


def through_an_archive(folder: Path, target: Path) -> Path:
    """What is left of a folder that was packed as the CDK packs it: files are of 1980."""
    archive = target.with_suffix(".zip")
    with zipfile.ZipFile(archive, "w") as packed:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                info = zipfile.ZipInfo(str(path.relative_to(folder)))
                packed.writestr(info, path.read_bytes())
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(target)
    archive.unlink()
    return target


def sources(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*.py"))


def bytecode_of(source: Path) -> Path:
    return (
        source.parent / "__pycache__" / f"{source.stem}.cpython-{runtime_python.VERSION.replace('.', '')}.pyc"
    )


def test_every_handler_is_imported_without_compiling_anything(
    unpacked: tuple[Path, Path], cluster: Template, controller: Template, slack: Template
) -> None:
    code, packages = unpacked
    handlers = {
        function["Handler"].removesuffix(".handler")
        for template in (cluster, controller, slack)
        for function in template.properties("AWS::Lambda::Function")
        if function["Handler"].startswith("handlers.")
    }
    before = set(code.parent.rglob("*.pyc"))

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", IMPORTS, str(code), str(packages), *sorted(handlers)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert told["compiled"] == []
    assert {str(code / f"{name.replace('.', '/')}.py") for name in handlers} <= set(told["loaded"])
    assert set(code.parent.rglob("*.pyc")) == before


def test_every_source_file_has_bytecode_that_is_never_checked(unpacked: tuple[Path, Path]) -> None:
    for folder in unpacked:
        assert [
            path for path in sources(folder) if bytecode_of(path).read_bytes()[4:8] != UNCHECKED_HASH
        ] == []


def test_the_asset_of_a_lab_has_one_digest_however_often_it_is_made(tmp_path: Path) -> None:
    assert stage(LAB, tmp_path / "first") == stage(LAB, tmp_path / "second")
    assert not (tmp_path / "first" / built_folder.DIGEST).exists()


def test_another_lab_is_another_asset(tmp_path: Path) -> None:
    other = Lab.model_validate({"name": "other"})
    assert stage(LAB, tmp_path / "first") != stage(other, tmp_path / "second")
