"""Lock, layer and environment hold the same versions: what is tested is what runs."""

import re
import zipfile
from collections.abc import Iterable
from importlib.metadata import version

import pytest

from stacks import layer

PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)


def locked() -> dict[str, str]:
    return {_plain(name): pin for name, pin in PINNED.findall(layer.LOCK.read_text("utf-8"))}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.fixture(scope="module")
def files() -> dict[str, int]:
    """The bytes of each file of the layer, by its path below the folder of the packages."""
    with zipfile.ZipFile(layer.ensure()) as packed:
        return {file.filename.removeprefix("python/"): file.file_size for file in packed.infolist()}


def installed(files: Iterable[str]) -> dict[str, str]:
    folders = {path.partition("/")[0] for path in files}
    infos = [name.removesuffix(".dist-info") for name in folders if name.endswith(".dist-info")]
    return {_plain(name): pin for name, _, pin in (info.rpartition("-") for info in infos)}


def test_the_layer_holds_exactly_what_is_locked(files: dict[str, int]) -> None:
    assert installed(files) == locked()


def test_the_environment_holds_the_same_versions() -> None:
    assert {name: version(name) for name in locked()} == locked()


def test_what_is_compiled_is_compiled_for_the_deployed_platform(files: dict[str, int]) -> None:
    compiled = [path.rpartition("/")[2] for path in files if path.endswith(".so")]
    assert compiled
    for name in compiled:
        # An abi3 module runs on any Python; all others are for 3.13, and every one for arm64.
        assert "aarch64" in name or name.endswith(".abi3.so"), name
        assert "cpython-313" in name or ".abi3." in name, name


def test_it_is_far_smaller_than_what_a_function_may_have(files: dict[str, int]) -> None:
    """Lambda unpacks at most 250 MB of layers and code; the packages as they are installed, with bytecode, are 110."""
    assert sum(files.values()) < 60 * 2**20
