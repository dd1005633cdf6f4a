"""EKS managed node groups: each has an Auto Scaling group and a derived launch template, and one update at a time.

health.py has their health, and nodes.py their nodes.
"""

import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from local.aws.api.own_services import AwsError, Document
from local.aws.api.service_context import ServiceContext
from local.aws.autoscaling.autoscaling import AutoScaling
from local.aws.autoscaling.group import Group, Member
from local.aws.autoscaling.scaling import Scaling
from local.aws.ec2.ec2_faults import Faults
from local.aws.eks.clusters import Clusters
from local.aws.eks.health import SETTLE_SECONDS, Health
from local.aws.eks.nodegroup import (
    FIRST_RELEASE,
    SIZES,
    Nodegroup,
    changed_labels,
    changed_taints,
    checked,
    sizes_at_creation,
)
from local.aws.eks.nodes import HOOKS, Fleet
from local.aws.eks.requests import CAPACITY_BLOCK, check_creation, check_release, check_update
from local.aws.eks.rolling import Rolling
from local.aws.eks.template import DerivedTemplates
from local.aws.eks.updates import Owner, Update, Updates
from local.aws.timers import Timers

#: What UpdateNodegroupConfig changes. An empty change makes no update (kubernetes-sigs/cluster-api-provider-aws 3435).
CONFIGURED = ("labels", "taints", "scalingConfig", "updateConfig", "nodeRepairConfig", "warmPoolConfig")
#: How long a scaling update stays InProgress: the shortest and the longest time [est].
UPDATE_SECONDS = (10.0, 30.0)
#: An update that does not end is checked again after this time.
LOOK_AGAIN_SECONDS = 60.0
#: EKS takes over sizes that others set on the Auto Scaling group after this time [est].
LAG_SECONDS = 60.0


