"""Whether the parts of a lab fit each other: what no single key can tell.

Each rule says where, what is wrong and what would be right, and which paths it read, so that one mistake is reported
once. cluster.py checks network, images and versions.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from lamplighter.data import instance_types, prices, regions
from lamplighter.domain.capacity.kinds import identity
from lamplighter.lab.keys import Path, hint
from lamplighter.lab.model import Lab
from lamplighter.lab.types import shown, write_time
from lamplighter.lab.windows import TIMES, Window
from lamplighter.values import zone_names, zones
from lamplighter.values.counted import write_duration

EXAMPLES = {"start": "20:00", "end": "23:00"}
LONGEST_NODEGROUP_NAME = 63


@dataclass(frozen=True, slots=True)
class Misfit:
    """One thing that does not fit, at a path, found by reading some paths."""

    path: Path
    text: str
    reads: tuple[Path, ...] = ()


def misfits(lab: Lab) -> Iterator[Misfit]:
    """The mistakes in pools, windows and money."""
    yield from _places(lab)
    yield from _pools(lab)
    yield from _guard(lab)
    names = Counter(window.name for window in lab.windows)
    for index, window in enumerate(lab.windows):
        path: Path = ("windows", index)
        if names[window.name] > 1 and any(other.name == window.name for other in lab.windows[:index]):
            yield Misfit(
                (*path, "name"), f"is {shown(window.name)}, like a window before it; write another name"
            )
        yield from _window(lab, window, path)
        yield from _span(window, path)
    for name, role in lab.slack.roles.items() if lab.slack else ():
        for index, pool in enumerate(role.pools or ()):
            if pool not in lab.pools:
                yield no_pool(lab, ("slack", "roles", name, "pools", index), pool)


def _places(lab: Lab) -> Iterator[Misfit]:
    known = regions.names()
    partition = regions.other_partition(lab.region)
    if partition is not None:
        # IAM there refuses `arn:aws:`, with which the lab's permissions begin.
        text = f"in partition {partition}, and a lab works only in partition aws; write a region such as ap-northeast-2"
        yield Misfit(("region",), f"is {shown(lab.region)}, {text}")
    elif lab.region not in known:
        yield Misfit(
            ("region",),
            f"is {shown(lab.region)}, which is not a known AWS region"
            f"{hint(lab.region, known, '; write one such as ap-northeast-2')}",
        )
    yield from _zone(lab.time_zone, ("time_zone",))


def _zone(name: str, path: Path) -> Iterator[Misfit]:
    if name not in zones.names():
        cities = " or ".join(zone_names.meant(name))
        yield Misfit(
            path, f"is {shown(name)}, which is no zone of the IANA list; write a name such as {cities}"
        )


def _pools(lab: Lab) -> Iterator[Misfit]:
    for name, pool in lab.pools.items():
        path: Path = ("pools", name)
        what = pool.noun
        if pool.existing is not None and lab.cluster.existing is None:
            yield Misfit(
                (*path, "existing"),
                f"names a {what}, but cluster.existing names no cluster; name the cluster of the {what}",
                (("cluster", "existing"),),
            )
        if pool.existing is None and lab.cluster.existing is not None:
            yield Misfit(
                path,
                f"is not adopted, but nothing is created in an existing cluster; name its {what} in existing",
                ((*path, "existing"), ("cluster", "existing")),
            )
        if pool.auto_scaling_group is not None and pool.existing is None and pool.has("group"):
            yield Misfit(
                (*path, "auto_scaling_group"),
                "is only for an existing node group: EKS names the group of a new one; leave it out",
                ((*path, "existing"),),
            )
        made = identity(lab, name).name
        if len(made) > LONGEST_NODEGROUP_NAME:
            yield Misfit(
                path,
                f"makes the {what} {made}, which is longer than {LONGEST_NODEGROUP_NAME} characters;"
                " shorten the pool's name or the lab's",
                (("name",),),
            )
        yield from _price(lab, name, path)


def _price(lab: Lab, name: str, path: Path) -> Iterator[Misfit]:
    pool, currency = lab.pools[name], lab.guard.budget.currency
    if pool.price_per_hour is not None or not pool.instance_type or lab.region not in regions.names():
        return
    if pool.has("auto mode") and any(map(instance_types.not_in_auto_mode, pool.types)):
        return
    if prices.dearest(lab.region, pool.types, currency, fee=pool.has("fee")) is None:
        fee = " with the fee of EKS Auto Mode" if pool.has("fee") else ""
        yield Misfit(
            (*path, "price_per_hour"),
            f"is left out, and no price of {' and '.join(pool.types)}{fee} in {lab.region} in {currency} is known;"
            ' state what a node costs for an hour, such as "1.237"',
            ((*path, pool.types_key), (*path, "kind"), ("region",), ("guard", "budget", "currency")),
        )


def _guard(lab: Lab) -> Iterator[Misfit]:
    guard = lab.guard
    if guard.default_lease > guard.longest_lease:
        yield Misfit(
            ("guard", "default_lease"),
            f"is {write_duration(guard.default_lease)}, longer than longest_lease;"
            f" write at most {write_duration(guard.longest_lease)}",
            (("guard", "longest_lease"),),
        )


def no_pool(lab: Lab, path: Path, name: str) -> Misfit:
    """The mistake that the lab has no such pool, with the nearest name."""
    known = list(lab.pools)
    otherwise = f"; write one of {', '.join(known[:5])}"
    text = f"is {shown(name)}, which is no pool of this lab{hint(name, known, otherwise)}"
    return Misfit(path, text, (("pools",), ("pools", name)))


def _window(lab: Lab, window: Window, path: Path) -> Iterator[Misfit]:
    if window.pool is None and len(lab.pools) > 1:
        yield Misfit(
            (*path, "pool"),
            f"is left out, but the lab has {len(lab.pools)} pools; write one of {', '.join(lab.pools)}",
            (("pools",),),
        )
    elif window.pool is not None and window.pool not in lab.pools:
        yield no_pool(lab, (*path, "pool"), window.pool)
    else:
        yield from _nodes(lab, window, path)
    yield from _dates(window, path)
    if window.time_zone is not None:
        yield from _zone(window.time_zone, (*path, "time_zone"))
    if window.timed:
        yield from _length(lab, window, path)


def _dates(window: Window, path: Path) -> Iterator[Misfit]:
    """A window has days or dates with a start and an end, or a calendar that has all of them."""
    if window.calendar_secret is not None and not window.online:
        text = "is for a calendar at an https address, leave it out"
        yield Misfit((*path, "calendar_secret"), text, ((*path, "calendar"),))
    if window.calendar is not None:
        for key in ("days", "dates", *TIMES):
            if getattr(window, key) is not None:
                yield Misfit(
                    (*path, key), "is given beside calendar, keep one of the two", ((*path, "calendar"),)
                )
        return
    # A calendar that could not be read was meant to name the times.
    meant = (*path, "calendar")
    for key in TIMES:
        if getattr(window, key) is None:
            yield Misfit((*path, key), f"is missing, write {key}: {shown(EXAMPLES[key])}", (meant,))
    if window.days is None and window.dates is None:
        yield Misfit(
            path,
            "has neither days nor dates nor a calendar, write one of them",
            ((*path, "days"), (*path, "dates"), meant),
        )
    if window.days is not None and window.dates is not None:
        yield Misfit((*path, "dates"), "is given beside days, keep one of the two", ((*path, "days"),))


def _nodes(lab: Lab, window: Window, path: Path) -> Iterator[Misfit]:
    pool = lab.pool_of(window)
    most = lab.pools[pool].max_nodes
    if window.seats is not None:
        yield from _seats(lab, window, window.seats, path)
    if window.nodes is not None and most and window.nodes > most:
        yield Misfit(
            (*path, "nodes"),
            f"is {window.nodes}, more than pool {pool} may have; write at most {most}",
            ((*path, "pool"), ("pools", pool, "max_nodes")),
        )


def _seats(lab: Lab, window: Window, seats: int, path: Path) -> Iterator[Misfit]:
    name = lab.pool_of(window)
    pool, where = lab.pools[name], (*path, "seats")
    keys = (pool.types_key, "max_nodes", "seats_per_gpu")
    reads: tuple[Path, ...] = (
        (*path, "nodes"), (*path, "pool"), (*path, "gpu"), ("gpu",), *(("pools", name, key) for key in keys)
    )  # fmt: skip
    known, each = instance_types.gpu_type(pool.instance_type), lab.seats_per_gpu(name, window.name)
    if window.nodes is not None:
        yield Misfit(where, "is given beside nodes, keep one of the two", reads)
    elif known is None:
        of = (
            f"type {pool.instance_type}" if pool.instance_type else f"pool {name}, whose type is left to AWS,"
        )
        right = "write nodes" if pool.instance_type else "write its instance_type, or nodes"
        yield Misfit(
            where, f"needs the number of GPUs of a node, and that of {of} is not known; {right}", reads
        )
    elif pool.max_nodes and lab.nodes_of(window) > pool.max_nodes:
        yield Misfit(
            where,
            f"is {seats}, which needs {lab.nodes_of(window)} nodes of {known.gpus} x {each} seats, and pool {name} may"
            f" have {pool.max_nodes}; write at most {pool.max_nodes * known.gpus * each}, or more max_nodes",
            reads,
        )


def _length(lab: Lab, window: Window, path: Path) -> Iterator[Misfit]:
    times = ((*path, "start"), (*path, "end"))
    if window.begins == window.end:
        end = write_time(window.end)
        yield Misfit(
            (*path, "end"),
            f"is {end}, like start; write when the window closes; a whole day is 00:00 to 24:00",
            times,
        )
    elif window.length > lab.guard.longest_lease:
        yield Misfit(
            (*path, "end"),
            f"window {window.name} lasts {write_duration(window.length)}; longest_lease allows"
            f" {write_duration(lab.guard.longest_lease)}",
            (*times, ("guard", "longest_lease")),
        )


def _span(window: Window, path: Path) -> Iterator[Misfit]:
    first, last = window.from_, window.until
    if first is not None and last is not None and last < first:
        yield Misfit(
            (*path, "until"),
            f"is {last}, before from ({first}), so window {window.name} would never open; write a later day",
            ((*path, "from"), (*path, "until")),
        )
