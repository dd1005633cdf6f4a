"""Our code in the world: the workflows as they are synthesised, functions with cold starts, the ledger's records."""

import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from lamplighter.adapters.aws.ledger import items
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
def workflows_of(lab: str, *, falls_back: bool = False, classes: bool = False) -> dict[str, Json]:
    """The definitions of a lab's workflows, by the names of their state machines."""
    close = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{lab}-close"
    return {
        f"{lab}-{name}": definition
        for name, definition in definitions(close, falls_back=falls_back, classes=classes).items()
    }


def forget_workers() -> None:
    """Deletes what a function keeps between two events: the next event starts cold."""
    for each in _caches(len(sys.modules)):
        each.cache_clear()


OURS = ("handlers.", "lamplighter.application.", "lamplighter.adapters.slack.")


@functools.cache
def _caches(_modules: int) -> list[Any]:
    """The caches of our functions' modules, for this number of loaded modules."""
    ours = [module for name, module in list(sys.modules.items()) if name.startswith(OURS)]
    return [each for module in ours for each in vars(module).values() if hasattr(each, "cache_clear")]


@contextmanager
def reading_records_once() -> Iterator[None]:
    """Reads each item of the ledger once: neither an item of the world nor a record can change."""
    with ExitStack() as stack:
        for reader in ("lease", "pool_state", "audit_entry"):
            stack.enter_context(patch.object(items, reader, _once(getattr(items, reader))))
        yield


def _once(read: Callable[..., object]) -> Callable[..., object]:
    records: dict[Any, tuple[Any, object]] = {}

    def record(*names_and_item: Any) -> object:
        *names, item = names_and_item
        key = (*names, id(item))
        if key not in records:
            # It keeps the item as well, so that no other one gets its identity.
            records[key] = item, read(*names_and_item)
        return records[key][1]

    return record


for _function in (
    "commands",
    "events",
    "lifecycle",
    "slack",
    "leases",
    "nodegroups",
    "cluster",
    "classes",
    "diagnosis",
    "experiments",
    "guard",
    "notices",
    "planner",
    "deploy",
    "board",
    "pages",
    "doctor",
):
    importlib.import_module(f"handlers.{_function}")
