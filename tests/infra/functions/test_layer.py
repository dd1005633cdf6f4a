"""Lock, layer and environment hold the same versions: what is tested is what runs."""

import re
from importlib.metadata import version
from pathlib import Path

from stacks import layer

PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)


def locked() -> dict[str, str]:
    return {_plain(name): pin for name, pin in PINNED.findall(layer.LOCK.read_text("utf-8"))}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def installed(folder: Path) -> dict[str, str]:
    found = {}
    for info in folder.glob("*.dist-info"):
        name, _, its_version = info.name.removesuffix(".dist-info").rpartition("-")
        found[_plain(name)] = its_version
    return found


def test_the_layer_holds_exactly_what_is_locked() -> None:
    assert installed(layer.ensure() / "python") == locked()


def test_the_environment_holds_the_same_versions() -> None:
    assert {name: version(name) for name in locked()} == locked()


def test_what_is_compiled_is_compiled_for_the_deployed_platform() -> None:
    compiled = [path.name for path in (layer.ensure() / "python").rglob("*.so")]
    assert compiled
    for name in compiled:
        # An abi3 module runs on any Python; all others are for 3.13, and every one for arm64.
        assert "aarch64" in name or name.endswith(".abi3.so"), name
        assert "cpython-313" in name or ".abi3." in name, name


def test_it_is_far_smaller_than_what_a_function_may_have() -> None:
    """Lambda unpacks at most 250 MB of layers and code; the packages as they are installed, with bytecode, are 110."""
    size = sum(path.stat().st_size for path in (layer.ensure() / "python").rglob("*") if path.is_file())
    assert size < 60 * 2**20
