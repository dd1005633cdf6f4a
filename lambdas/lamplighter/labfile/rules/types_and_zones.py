"""Whether the instance types and zones of a pool that the lab creates fit each other, its EFA and its ladders.

An adopted pool has what its owner gave it. cluster.py and auto_mode.py check each type and zone by itself.
"""

from collections.abc import Iterator

from lamplighter.data import instance_types
from lamplighter.domain.checks.ladder import compared_between_nodes
from lamplighter.lab.keys import Path
from lamplighter.lab.model import Lab
from lamplighter.lab.pools import Pool
from lamplighter.labfile.rules.parts import Misfit

# EKS API reference, CreateNodegroup: instanceTypes has 20 at most.
MOST_TYPES = 20


def misfits(lab: Lab) -> Iterator[Misfit]:
    """The mistakes in the lists of types and zones."""
    for name, pool in lab.pools.items():
        path: Path = ("pools", name)
        for key, single in (("instance_types", "instance_type"), ("zones", "zone_index")):
            if getattr(pool, key) and single in pool.model_fields_set:
                yield Misfit(
                    (*path, key), f"is written beside {single}; write one of them", ((*path, single),)
                )
        if pool.existing is not None:
            if pool.zones:
                text = f"is only for a pool that the lab creates: an existing {pool.noun} has its zones; leave it out"
                yield Misfit((*path, "zones"), text, ((*path, "existing"),))
            continue
        yield from _repeated(path, pool)
        yield from _unequal(path, pool)
        yield from _with_efa(path, pool)
        yield from _compared(lab, name, path)


def _repeated(path: Path, pool: Pool) -> Iterator[Misfit]:
    for key, values in (("instance_types", pool.instance_types), ("zones", pool.zones)):
        for index, value in enumerate(values):
            if value in values[:index]:
                yield Misfit((*path, key, index), f"is {value} for a second time, write each once")
    if pool.has("group") and len(pool.instance_types) > MOST_TYPES:
        text = f"names {len(pool.instance_types)} types, EKS takes at most {MOST_TYPES}; leave some out"
        yield Misfit((*path, "instance_types"), text)


def _unequal(path: Path, pool: Pool) -> Iterator[Misfit]:
    """Nodes of one pool stand in for each other: they have as many GPUs each, and one image starts all of them."""
    first = pool.instance_type
    known, architecture = instance_types.gpu_type(first), instance_types.architecture(first)
    for index, name in enumerate(pool.instance_types):
        here: Path = (*path, "instance_types", index)
        other = instance_types.gpu_type(name)
        if known and other and known.gpus != other.gpus:
            text = f"is {name} with {other.gpus} GPUs, but {first} has {known.gpus}; write types with as many GPUs"
            yield Misfit(here, text)
        elif architecture and (its := instance_types.architecture(name)) and its != architecture:
            text = (
                f"is {name}, which is {its}, but {first} is {architecture}; write types of one architecture"
            )
            yield Misfit(here, text)


def _with_efa(path: Path, pool: Pool) -> Iterator[Misfit]:
    """A placement group is in one zone, and a type has its own number of interfaces."""
    for key, many in (("instance_types", len(pool.types)), ("zones", len(pool.zone_indexes))):
        if pool.efa and many > 1:
            what = "types" if key == "instance_types" else "zones"
            text = f"is true, but {key} names {many}: the nodes of a pool with EFA are of one type and in one zone;"
            yield Misfit((*path, "efa"), f"{text} write one of the {what}", ((*path, key),))


def _compared(lab: Lab, pool: str, path: Path) -> Iterator[Misfit]:
    """A check between nodes says nothing of nodes that may differ."""
    if not lab.pools[pool].is_mixed or lab.pools[pool].max_nodes == 1:
        return
    types = ((*path, "instance_types"), (*path, "max_nodes"))
    stated: list[tuple[Path, str | None]] = [(("checks", "ladder"), None)]
    stated += [
        (("windows", index, "checks", "ladder"), window.name)
        for index, window in enumerate(lab.windows)
        if window.checks is not None and window.checks.ladder and (window.pool or pool) == pool
    ]
    for where, window in stated:
        ladder = lab.checks_for(window)
        between = compared_between_nodes(ladder)
        if between:
            text = (
                f"is {ladder.ladder}, whose check {between[0]} compares nodes, but pool {pool} may have nodes of"
                f" {' and '.join(lab.pools[pool].types)}; write smoke, or one instance_type"
            )
            yield Misfit(where, text, types)
