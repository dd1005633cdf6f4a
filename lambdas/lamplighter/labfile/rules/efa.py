"""Whether pools with EFA have a type that has it. Nodes of every kind can have it; an adopted pool's is only read."""

from collections.abc import Iterator

from lamplighter.data import instance_types
from lamplighter.lab.model import Lab
from lamplighter.labfile.rules.parts import Misfit


def misfits(lab: Lab) -> Iterator[Misfit]:
    """The pools that ask for EFA and whose instance type has none. Of a type that is not known nothing is said."""
    for name, pool in lab.pools.items():
        known = instance_types.gpu_type(pool.instance_type)
        if not pool.efa or known is None or known.efa:
            continue
        family = pool.instance_type.partition(".")[0]
        larger = next((one for one in instance_types.with_efa() if one.partition(".")[0] == family), None)
        right = f"write a type such as {larger}, or leave it out" if larger else "leave it out"
        text = f"is true, but {pool.instance_type} has no EFA; {right}"
        yield Misfit(
            ("pools", name, "efa"), text, (("pools", name, "kind"), ("pools", name, "instance_type"))
        )
