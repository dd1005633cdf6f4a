"""What the doctor says of EC2's capacity for the lab: vCPU quotas, and whether the zone has the instance type."""

from collections.abc import Iterator
from datetime import datetime

from lamplighter.data import instance_types
from lamplighter.domain.doctor.facts import Facts
from lamplighter.domain.doctor.line import Judgement, Unread, unknown, unwell, well
from lamplighter.lab.model import Lab
from lamplighter.values.counted import counted

FAMILIES = {"g_and_vt_vcpus": "G and VT", "p_vcpus": "P"}


def quota_g_and_vt(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The quota of G and VT instances holds all nodes that the lab may ever have."""
    yield from _quota(facts, lab, "g_and_vt_vcpus")


def quota_p(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The quota of P instances does."""
    yield from _quota(facts, lab, "p_vcpus")


def _quota(facts: Facts, lab: Lab, key: str) -> Iterator[Judgement]:
    family, wanted, pools = FAMILIES[key], 0, list[str]()
    for pool in lab.pools:
        kind, nodes = facts.instance_type(lab, pool), facts.most_nodes(lab, pool)
        if isinstance(kind, Unread):
            # Whichever family it is of: both quotas may be meant.
            yield unknown(kind)
            return
        if instance_types.quota(kind) != key:
            continue
        if isinstance(nodes, Unread):
            yield unknown(nodes)
            return
        known = instance_types.gpu_type(kind)
        if known is None:
            yield unknown(f"how many vCPUs {kind} of pool {pool} has is not in the table shipped with us")
            return
        wanted += nodes * known.vcpus
        pools.append(f"{counted(nodes, 'node')} {kind} of pool {pool}")
    if not pools:
        yield well(f"no pool of the lab is of {family} instances")
        return
    yield _held(facts, lab, key, wanted, " and ".join(pools))


def _held(facts: Facts, lab: Lab, key: str, wanted: int, pools: str) -> Judgement:
    found, code = facts.quotas.get(key, Unread("it was not asked for")), instance_types.QUOTA_CODES[key]
    if isinstance(found, Unread):
        return unknown(found)
    held = f"{pools} need {wanted} vCPUs, and the quota of {FAMILIES[key]} instances in {lab.region} is {found:g}"
    if wanted <= found:
        return well(f"{held}; what else runs in the account counts too")
    return unwell(
        held,
        f"aws service-quotas request-service-quota-increase --service-code ec2 --quota-code {code}"
        f" --desired-value {wanted} --region {lab.region}, which takes hours to days; or lower max_nodes",
    )


def offering(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """Each pool's instance type is offered in its zone."""
    for pool in lab.pools:
        kind = facts.instance_type(lab, pool)
        if isinstance(kind, Unread):
            yield unknown(kind)
        elif isinstance(facts.offered, Unread):
            yield unknown(facts.offered)
        else:
            yield _offered(facts, lab, pool, kind, facts.offered.get(kind, frozenset()))


def _offered(facts: Facts, lab: Lab, pool: str, kind: str, offered: frozenset[str]) -> Judgement:
    group, said = facts.groups.get(pool), lab.pools[pool]
    if isinstance(group, Unread):
        return unknown(group)
    if group is not None:
        zones = group.zones
    elif said.existing is not None:
        return unknown(f"in which zone pool {pool} is nobody says: node group {said.existing} is not there")
    else:
        zones = (lab.cluster.zones[said.zone_index],)
    here = sorted(offered & set(zones))
    if here:
        return well(f"{kind} of pool {pool} is offered in {', '.join(here)}")
    where = ", ".join(zones) or "any zone of its node group"
    return unwell(f"{kind} of pool {pool} is not offered in {where}", _elsewhere(lab, pool, kind, offered))


def _elsewhere(lab: Lab, pool: str, kind: str, offered: frozenset[str]) -> str:
    if not offered:
        return f"EC2 offers no {kind} in {lab.region} to this account: take another instance type, or another region"
    for index, zone in enumerate(lab.cluster.zones):
        if zone in offered and lab.pools[pool].existing is None:
            return f"write zone_index: {index} for the pool, which is {zone}"
    return f"name one of {', '.join(sorted(offered))} in cluster.zones, or take another instance type"
