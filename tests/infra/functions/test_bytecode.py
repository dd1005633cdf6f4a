"""Code and layer carry bytecode that Lambda's Python takes as it is: no cold start compiles anything."""

from collections.abc import Iterator
from pathlib import Path

from lamplighter.lab.model import Lab
from stacks import runtime_python
from stacks.function_code import stage
from tests.infra.conftest import Template
from tests.infra.functions.unpacked import Unpacked

LAB = Lab.model_validate({"name": "gpu-lab"})
UNCHECKED_HASH = (0b01).to_bytes(4, "little")
"""The flags of bytecode that is never compared with its source (PEP 552)."""

#: What Lambda does on its way to a handler; says which files were compiled, and from where modules came.
IMPORTS = """
import importlib, importlib.machinery, json, sys
compiled = []
compiles = importlib.machinery.SourceFileLoader.source_to_code
def seen(loader, data, path, **options):
    compiled.append(path)
    return compiles(loader, data, path, **options)
importlib.machinery.SourceFileLoader.source_to_code = seen
for name in sys.argv[1:]:
    assert callable(importlib.import_module(name).handler)
loaded = [module.__spec__.origin for module in list(sys.modules.values()) if module.__spec__]
print(json.dumps({"compiled": compiled, "loaded": loaded}))
"""


def sources(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*.py"))


def bytecode_of(source: Path) -> Path:
    return (
        source.parent / "__pycache__" / f"{source.stem}.cpython-{runtime_python.VERSION.replace('.', '')}.pyc"
    )


def test_every_handler_is_imported_without_compiling_anything(
    unpacked: Unpacked, cluster: Template, controller: Template, slack: Template
) -> None:
    handlers = {
        function["Handler"].removesuffix(".handler")
        for template in (cluster, controller, slack)
        for function in template.properties("AWS::Lambda::Function")
        if function["Handler"].startswith("handlers.")
    }
    before = set(unpacked.code.parent.rglob("*.pyc"))

    told = unpacked.run(IMPORTS, *sorted(handlers))

    assert told["compiled"] == []
    assert {str(unpacked.code / f"{name.replace('.', '/')}.py") for name in handlers} <= set(told["loaded"])
    assert set(unpacked.code.parent.rglob("*.pyc")) == before


def test_every_source_file_has_bytecode_that_is_never_checked(unpacked: Unpacked) -> None:
    for folder in (unpacked.code, unpacked.packages):
        assert [
            path for path in sources(folder) if bytecode_of(path).read_bytes()[4:8] != UNCHECKED_HASH
        ] == []


def test_the_asset_of_a_lab_has_one_digest_however_often_it_is_made(tmp_path: Path) -> None:
    assert stage(LAB, tmp_path / "first") == stage(LAB, tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_another_lab_is_another_asset(tmp_path: Path) -> None:
    other = Lab.model_validate({"name": "other"})
    assert stage(LAB, tmp_path / "first") != stage(other, tmp_path / "second")
