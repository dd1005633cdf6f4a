"""Judges whether a window can open: the doctor's checks that matter to it, and what only its own hours show.

A fact that could not be read is no finding: it is listed as unread. adapters/doctor reads the facts, and readiness.py
has the result.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from lamplighter.data import instance_types
from lamplighter.domain.calendar.changes import Pause, paused_at
from lamplighter.domain.doctor.checks import examine
from lamplighter.domain.doctor.facts import AwsIdentity, ClusterFacts, Facts, PoolGroup
from lamplighter.domain.doctor.instance_capacity import CODES, FAMILIES
from lamplighter.domain.doctor.line import DoctorLine, LineOutcome, Unread
from lamplighter.domain.doctor.readiness import Grade, Readiness, ReadinessFinding
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.occupancy import taken_at
from lamplighter.domain.pool.adoption import ExistingCluster
from lamplighter.domain.schedules.of_leases import opens_at
from lamplighter.lab.model import Lab
from lamplighter.lab.pools import Pool
from lamplighter.reasons.reason import Reason, Said, reason
from lamplighter.values.role_name import role_name

PREVENTING = frozenset(
    {
        *("cluster", "authentication", "endpoint", "claim", "offering", "image"),
        *(
            "reservation",
            "auto-mode",
            "karpenter",
            "launching-role",
            "node-pool",
            "node-access",
            "launch-bar",
        ),
    }
)
"""The doctor's checks without which no node of a pool comes or joins."""
DOUBTFUL = frozenset({"minimum", "operator", "slack"})
"""The doctor's checks with which it may open, but not as people expect."""
OPENS_ALL_THE_SAME = frozenset(
    {
        # AWS may have the other type of several, and a lease may need less than the whole pool.
        *("doctor.not-offered", "doctor.not-offered-in-region"),
        *("doctor.reservation-small", "doctor.reservation-unavailable"),
        *("pool.image.al2", "doctor.node-pool-expires"),
    }
)
"""What preventing checks say of pools that open all the same, at least in part. A pool of one type needs its type."""
GONE = "doctor.group-absent"
NOT_FOUND = re.compile(r"\w*NotFound\b")
"""What EKS calls a fault that no start of a node repairs: an image, a role or a template is deleted."""
ONLY_OLD = "doctor.image-age"
"""The doctor's advice on an old image. Nodes start from it all the same."""
ADDRESSES = 11
"""Of a node [est]: its own, and those of about ten pods of the GPU stack beside those of the host network.

The CNI takes whole interfaces, so a node may take many more; in clusters with IPv6 or subnets for pods, only its own.
"""
JOINING = ("cluster", "guard")
"""The functions that open and close a pool through the Kubernetes API, by the purpose of their roles."""
BESIDES = ("nodegroups", "leases")
"""Where a pool has claims, also those that write its size and move its launch bar."""


@dataclass(frozen=True, slots=True)
class WindowFacts:
    """What is read only before a window, beside the doctor's facts."""

    used: Mapping[str, int] | Unread
    """vCPUs of running GPU instances outside the lab's pools, by the lab's keys for quotas."""
    entries: frozenset[str] | Unread
    """The ARNs of the roles that have an access entry of the cluster."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the ledger has of the calendar."""

    leases: Sequence[Lease]
    """Those of every pool."""
    pauses: Sequence[Pause]


def judge(
    lease: Lease, lab: Lab, facts: Facts, window: WindowFacts, plan: Plan, *, now: datetime
) -> Readiness:
    """Judge one window that is ahead."""
    lines = _lines(facts, lab, lease.pool, now)
    unread = {line.check for line in lines if line.outcome is LineOutcome.NOT_KNOWN}
    findings = [
        *_calendar(lease, plan.pauses, now),
        *_quota(lease, lab, facts, window, plan.leases, unread),
        *(_of_line(line, lab.pools[lease.pool]) for line in lines if line.outcome is LineOutcome.NOT_OK),
        *_group(lease, facts, unread),
        *_add_ons(facts, unread),
        *_entries(lease, lab, facts, window, unread),
    ]
    return Readiness(
        lease.id,
        lease.pool,
        lease.window or lease.id,
        lease.date or "",
        lease.opens,
        now,
        tuple(findings),
        tuple(sorted(unread)),
    )


