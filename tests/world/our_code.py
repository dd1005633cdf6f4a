"""Our code in the world: the workflows as they are synthesised, and functions with cold starts."""

import functools
import importlib
import sys
from typing import Any

from tests.infra.workflow_definitions import definitions
from tests.world.outside import ACCOUNT, REGION

Json = dict[str, Any]
WORKFLOWS = {
    "OPEN_LAB": "open",
    "CLOSE_LAB": "close",
    "EXTEND_LEASE": "extend",
    "CHANGE_LAB": "change",
    "EXPERIMENT": "experiment",
}
"""By the name in a function's environment."""


@functools.cache
def workflows_of(lab: str) -> dict[str, Json]:
    """The definitions of a lab's workflows, by the names of their state machines."""
    close = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{lab}-close"
    return {f"{lab}-{name}": definition for name, definition in definitions(close).items()}


def forget_workers() -> None:
    """Deletes what a function keeps between two events: the next event starts cold."""
    for each in _caches(len(sys.modules)):
        each.cache_clear()


OURS = ("handlers.", "lamplighter.application.")


@functools.cache
def _caches(_modules: int) -> list[Any]:
    """The caches of our functions' modules, for this number of loaded modules."""
    ours = [module for name, module in list(sys.modules.items()) if name.startswith(OURS)]
    return [each for module in ours for each in vars(module).values() if hasattr(each, "cache_clear")]


for _function in (
    "commands",
    "events",
    "lifecycle",
    "slack",
    "leases",
    "nodegroups",
    "cluster",
    "diagnosis",
    "experiments",
    "guard",
    "notices",
    "planner",
    "deploy",
):
    importlib.import_module(f"handlers.{_function}")
