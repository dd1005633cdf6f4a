"""What a worker imports: its code and its layers' packages as the archives have them, and nothing beside.

On AWS /var/task and /opt come out of zip archives, cannot be written and hold what was packed: bytecode only
where bytecode was packed. A layer's packages are built for arm64; what of them only runs there is taken from
the environment that runs us, which holds the same lock.
"""

import os
import platform
import py_compile
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from local.aws.assets import cache_folder

#: A layer's own name for where its packages are.
FOLDER = "python"
#: The environment that runs us: for functions without packages of their own, as Lambda's image has boto3.
OURS = Path(sysconfig.get_path("purelib"))
#: 1 January 1980, which CDK gives every file of its archives: what compares times finds bytecode stale.
PACKED = 315532800
READ_ONLY = 0o444
BINARIES = (".so", ".dylib", ".pyd")


def packed(source: Path, target: Path) -> Path:
    """`source` as it comes out of its archive: the same files, old and read-only."""
    if not target.is_dir():
        _made(target, lambda draft: _lay_out(source, draft))
    return target


def of_layer(layer: Path) -> Path | None:
    """The packages of an unpacked layer, for this machine; None where it has none.

    Made once for each layer and Python, in the user's cache folder.
    """
    source = layer / FOLDER
    if not source.is_dir():
        return None
    name = f"{layer.name}-{sys.implementation.cache_tag}-{platform.machine()}"
    target = cache_folder() / "packages" / name
    if not target.is_dir():
        _made(target, lambda draft: _for_this_machine(source, draft))
    return target


def _made(target: Path, fill: Callable[[Path], None]) -> None:
    """A folder that nobody ever sees half done; several may ask at once."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=target.parent, prefix="draft-"))
    try:
        fill(draft)
        draft.rename(target)
    except OSError:
        if not target.is_dir():  # else somebody else was first
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _lay_out(source: Path, target: Path) -> None:
    for path in _files(source):
        _put(path, target / path.relative_to(source))


def _for_this_machine(source: Path, target: Path) -> None:
    tag = sys.implementation.cache_tag
    for path in _files(source):
        place = path.relative_to(source)
        if path.suffix in BINARIES:
            for own in (OURS / place).parent.glob(f"{path.name.partition('.')[0]}.*"):
                if own.suffix in BINARIES:
                    _put(own, target / place.with_name(own.name))
        elif path.suffix == ".pyc" and f".{tag}." not in path.name:
            _compile(source, place, target)
        else:
            _put(path, target / place)


def _compile(source: Path, bytecode: Path, target: Path) -> None:
    """This Python's bytecode where the layer has that of another version."""
    module = bytecode.parent.parent / f"{bytecode.name.partition('.')[0]}.py"
    if (source / module).is_file():
        name = f"{module.stem}.{sys.implementation.cache_tag}.pyc"
        place = target / bytecode.with_name(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(
            str(source / module), str(place), str(module), invalidation_mode=mode, doraise=True
        )


def _put(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    os.utime(target, (PACKED, PACKED))
    target.chmod(source.stat().st_mode & 0o111 | READ_ONLY)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())