def _lines(facts: Facts, lab: Lab, pool: str, now: datetime) -> list[DoctorLine]:
    """The doctor's lines about this pool, and about what all pools need."""
    alone = lab.model_copy(update={"pools": {pool: lab.pools[pool]}})
    lines = [line for line in examine(facts, alone, now) if line.check in PREVENTING | DOUBTFUL]
    return [line for line in lines if not (isinstance(line.said, Reason) and line.said.code == ONLY_OLD)]


def _of_line(line: DoctorLine, pool: Pool) -> ReadinessFinding:
    code = line.said.code if isinstance(line.said, Reason) else ""
    mild = code in OPENS_ALL_THE_SAME and (pool.is_mixed or line.check != "offering")
    prevents = code == GONE or (line.check in PREVENTING and not mild)
    return ReadinessFinding(
        line.check, Grade.NOT_READY if prevents else Grade.IN_DOUBT, line.said, line.advice
    )


def _calendar(lease: Lease, pauses: Sequence[Pause], now: datetime) -> Iterator[ReadinessFinding]:
    """The planner has compared the window with money, nodes and reserved hours: the lease has its refusal."""
    if lease.refusal is not None:
        yield ReadinessFinding(
            "outlook", Grade.NOT_READY, lease.refusal, reason("doctor.readiness.refusal.advice")
        )
    opens = opens_at(lease, pauses, now)
    pause = paused_at(pauses, max(lease.opens, now))
    if opens == lease.opens or pause is None:
        return
    grade = Grade.NOT_READY if opens is None else Grade.IN_DOUBT
    yield ReadinessFinding("pause", grade, pause.reason(), reason("doctor.readiness.pause.advice"))


def _quota(  # noqa: PLR0917
    lease: Lease, lab: Lab, facts: Facts, window: WindowFacts, leases: Sequence[Lease], unread: set[str]
) -> Iterator[ReadinessFinding]:
    """The quota has room for this window, all others at its hours, and instances of somebody else."""
    # Instances of a Capacity Block count against no quota
    # (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html).
    if lab.pools[lease.pool].of_block:
        return
    keys = _keys(facts, lab, lease.pool)
    if not keys:
        unread.add("quota")
    for key in keys:
        quota = facts.quotas.get(key)
        needed = _most(lease, lab, facts, leases, key)
        if not isinstance(quota, int | float) or isinstance(window.used, Unread) or needed is None:
            unread.add("quota")
            continue
        others = window.used.get(key, 0)
        if needed + others <= quota:
            continue
        said = reason(
            "doctor.readiness.quota",
            needed=needed,
            others=others,
            quota=f"{quota:g}",
            family=FAMILIES[key],
            region=lab.region,
        )
        increase = reason(
            "doctor.quota-increase", service="ec2", code=CODES[key], value=needed + others, region=lab.region
        )
        # Its nodes may be of a smaller one of several types.
        alone = len(lab.pools[lease.pool].types) < 2  # noqa: PLR2004 -- has one type
        grade = Grade.NOT_READY if alone else Grade.IN_DOUBT
        yield ReadinessFinding("quota", grade, said, reason("doctor.or-fewer-nodes", increase=increase))


def _of_block(lab: Lab, pool: str) -> bool:
    return pool in lab.pools and lab.pools[pool].of_block


def _keys(facts: Facts, lab: Lab, pool: str) -> list[str]:
    """The quotas that a pool's instances count against; none where they are not known."""
    types = facts.instance_types(lab, pool)
    named = () if isinstance(types, Unread) else types
    keys = (instance_types.quota(kind, spot=lab.pools[pool].spot) for kind in named)
    return list(dict.fromkeys(key for key in keys if key is not None))


def _most(lease: Lease, lab: Lab, facts: Facts, leases: Iterable[Lease], key: str) -> int | None:
    """The vCPUs under a quota at the window's busiest instant; None where a type is not known."""
    near = [one for one in leases if _counts(one) and one.overlaps(lease.opens, lease.closes)]
    near = [*(one for one in near if one.id != lease.id), lease]
    near = [one for one in near if not _of_block(lab, one.pool)]
    pools = sorted({one.pool for one in near})
    most = 0
    for at in {max(one.opens, lease.opens) for one in near}:
        nodes = [(pool, taken_at((one for one in near if one.pool == pool), at)) for pool in pools]
        needed = _needed(nodes, lab, facts, key)
        if needed is None:
            return None
        most = max(most, needed)
    return most