class Nodegroups:
    """Public methods with the names of boto3's operations are operations of `eks`."""

    def __init__(
        self,
        service_context: ServiceContext,
        *,
        timers: Timers,
        clusters: Clusters,
        updates: Updates,
        autoscaling: AutoScaling,
        scaling: Scaling,
        faults: Faults,
        seed: int = 0,
    ) -> None:
        self._service_context = service_context
        self._clock = service_context.clock
        self._timers = timers
        self._clusters = clusters
        self._updates = updates
        self._autoscaling = autoscaling
        self._scaling = scaling
        self._faults = faults
        self._chance = random.Random(seed)  # noqa: S311 (jitter)
        self._templates = DerivedTemplates(service_context)
        self._nodegroups: dict[tuple[str, str], Nodegroup] = {}
        #: By node group, its Auto Scaling group, for groups made before spring 2021: eks-<uuid>.
        self.older_groups: dict[str, str] = {}
        #: The date of EKS's newest release of each image. Groups follow it when their version is updated.
        self.newest_release = FIRST_RELEASE
        #: The simulated machines, if there are any.
        self.fleet: Fleet | None = None
        #: Called with a new node group.
        self.created: list[Callable[[Nodegroup], None]] = []
        #: Called with a node group that is gone and the groups that are left.
        self.removed: list[Callable[[Nodegroup, list[Nodegroup]], None]] = []
        self._lock = threading.RLock()
        self._health = Health(timers, scaling, self.behind, self._joined)
        scaling.listeners.gone.append(self._gone)
        scaling.reservations.block_ends = self.block_ends
        clusters.node_versions = self._versions

    def behind(self, group: Group) -> Nodegroup | None:
        """The node group of an Auto Scaling group."""
        return next((n for n in self.known() if n.group == group.name), None)

    def known(self) -> list[Nodegroup]:
        """All node groups."""
        return list(self._nodegroups.values())

    def _joined(self, instance: str) -> bool:
        return self.fleet is None or self.fleet.joined(instance)

    def _versions(self, cluster: str) -> dict[str, str]:
        return {one.name: one.version for one in self.known() if one.cluster == cluster}

    def create_nodegroup(self, request: Document) -> Document:
        cluster = self._clusters.cluster(request["clusterName"])
        name = request["nodegroupName"]
        if cluster.status != "ACTIVE":
            raise AwsError("InvalidRequestException", f"Cluster '{cluster.name}' is not in ACTIVE status")
        template = request.get("launchTemplate")
        given = self._templates.data_of(template) if template else {}
        ami_type = check_creation(request, given, cluster.document["version"])
        now = self._clock.now()
        nodegroup = Nodegroup(
            cluster=cluster.name,
            name=name,
            arn=self._service_context.arn("eks", f"nodegroup/{cluster.name}/{name}/"),
            version=request.get("version") or cluster.document["version"],
            node_role=request["nodeRole"],
            subnets=request["subnets"],
            sizes=sizes_at_creation(request.get("scalingConfig")),
            ami_type=ami_type,
            image_id=given.get("ImageId", ""),
            instance_types=request.get("instanceTypes") or ([] if template else ["t3.medium"]),
            launch_template=_completed(template) if template else None,
            disk_size=None if template else request.get("diskSize") or _disk(ami_type),
            labels=request.get("labels") or {},
            taints=request.get("taints") or [],
            tags=request.get("tags") or {},
            capacity_type=request.get("capacityType") or "ON_DEMAND",
            update_config=request.get("updateConfig") or {"maxUnavailable": 1},
            created=now,
            modified=now,
            released=self.newest_release,
            older_group=self.older_groups.get(name, ""),
        )
        nodegroup.arn += nodegroup.uuid
        with self._lock:
            if (cluster.name, name) in self._nodegroups:
                raise AwsError(
                    "ResourceInUseException",
                    f"NodeGroup already exists with name {name} and cluster name {cluster.name}",
                    clusterName=cluster.name,
                    nodegroupName=name,
                )
            self._nodegroups[cluster.name, name] = nodegroup
            cluster.nodegroups.add(name)
        try:
            self._build(nodegroup)
        except BaseException:
            self._forget(nodegroup)
            raise
        for told in self.created:
            told(nodegroup)
        self._health.watch_creation(nodegroup)
        return {"nodegroup": nodegroup.document()}

    def describe_nodegroup(self, request: Document) -> Document:
        nodegroup = self._nodegroup(request)
        self._take_over(nodegroup)
        return {"nodegroup": nodegroup.document()}

    def list_nodegroups(self, request: Document) -> Document:
        return {"nodegroups": sorted(self._clusters.cluster(request["clusterName"]).nodegroups)}

    def update_nodegroup_config(self, request: Document) -> Document:
        nodegroup, token = self._nodegroup(request), str(request.get("clientRequestToken") or "")
        with self._lock:
            if token and (known := self._updates.known_as(token)):
                return {"update": known.document()}
            if not any(request.get(name) for name in CONFIGURED):
                raise AwsError("InvalidParameterException", "You cannot specify an empty request")
            self._check_idle(nodegroup)
            self._take_over(nodegroup)
            before = dict(nodegroup.sizes)
            given = {
                key: value for key, value in (request.get("scalingConfig") or {}).items() if value is not None
            }
            sizes = checked({**before, **given})
            nodegroup.labels = changed_labels(nodegroup.labels, request.get("labels") or {})
            nodegroup.taints = changed_taints(nodegroup.taints, request.get("taints") or {})
            nodegroup.update_config = request.get("updateConfig") or nodegroup.update_config
            params: dict[str, object] = {key[0].upper() + key[1:]: value for key, value in given.items()}
            update = self._updates.start(Owner(nodegroup.cluster, nodegroup.name), "ConfigUpdate", params)
            self._updates.asked_as(token, update)
            nodegroup.sizes, nodegroup.modified = sizes, self._clock.now()
            nodegroup.seen_resize = self._clock.time()
        if given:
            self._resize_group(nodegroup, sizes)
        if request.get("labels") or request.get("taints"):
            self._renew_template(nodegroup)
        duration = self._chance.uniform(*UPDATE_SECONDS)
        self._timers.after(duration, lambda: self._finish(nodegroup, update, before))
        return {"update": update.document()}

    def update_nodegroup_version(self, request: Document) -> Document:
        nodegroup = self._nodegroup(request)
        with self._lock:
            self._check_idle(nodegroup)
            template = request.get("launchTemplate")
            data = self._templates.data_of(template) if template else None
            cluster = self._clusters.cluster(nodegroup.cluster).document
            check_update(nodegroup.ami_type, request, data, cluster["version"])
            if request.get("releaseVersion"):
                version = request.get("version") or nodegroup.version
                check_release(request["releaseVersion"], version, self.newest_release)
            if template and not nodegroup.launch_template:
                raise AwsError(
                    "InvalidRequestException",
                    "You cannot add a launch template to a nodegroup that was created without one",
                )
            undo = partial(self._restore, nodegroup, replace(nodegroup))
            if template:
                nodegroup.launch_template = {**(nodegroup.launch_template or {}), **_completed(template)}
            image_id = (data or {}).get("ImageId") or nodegroup.image_id
            if image_id != nodegroup.image_id:
                # Nobody knows what is in a custom image: its owner has made it for the cluster as it is now.
                nodegroup.image_id, nodegroup.version = image_id, cluster["version"]
            nodegroup.version = request.get("version") or nodegroup.version
            if not nodegroup.image_id:
                # EKS takes the newest release unless the call names one.
                released = str(request.get("releaseVersion") or self.newest_release)
                nodegroup.released = released.rpartition("-")[2]
            params: dict[str, object] = {"Version": nodegroup.version, "ReleaseVersion": nodegroup.release}
            if template:
                # As in the second example of API_UpdateNodegroupVersion.
                named = (nodegroup.launch_template or {}).get("name", "")
                params = {"LaunchTemplateName": named, "LaunchTemplateVersion": template.get("version", "")}
            update = self._updates.start(Owner(nodegroup.cluster, nodegroup.name), "VersionUpdate", params)
            nodegroup.status = "UPDATING"
        self._renew_template(nodegroup)
        Rolling(
            self._clock,
            nodegroup,
            update,
            autoscaling=self._autoscaling,
            scaling=self._scaling,
            fleet=self.fleet,
            force=bool(request.get("force")),
            undo=undo,
        ).start()
        return {"update": update.document()}

    def delete_nodegroup(self, request: Document) -> Document:
        nodegroup = self._nodegroup(request)
        with self._lock:
            if nodegroup.status in ("UPDATING", "DELETING"):
                self._refuse_busy(nodegroup)
            nodegroup.status = "DELETING"
        none = {"minSize": 0, "maxSize": nodegroup.sizes["maxSize"], "desiredSize": 0}
        self._resize_group(nodegroup, none)
        self._timers.after(SETTLE_SECONDS, lambda: self._finish_delete(nodegroup))
        return {"nodegroup": nodegroup.document()}

    def tagged(self) -> Iterator[tuple[str, dict[str, str]]]:
        """ARN and tags of each node group."""
        yield from ((nodegroup.arn, nodegroup.tags) for nodegroup in self.known())

    def _build(self, nodegroup: Nodegroup) -> None:
        self._templates.create(nodegroup, self._described(nodegroup))
        cluster = nodegroup.cluster
        # The tags of the instances come from the launch template; the tags of a node group are passed to nothing.
        propagated = {f"kubernetes.io/cluster/{cluster}": "owned"}
        own = {
            "eks:cluster-name": cluster,
            "eks:nodegroup-name": nodegroup.name,
            "k8s.io/cluster-autoscaler/enabled": "true",
            f"k8s.io/cluster-autoscaler/{cluster}": "owned",
        }
        tags = [(key, value, True) for key, value in propagated.items()]
        tags += [(key, value, False) for key, value in own.items()]
        self._autoscaling.create_auto_scaling_group(
            {
                "AutoScalingGroupName": nodegroup.group,
                **_launched_from(nodegroup),
                "MinSize": nodegroup.sizes["minSize"],
                "MaxSize": nodegroup.sizes["maxSize"],
                "DesiredCapacity": nodegroup.sizes["desiredSize"],
                "VPCZoneIdentifier": ",".join(nodegroup.subnets),
                "Tags": [{"Key": k, "Value": v, "PropagateAtLaunch": p} for k, v, p in tags],
                # EKS makes its Spot groups rebalance (EKS user guide, managed-node-groups, "Spot").
                "Spot": nodegroup.capacity_type == "SPOT",
                "CapacityRebalance": nodegroup.capacity_type == "SPOT",
                "LifecycleHookSpecificationList": [
                    {**hook, "HeartbeatTimeout": 1800, "DefaultResult": "CONTINUE"} for hook in HOOKS
                ],
            }
        )
        nodegroup.seen_resize = self._clock.time()

    def _described(self, nodegroup: Nodegroup) -> Document:
        return self._clusters.described(nodegroup.cluster)

    def _renew_template(self, nodegroup: Nodegroup) -> None:
        """New nodes start from a new version of the derived template."""
        version = self._templates.renew(nodegroup, self._described(nodegroup))
        derived = {"LaunchTemplateId": nodegroup.derived_template, "Version": version}
        self._autoscaling.update_auto_scaling_group(
            {"AutoScalingGroupName": nodegroup.group, "LaunchTemplate": derived}
        )

    def _restore(self, nodegroup: Nodegroup, before: Nodegroup) -> None:
        """After a failed update the group is of its former version and release."""
        nodegroup.version, nodegroup.image_id = before.version, before.image_id
        nodegroup.released = before.released
        nodegroup.launch_template = before.launch_template
        self._renew_template(nodegroup)

    def _resize_group(self, nodegroup: Nodegroup, sizes: dict[str, int]) -> None:
        self._autoscaling.update_auto_scaling_group(
            {
                "AutoScalingGroupName": nodegroup.group,
                "MinSize": sizes["minSize"],
                "MaxSize": sizes["maxSize"],
                "DesiredCapacity": sizes["desiredSize"],
            }
        )

    def _take_over(self, nodegroup: Nodegroup) -> None:
        """Takes over, after a while, what others changed at the Auto Scaling group."""
        group = self._scaling.groups.get(nodegroup.group)
        if group is None or nodegroup.status == "UPDATING":
            return
        age = self._clock.time() - group.resized
        if group.resized > nodegroup.seen_resize and age >= LAG_SECONDS:
            nodegroup.sizes = dict(zip(SIZES, (group.minimum, group.maximum, group.desired), strict=True))
            nodegroup.seen_resize = group.resized

    def block_ends(self, instances: list[str]) -> None:
        """EKS scales the groups of a Capacity Block down, because these instances of it end soon."""
        for nodegroup in self.known():
            group = self._scaling.groups.get(nodegroup.group)
            if nodegroup.capacity_type == CAPACITY_BLOCK and group and group.members.keys() & set(instances):
                nodegroup.sizes = {**nodegroup.sizes, "minSize": 0, "desiredSize": 0}
                self._resize_group(nodegroup, nodegroup.sizes)
                nodegroup.seen_resize = group.resized

    def _check_idle(self, nodegroup: Nodegroup) -> None:
        running = self._updates.running(Owner(nodegroup.cluster, nodegroup.name))
        if running or nodegroup.status not in ("ACTIVE", "DEGRADED"):
            self._refuse_busy(nodegroup)

    def _refuse_busy(self, nodegroup: Nodegroup) -> None:
        raise AwsError(
            "ResourceInUseException",
            "Nodegroup cannot be updated as it is currently not in Active State",
            clusterName=nodegroup.cluster,
            nodegroupName=nodegroup.name,
        )

    def _nodegroup(self, request: Document) -> Nodegroup:
        cluster = self._clusters.cluster(request["clusterName"]).name
        name = request["nodegroupName"]
        nodegroup = self._nodegroups.get((cluster, name))
        if nodegroup is None:
            raise AwsError(
                "ResourceNotFoundException",
                f"No node group found for name: {name}.",
                clusterName=cluster,
                nodegroupName=name,
            )
        return nodegroup

    def _finish(self, nodegroup: Nodegroup, update: Update, before: dict[str, int]) -> None:
        if self._faults.endless(nodegroup.name):
            self._timers.after(LOOK_AGAIN_SECONDS, lambda: self._finish(nodegroup, update, before))
            return
        grew = nodegroup.sizes["desiredSize"] > before["desiredSize"]
        group = self._scaling.groups.get(nodegroup.group)
        # A health issue of an earlier order stays while the machines of this order start.
        short = group is None or len(group.members) < nodegroup.sizes["desiredSize"]
        if self._faults.reverts(nodegroup.name) and grew and nodegroup.issues and short:
            message = nodegroup.issues[0]["message"]
            update.errors = [
                {
                    "errorCode": "NodeCreationFailure",
                    "errorMessage": message,
                    "resourceIds": [nodegroup.group],
                }
            ]
            update.status = "Failed"
            nodegroup.sizes, nodegroup.seen_resize = before, self._clock.time()
            self._resize_group(nodegroup, before)
        else:
            update.status = "Successful"

    def _gone(self, group: Group, _: Member) -> None:
        nodegroup = self.behind(group)
        if nodegroup is not None and nodegroup.status == "DELETING":
            self._timers.soon(partial(self._finish_delete, nodegroup))

    def _finish_delete(self, nodegroup: Nodegroup) -> None:
        group = self._scaling.groups.get(nodegroup.group)
        if group is None or group.members:
            return
        self._autoscaling.delete_auto_scaling_group({"AutoScalingGroupName": nodegroup.group})
        self._templates.delete(nodegroup)
        self._forget(nodegroup)

    def _forget(self, nodegroup: Nodegroup) -> None:
        with self._lock:
            self._nodegroups.pop((nodegroup.cluster, nodegroup.name), None)
            self._clusters.cluster(nodegroup.cluster).nodegroups.discard(nodegroup.name)
        for told in self.removed:
            told(nodegroup, self.known())


def _disk(ami_type: str) -> int:
    """EKS's default in GiB."""
    return 50 if ami_type.startswith("WINDOWS") else 20


def _launched_from(nodegroup: Nodegroup) -> Document:
    """The derived template; with several types a mixed instances policy, in their order."""
    template = {"LaunchTemplateId": nodegroup.derived_template, "Version": "1"}
    overrides = [{"InstanceType": name} for name in nodegroup.instance_types]
    if not overrides[1:]:
        return {"LaunchTemplate": template}
    mixed = {"LaunchTemplateSpecification": template, "Overrides": overrides}
    return {"MixedInstancesPolicy": {"LaunchTemplate": mixed}}


def _completed(template: Document) -> Document:
    return {key: str(value) for key, value in template.items() if value is not None}
