"""The functions' dependency layer as this machine can run it.

The layer of an assembly is built for Lambda's processor. Its Python and its bytecode run anywhere; the few
native modules come from the environment that runs us, which holds the same lock. Made once into the user's
cache folder.
"""

import py_compile
import shutil
import sys
import sysconfig
from pathlib import Path

from local import machine
from local.aws.functions import unpacked_files
from local.cache_folder import cache_folder

#: Where a layer's packages are, below /opt.
PACKAGES = "python"
#: The environment that runs us: for functions without packages of their own, as Lambda's image has boto3.
OURS = Path(sysconfig.get_path("purelib"))


def has_packages(layer: Path) -> bool:
    """Whether there is anything to import in a layer; others hold programs."""
    return (layer / PACKAGES).is_dir()


def runnable(layer: Path) -> Path:
    """The folder of packages to import, from the folder of a layer asset, whose name tells its content."""
    name = f"{layer.name}-{sys.implementation.cache_tag}-{machine.processor()}"
    return unpacked_files.made_once(
        cache_folder() / "layers" / name, lambda draft: _fill(layer / PACKAGES, draft)
    )


def add_native_modules(packages: Path) -> None:
    """Put this machine's own beside each native module of the layer; the import system takes what fits."""
    for module in sorted(packages.rglob("*.so")):
        place = module.parent.relative_to(packages)
        for own in (OURS / place).glob(f"{module.name.partition('.')[0]}.*.so"):
            shutil.copyfile(own, packages / place / own.name)
            unpacked_files.seal(packages / place / own.name, own.stat().st_mode)


def _fill(packages: Path, folder: Path) -> None:
    unpacked_files.lay_out(packages, folder)
    add_native_modules(folder)
    for bytecode in sorted(folder.rglob("*.pyc")):
        if f".{sys.implementation.cache_tag}." not in bytecode.name:
            _compile(bytecode)


def _compile(bytecode: Path) -> None:
    """This Python's bytecode beside that of another version, so that no import is slower than on Lambda."""
    source = bytecode.parent.parent / f"{bytecode.name.partition('.')[0]}.py"
    target = bytecode.with_name(f"{source.stem}.{sys.implementation.cache_tag}.pyc")
    if source.is_file() and not target.exists():
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(str(source), str(target), doraise=True, invalidation_mode=mode)
        unpacked_files.seal(target)
