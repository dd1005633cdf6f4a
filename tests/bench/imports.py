"""How long a function takes to load its handler: a fresh interpreter in the code asset, as Lambda starts one."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping

from tests.bench.assembly import code_asset
from tests.bench.figure import Measurement

FUNCTIONS = (
    "leases",
    "nodegroups",
    "cluster",
    "diagnosis",
    "guard",
    "planner",
    "notices",
    "deploy",
    "slack",
    "commands",
)
#: The best of so many: what it takes when nothing else wants the machine.
TIMES = 7
#: No site-packages hooks, the asset's folder first, the packages behind it: as the runtime has it.
PROGRAM = """
import importlib, sys, time
begun = time.perf_counter()
sys.path.append(sys.argv[1])
importlib.import_module(sys.argv[2])
print((time.perf_counter() - begun) * 1000)
"""
#: What the first real event loads on top: the lab's model and the SDK.
FIRST_EVENT = """
import sys, time
begun = time.perf_counter()
sys.path.append(sys.argv[1])
import handlers.leases
from pathlib import Path
from lamplighter.lab import Lab
Lab.from_json(Path("lab.json").read_text("utf-8"))
import boto3
boto3.client("dynamodb", region_name="ap-northeast-2")
print((time.perf_counter() - begun) * 1000)
"""


def _take() -> Mapping[str, float]:
    handlers = {f"import-{name}": _best(PROGRAM, f"handlers.{name}") for name in FUNCTIONS}
    return {**handlers, "first-event": _best(FIRST_EVENT)}


def _best(program: str, *arguments: str) -> float:
    packages = sysconfig.get_path("purelib")
    # The first run writes the bytecode that the others read.
    command = [sys.executable, "-S", "-c", program, packages, *arguments]
    environment = {"PATH": os.defpath, "LANG": "C.UTF-8"}
    folder = code_asset()
    runs = [
        subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
        for _ in range(TIMES)
    ]
    return min(float(run.stdout) for run in runs)


MEASUREMENTS = (Measurement({**{f"import-{name}": "ms" for name in FUNCTIONS}, "first-event": "ms"}, _take),)
