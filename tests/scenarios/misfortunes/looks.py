"""One sample of several pools at once, from outside: AWS and Kubernetes with keys of the account, and the ledger."""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.money.money import period_of
from lamplighter.lab.model import Lab
from local.demo.observations import LIVE, Sample
from local.kubernetes.api import KubernetesApi

NODEGROUP = "eks.amazonaws.com/nodegroup"


class Looks:
    """`groups` are the names of the pools' node groups."""

    def __init__(
        self,
        lab: Lab,
        groups: Mapping[str, str],
        api: Callable[[str], Any],
        ledger: Ledger,
        kubernetes: KubernetesApi,
    ) -> None:
        self._lab = lab
        self._groups = groups
        self._api = api
        self._ledger = ledger
        self._kubernetes = kubernetes

    def at(self, at: datetime, pools: Iterable[str]) -> dict[str, Sample]:
        leases = {pool: tuple(self._ledger.leases(pool)) for pool in pools}
        failsafes = self._failsafes(leases)
        instances, nodes, used = self._instances(), self._nodes(), self._used(at)
        ordered = self._ordered()
        return {
            pool: Sample(
                at=at,
                instances=tuple(sorted(instances[self._groups[pool]])),
                desired=ordered.get(self._groups[pool], 0),
                kubernetes_nodes=tuple(sorted(nodes[self._groups[pool]])),
                failsafe=failsafes.get(pool, ()),
                leases=found,
                committed=used,
            )
            for pool, found in leases.items()
        }

    def _used(self, at: datetime) -> str:
        budget = self._lab.guard.budget
        period = period_of(at, budget.period, ZoneInfo(self._lab.time_zone))
        return str(self._ledger.budget(period.key, budget.currency).used.rounded())

    def _instances(self) -> dict[str, list[str]]:
        live = [
            {"Name": "tag-key", "Values": ["eks:nodegroup-name"]},
            {"Name": "instance-state-name", "Values": list(LIVE)},
        ]
        found: dict[str, list[str]] = defaultdict(list)
        for reservation in self._api("ec2").describe_instances(Filters=live)["Reservations"]:
            for instance in reservation["Instances"]:
                tags = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
                found[tags["eks:nodegroup-name"]].append(instance["InstanceId"])
        return found

    def _nodes(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for node in self._kubernetes.get(f"/api/v1/nodes?labelSelector={NODEGROUP}")["items"]:
            found[node["metadata"]["labels"][NODEGROUP]].append(node["metadata"]["name"])
        return found

    def _ordered(self) -> dict[str, int]:
        """The desired sizes of the Auto Scaling groups, by node group."""
        pages = self._api("autoscaling").get_paginator("describe_auto_scaling_groups").paginate()
        found: dict[str, int] = {}
        for group in (group for page in pages for group in page["AutoScalingGroups"]):
            tags = {tag["Key"]: tag["Value"] for tag in group["Tags"]}
            found[tags["eks:nodegroup-name"]] = group["DesiredCapacity"]
        return found

    def _failsafes(self, pools: Container[str]) -> dict[str, tuple[datetime, ...]]:
        """For each pool, when the first remaining schedule of its failsafe runs."""
        scheduler, group = self._api("scheduler"), self._lab.name
        pages = scheduler.get_paginator("list_schedules").paginate(GroupName=group, NamePrefix="failsafe-")
        first: dict[str, str] = {}
        for name in sorted(one["Name"] for page in pages for one in page["Schedules"]):
            pool = name.removeprefix("failsafe-").rpartition("-")[0]
            if pool in pools:
                first.setdefault(pool, name)
        found: dict[str, tuple[datetime, ...]] = {}
        for pool, name in first.items():
            try:
                said = scheduler.get_schedule(GroupName=group, Name=name)["ScheduleExpression"]
            except scheduler.exceptions.ResourceNotFoundException:
                continue  # it ran or was deleted after it was listed
            found[pool] = (datetime.fromisoformat(said.removeprefix("at(").removesuffix(")") + "+00:00"),)
        return found
