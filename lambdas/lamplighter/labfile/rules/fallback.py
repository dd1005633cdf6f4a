"""Whether a pool's `fallback` can take its leases: another pool of enough nodes and GPUs, in a short chain."""

from collections.abc import Iterator

from lamplighter.data import instance_types
from lamplighter.lab.keys import Path
from lamplighter.lab.model import Lab
from lamplighter.lab.pools import LONGEST_CHAIN
from lamplighter.labfile.rules.parts import Misfit, no_pool


def misfits(lab: Lab) -> Iterator[Misfit]:
    """The fallbacks that cannot work, and `fallback_ask` without one."""
    for name, pool in lab.pools.items():
        path: Path = ("pools", name, "fallback")
        if pool.fallback is None:
            if pool.fallback_ask:
                text = "is true, but the pool has no fallback; name another pool in fallback, or leave it out"
                yield Misfit(("pools", name, "fallback_ask"), text, (path,))
        elif pool.fallback not in lab.pools:
            yield no_pool(lab, path, pool.fallback)
        else:
            wrong = _chain(lab, name) or _smaller(lab, name, pool.fallback)
            if wrong is not None:
                other: Path = ("pools", pool.fallback)
                yield Misfit(
                    path, wrong, ((*other, "max_nodes"), (*other, "instance_type"), (*other, "fallback"))
                )


def _chain(lab: Lab, name: str) -> str | None:
    """What is wrong with the chain that begins at a pool."""
    following, chain = lab.pools[name].fallback, [name]
    if following == name:
        return "is the pool itself; write another pool, or leave it out"
    while following is not None and following in lab.pools:
        chain.append(following)
        if following in chain[:-1]:
            return f"goes in a circle ({', '.join(chain)}); leave out fallback in one of them"
        if len(chain) > LONGEST_CHAIN:
            most = f"a chain has at most {LONGEST_CHAIN} pools"
            return f"begins the chain {', '.join(chain)}, and {most}; leave out fallback in one of them"
        following = lab.pools[following].fallback
    return None


def _smaller(lab: Lab, name: str, other: str) -> str | None:
    """Why some lease of the pool would not fit the other; None where a value is only known in AWS."""
    pool, fallback = lab.pools[name], lab.pools[other]
    if pool.max_nodes and fallback.max_nodes and fallback.max_nodes < pool.max_nodes:
        return (
            f"is {other}, which may have {fallback.max_nodes} nodes, and {name} may have {pool.max_nodes}: a lease"
            f" moves whole; write max_nodes: {pool.max_nodes} there, or name a larger pool"
        )
    mine, theirs = (
        [kind.gpus for kind in map(instance_types.gpu_type, one.types) if kind is not None]
        for one in (pool, fallback)
    )
    if mine and theirs and min(theirs) < max(mine):
        fewer = f"is {other}, whose nodes have fewer GPUs ({min(theirs)}) than those of {name} ({max(mine)})"
        return f"{fewer}; name a pool whose nodes have at least {max(mine)}"
    for window in lab.windows:
        if window.seats is None or window.pool not in {name, None}:
            continue
        here, there = (lab.seats_a_node(one, window.name) for one in (name, other))
        if here is not None and there is not None and there < here:
            return (
                f"is {other}, whose nodes have fewer seats ({there}) than those of {name} ({here}), and window"
                f" {window.name} states seats; write seats_per_gpu there, or name another pool"
            )
    return None