def _counts(lease: Lease) -> bool:
    return lease.granted or (lease.state is LeaseState.PLANNED and lease.refusal is None)


def _needed(nodes: Sequence[tuple[str, int]], lab: Lab, facts: Facts, key: str) -> int | None:
    """The vCPUs under a quota, each node of its pool's largest type; None where a type is not known."""
    needed = 0
    for pool, count in nodes:
        types = facts.instance_types(lab, pool) if pool in lab.pools else ()
        if isinstance(types, Unread):
            return None
        counted = [
            instance_types.gpu_type(kind)
            for kind in types
            if instance_types.quota(kind, spot=lab.pools[pool].spot) == key
        ]
        known = [kind.vcpus for kind in counted if kind is not None]
        if len(known) < len(counted):
            return None
        needed += count * max(known, default=0)
    return needed


def _group(lease: Lease, facts: Facts, unread: set[str]) -> Iterator[ReadinessFinding]:
    """There are addresses in the subnets of the pool, and EKS reports no fault of its group."""
    group = facts.groups.get(lease.pool)
    if isinstance(group, Unread):
        unread |= {"addresses", "health"}
    if not isinstance(group, PoolGroup):
        return
    name = group.found.name
    for issue in group.found.issues:
        said = reason("doctor.readiness.health", group=name, issue=issue)
        grade = Grade.NOT_READY if NOT_FOUND.match(issue) else Grade.IN_DOUBT
        yield ReadinessFinding("health", grade, said, reason("doctor.readiness.health.advice", group=name))
    if group.addresses is None:
        unread.add("addresses")
    elif group.addresses < lease.nodes * ADDRESSES:
        grade = Grade.NOT_READY if group.addresses < lease.nodes else Grade.IN_DOUBT
        said = reason("doctor.readiness.addresses", group=name, free=group.addresses, nodes=lease.nodes)
        yield ReadinessFinding("addresses", grade, said, reason("doctor.readiness.addresses.advice"))


def _add_ons(facts: Facts, unread: set[str]) -> Iterator[ReadinessFinding]:
    """Every Deployment of kube-system and of the GPU Operator has a pod. DaemonSets are not looked at."""
    inside = facts.inside
    if not isinstance(inside, ClusterFacts) or not inside.autoscalers.asked:
        unread.add("add-ons")
    elif inside.unavailable:
        said: Said = reason("doctor.readiness.add-ons", names=inside.unavailable)
        yield ReadinessFinding("add-ons", Grade.IN_DOUBT, said, reason("doctor.readiness.add-ons.advice"))


def _entries(
    lease: Lease, lab: Lab, facts: Facts, window: WindowFacts, unread: set[str]
) -> Iterator[ReadinessFinding]:
    """The roles of our functions and of the pool's nodes have access entries, without which none of them gets in."""
    group, cluster = facts.groups.get(lease.pool), facts.cluster
    if isinstance(window.entries, Unread) or not isinstance(facts.caller, AwsIdentity):
        unread.add("access-entries")
        return
    purposes = (*JOINING, *BESIDES) if lab.pools[lease.pool].has("claims") else JOINING
    wanted = [f":role/{role_name(lab.name, lab.region, purpose)}" for purpose in purposes]
    # With a ConfigMap beside the entries, the nodes of an adopted cluster may be in that.
    if (
        isinstance(group, PoolGroup)
        and isinstance(cluster, ExistingCluster)
        and cluster.authentication == "API"
    ):
        wanted += [group.found.role] * bool(group.found.role)
    absent = tuple(role for role in wanted if not any(entry.endswith(role) for entry in window.entries))
    if absent:
        names = tuple(role.rpartition("/")[2] for role in absent)
        said = reason("doctor.readiness.entries", roles=names, cluster=lab.cluster_name)
        yield ReadinessFinding(
            "access-entries", Grade.NOT_READY, said, reason("doctor.readiness.entries.advice")
        )
