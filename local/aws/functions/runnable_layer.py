"""The functions' dependency layer, so that this machine can run it.

The layer of an assembly is built for Lambda's processor. Its Python and its bytecode run anywhere. The few native
modules come from the environment that runs this program, which has the same lock. The result is made once, in the
user's cache folder.
"""

import py_compile
import shutil
import sys
import sysconfig
from pathlib import Path

from local import machine
from local.aws.functions import unpacked_files
from local.cache_folder import cache_folder

#: The folder of a layer's packages, below /opt.
PACKAGES = "python"
#: The environment that runs this program, for functions without packages of their own: Lambda's image has boto3, too.
OURS = Path(sysconfig.get_path("purelib"))


def has_packages(layer: Path) -> bool:
    """Whether a layer has Python packages. Other layers have programs."""
    return (layer / PACKAGES).is_dir()


def runnable(layer: Path) -> Path:
    """The folder of packages to import, made from the folder of a layer asset.

    The name of that folder identifies its content.
    """
    name = f"{layer.name}-{sys.implementation.cache_tag}-{machine.processor()}"
    return unpacked_files.made_once(
        cache_folder() / "layers" / name, lambda draft: _fill(layer / PACKAGES, draft)
    )


def add_native_modules(packages: Path) -> None:
    """Puts this machine's version beside each native module of the layer. Python imports the one that fits."""
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
    """Adds the bytecode of this Python version, so that no import is slower than on Lambda."""
    source = bytecode.parent.parent / f"{bytecode.name.partition('.')[0]}.py"
    target = bytecode.with_name(f"{source.stem}.{sys.implementation.cache_tag}.pyc")
    if source.is_file() and not target.exists():
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(str(source), str(target), doraise=True, invalidation_mode=mode)
        unpacked_files.seal(target)
