"""The functions' dependency layer as this machine can run it.

The layer of an assembly is built for Lambda's processor. Its Python and its bytecode run anywhere; the few
native modules come from the environment that runs us, which holds the same lock. Made once into the user's
cache folder.
"""

import shutil
import sysconfig
import tempfile
from pathlib import Path

from local.aws.assets import cache_folder

#: Where a layer's packages are, below /opt.
PACKAGES = "python"


def runnable(layer: Path) -> Path:
    """The folder of packages to import, from the folder of a layer asset, whose name tells its content."""
    folder = cache_folder() / "layers" / layer.name
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=folder.parent))
        shutil.copytree(layer / PACKAGES, draft, dirs_exist_ok=True)
        add_native_modules(draft)
        try:
            draft.rename(folder)
        except OSError:  # somebody else was first
            shutil.rmtree(draft)
    return folder


def add_native_modules(packages: Path) -> None:
    """Put this machine's own beside each native module of the layer; the import system takes what fits."""
    ours = Path(sysconfig.get_path("purelib"))
    for module in sorted(packages.rglob("*.so")):
        place = module.parent.relative_to(packages)
        for own in (ours / place).glob(f"{module.name.partition('.')[0]}.*.so"):
            shutil.copyfile(own, packages / place / own.name)
