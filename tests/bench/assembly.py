"""What is built for AWS: how long a synthesis takes, what its assets weigh, what they cost while idle."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from local.assembly import Assembly, synthesise
from local.aws.functions.assets import unpacked
from stacks import cost
from stacks.layer import CHECKOUT
from tests.bench.figure import Measurement, seconds_of

LAB = Path(__file__).parent / "labs" / "window.yaml"
#: A Lambda layer's own name for where its packages are; the code asset has the lab instead.
LAYER_FOLDER, CODE_FILE = "python", "lab.json"


@cache
def assembly() -> Assembly:
    """The assembly of the lab that is measured; kept between runs while nothing changes."""
    return synthesise(LAB)


def code_of(made: Assembly) -> Path:
    """The functions' code, unpacked from an assembly."""
    return _asset_with(CODE_FILE, made)


def layer_of(made: Assembly) -> Path:
    """The layer of the functions' dependencies, unpacked from an assembly."""
    return _asset_with(LAYER_FOLDER, made)


def _asset_with(name: str, made: Assembly) -> Path:
    folders = (unpacked(archive, archive.stem) for archive in sorted(made.folder.glob("asset.*.zip")))
    return next(folder for folder in folders if (folder / name).exists())


def _synth() -> Mapping[str, float]:
    with tempfile.TemporaryDirectory(prefix="lamplighter-bench-") as folder:

        def synth() -> None:
            command = [sys.executable, "app.py", "--lab", str(LAB), "--out", f"{folder}/out"]
            subprocess.run(command, cwd=CHECKOUT, check=True)

        synth()
        return {"synth": seconds_of(synth)}


def _sizes() -> Mapping[str, float]:
    return {
        "code-asset": _bytes(code_of(assembly())) / 2**10,
        "dependencies-asset": _bytes(layer_of(assembly())) / 2**20,
    }


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _idle() -> Mapping[str, float]:
    (template,) = assembly().folder.glob("*-controller.template.json")
    return {"idle-price": float(cost.total(cost.controller(json.loads(template.read_text("utf-8")))))}


MEASUREMENTS = (
    Measurement({"synth": "s"}, _synth),
    Measurement({"code-asset": "KiB", "dependencies-asset": "MiB"}, _sizes),
    Measurement({"idle-price": "USD/month"}, _idle),
)
