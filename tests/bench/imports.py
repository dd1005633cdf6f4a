"""How much processor time a function takes to load its handler: a fresh interpreter in its assets, as Lambda has it.

What nearly all of them load is a figure by itself, and not part of a handler's own.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from local.aws.functions.runnable_layer import runnable
from tests.bench.assembly import assembly, code_of, layer_of
from tests.bench.figure import Measurement

SDK, LAB, KUBERNETES = "boto3", "handlers.at_init", "handlers.at_init_kubernetes"
#: What is loaded before a handler is measured: it is there for each event, and a figure of its own.
BEFORE = {
    "boto3": (),
    "lab": (SDK,),
    "kubernetes": (LAB,),
    **dict.fromkeys(("leases", "nodegroups", "guard", "planner", "notices", "slack", "commands"), (LAB,)),
    **dict.fromkeys(("board", "pages", "experiments", "events", "lifecycle"), (LAB,)),
    **dict.fromkeys(("cluster", "diagnosis"), (KUBERNETES,)),
    # Most of its events call nothing of AWS.
    "deploy": (),
}
#: The module that a figure is about, where it is not the handler of its name.
MODULES = {"boto3": SDK, "lab": LAB, "kubernetes": KUBERNETES}
#: The best of so many: what it takes when nothing else wants the machine.
TIMES = 7
#: No site-packages hooks, the asset's folder first, the packages behind it: as the runtime has it.
LOADS = """
import importlib, sys, time
code, packages, measured, *before = sys.argv[1:]
sys.path.insert(0, code)
sys.path.append(packages)
for name in before:
    importlib.import_module(name)
"""
TIMED = """
begun = time.process_time()
importlib.import_module(measured)
print((time.process_time() - begun) * 1000)
"""
#: A second is as long as the machine is busy; a count is the same everywhere.
COUNTED = """
import json
there, calls = len(sys.modules), 0
def count(frame, event, argument):
    global calls
    calls += event in {"call", "c_call"}
sys.setprofile(count)
importlib.import_module(measured)
sys.setprofile(None)
print(json.dumps([calls, len(sys.modules) - there]))
"""
#: What the first real event takes in all: the handler, the lab, a client.
FIRST_EVENT = """
import sys, time
code, packages = sys.argv[1:]
sys.path.insert(0, code)
sys.path.append(packages)
begun = time.process_time()
import handlers.leases
from pathlib import Path
from lamplighter.lab.model import Lab
Lab.from_json(Path(code, "lab.json").read_text("utf-8"))
import boto3
boto3.client("dynamodb", region_name="ap-northeast-2")
print((time.process_time() - begun) * 1000)
"""


@dataclass(frozen=True)
class Work:
    """What a function does to load its handler: the calls of Python and C functions, and the modules that come."""

    calls: int
    modules: int


@dataclass(frozen=True)
class Imports:
    """The folders of the two assets, which nothing is written into."""

    code: Path
    packages: Path

    def milliseconds(self, figure: str) -> float:
        """Of processor time for what a figure is about, once."""
        return float(self._loads(figure, TIMED))

    def work(self, figure: str) -> Work:
        """What a figure is about does, counted."""
        return Work(*json.loads(self._loads(figure, COUNTED)))

    def first_event(self) -> float:
        """Milliseconds of processor time from a fresh interpreter to a client, once."""
        return float(self._run(FIRST_EVENT))

    def _loads(self, figure: str, measured: str) -> str:
        return self._run(LOADS + measured, MODULES.get(figure, f"handlers.{figure}"), *BEFORE[figure])

    def _run(self, program: str, *arguments: str) -> str:
        done = subprocess.run(
            [
                *(sys.executable, "-I", "-S", "-B", "-c"),
                program,
                str(self.code),
                str(self.packages),
                *arguments,
            ],
            env={"PATH": os.defpath, "LANG": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout


def _take() -> Mapping[str, float]:
    imports = Imports(code_of(assembly()), runnable(layer_of(assembly())))
    return dict(_best(imports))


def _best(imports: Imports) -> Iterator[tuple[str, float]]:
    for figure in BEFORE:
        yield f"import-{figure}", min(imports.milliseconds(figure) for _ in range(TIMES))
    yield "first-event", min(imports.first_event() for _ in range(TIMES))


MEASUREMENTS = (Measurement({**{f"import-{figure}": "ms" for figure in BEFORE}, "first-event": "ms"}, _take),)
