"""The doctor's checks of EC2 capacity for the lab: vCPU and disk quotas, and the zones of the instance types."""

import math
from collections.abc import Iterator
from datetime import datetime

from lamplighter.data import instance_types
from lamplighter.domain.doctor.facts import Facts
from lamplighter.domain.doctor.line import Judgement, Unread, unknown, unwell, well
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Said, reason

FAMILIES = {
    "g_and_vt_vcpus": reason("doctor.family.g-and-vt"),
    "p_vcpus": reason("doctor.family.p"),
    "g_and_vt_spot_vcpus": reason("doctor.family.g-and-vt-spot"),
    "p_spot_vcpus": reason("doctor.family.p-spot"),
}
CODES = instance_types.QUOTA_CODES | instance_types.SPOT_QUOTA_CODES
GIB_IN_TIB = 1024


def quota_g_and_vt(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The quota of G and VT instances is large enough for all nodes that the lab may have."""
    yield from _quota(facts, lab, "g_and_vt_vcpus")


def quota_p(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The same for the quota of P instances."""
    yield from _quota(facts, lab, "p_vcpus")


def quota_g_and_vt_spot(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The same for the quota of Spot Instance requests of G and VT instances."""
    yield from _quota(facts, lab, "g_and_vt_spot_vcpus")


def quota_p_spot(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The same for the quota of Spot Instance requests of P instances."""
    yield from _quota(facts, lab, "p_spot_vcpus")


def spot_role(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The account has EC2's service-linked role for Spot: then nobody has to create it at the first opening."""
    if isinstance(facts.spot_role, Unread):
        yield unknown(facts.spot_role)
    elif facts.spot_role:
        yield well(reason("doctor.spot-role-ok"))
    else:
        pools = tuple(lab.spot_pools)
        yield unwell(reason("doctor.spot-role.to-come", pools=pools), reason("doctor.spot-role.advice"))


def _quota(facts: Facts, lab: Lab, key: str) -> Iterator[Judgement]:
    family, wanted, pools = FAMILIES[key], 0, list[Said]()
    for pool in lab.pools:
        types, nodes = facts.instance_types(lab, pool), facts.most_nodes(lab, pool)
        if isinstance(types, Unread):
            # Its family is unknown, so either quota may apply.
            yield unknown(types)
            return
        vcpus = {
            kind: known.vcpus if (known := instance_types.gpu_type(kind)) else None
            for kind in types
            if instance_types.quota(kind, spot=lab.pools[pool].spot) == key
        }
        if not vcpus:
            continue
        if isinstance(nodes, Unread):
            yield unknown(nodes)
            return
        if untabled := next((kind for kind, each in vcpus.items() if each is None), None):
            yield unknown(reason("doctor.vcpus-not-in-table", type=untabled, pool=pool))
            return
        # Of several types, all nodes may be of the largest.
        largest = max(vcpus, key=lambda kind: vcpus[kind] or 0)
        wanted += nodes * (vcpus[largest] or 0)
        pools.append(reason("doctor.pool-nodes", nodes=nodes, type=largest, pool=pool))
    if not pools:
        yield well(reason("doctor.family-none", family=family))
        return
    yield _held(facts, lab, key, wanted, tuple(pools))


def _held(facts: Facts, lab: Lab, key: str, wanted: int, pools: tuple[Said, ...]) -> Judgement:
    found, code = (
        facts.quotas.get(key, Unread(reason("doctor.not-asked-for"))),
        CODES[key],
    )
    if isinstance(found, Unread):
        return unknown(found)
    held = reason(
        "doctor.quota-held",
        pools=pools,
        wanted=wanted,
        family=FAMILIES[key],
        region=lab.region,
        quota=f"{found:g}",
    )
    if wanted <= found:
        return well(reason("doctor.quota-ok", held=held))
    increase = reason("doctor.quota-increase", service="ec2", code=code, value=wanted, region=lab.region)
    return unwell(held, reason("doctor.or-fewer-nodes", increase=increase))


def quota_disks(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The quota of gp3 volumes is large enough for the disks of all nodes that the lab may have."""
    wanted, stated = 0, {name: pool.disk_gib for name, pool in lab.pools.items() if pool.disk_gib}
    if not stated:
        yield well(reason("doctor.disks-unstated"))
        return
    for pool, disk in stated.items():
        nodes = facts.most_nodes(lab, pool)
        if isinstance(nodes, Unread):
            yield unknown(nodes)
            return
        wanted += nodes * disk
    if isinstance(facts.disks, Unread):
        yield unknown(facts.disks)
        return
    quota = f"{facts.disks:g}"
    held = reason("doctor.disks-held", pools=tuple(stated), wanted=wanted, region=lab.region, quota=quota)
    if wanted <= facts.disks * GIB_IN_TIB:
        yield well(reason("doctor.disks-ok", held=held))
        return
    value, code = math.ceil(wanted / GIB_IN_TIB), instance_types.DISK_QUOTA
    increase = reason("doctor.quota-increase", service="ebs", code=code, value=value, region=lab.region)
    yield unwell(held, reason("doctor.or-smaller-disks", increase=increase))


def offering(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """Each of a pool's instance types is offered in one of its zones."""
    for pool in lab.pools:
        types = facts.instance_types(lab, pool)
        if isinstance(types, Unread):
            yield unknown(types)
        elif isinstance(facts.offered, Unread):
            yield unknown(facts.offered)
        else:
            for kind in types:
                yield _offered(facts, lab, pool, kind, facts.offered.get(kind, frozenset()))


def _offered(facts: Facts, lab: Lab, pool: str, kind: str, offered: frozenset[str]) -> Judgement:
    group, said = facts.groups.get(pool), lab.pools[pool]
    if isinstance(group, Unread):
        return unknown(group)
    if group is not None:
        zones = group.zones
    elif said.existing is not None:
        return unknown(reason("doctor.zone-unknown", pool=pool, group=said.existing))
    else:
        zones = tuple(lab.cluster.zones[index] for index in said.zone_indexes)
    here = sorted(offered & set(zones))
    if here:
        return well(reason("doctor.offered", type=kind, pool=pool, zones=tuple(here)))
    where = tuple(zones) or reason("doctor.any-zone")
    return unwell(
        reason("doctor.not-offered", type=kind, pool=pool, zones=where), _elsewhere(lab, pool, kind, offered)
    )


def _elsewhere(lab: Lab, pool: str, kind: str, offered: frozenset[str]) -> Said:
    if not offered:
        return reason("doctor.not-offered-in-region", type=kind, region=lab.region)
    for index, zone in enumerate(lab.cluster.zones):
        if zone in offered and lab.pools[pool].existing is None:
            return reason("doctor.other-zone", index=index, zone=zone)
    return reason("doctor.name-zone", zones=tuple(sorted(offered)))
