"""A pool: a guarded node group that keeps its size, and that a deploy changes only while no lease uses it.

The size is read from the group only when a deploy changes the group: a deploy that leaves a pool as it is sends EKS
nothing. Before a change the gate reads the leases.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields

from aws_cdk import Token
from aws_cdk import aws_iam as iam
from constructs import Construct, IDependable

from lamplighter.data import instance_types
from lamplighter.domain.capacity.node_group.edit import NodeGroupSides
from lamplighter.domain.capacity.reservation import wanted
from lamplighter.lab.model import Lab
from stacks.constructs.deploy_steps import deploy_step, node_role_step
from stacks.constructs.nodes.edits import sides
from stacks.constructs.nodes.efa import placed, placement_group
from stacks.constructs.nodes.node_group import LaunchTemplate, NodeGroup, version_of
from stacks.constructs.nodes.spec import NodeGroupSpec, NodeGroupTaint
from stacks.constructs.nodes.start_script import start_script
from stacks.constructs.nodes.surroundings import Surroundings

# A node takes one device plugin. If its image brings one, the GPU Operator must not add another.
OPERANDS_OFF = {"nvidia.com/gpu.deploy.operands": "false"}

_WRITTEN_BY_0_1_0 = frozenset({
    "name", "lab", "kubernetes_version", "instance_type", "ami_type", "disk_gib", "min_size", "max_size", "hop_limit",
    "max_pods", "start_script", "labels", "taints", "tags", "update_strategy",
})  # fmt: skip


class GpuPool(Construct):
    """The launch template, gate, present size and node group of one pool."""

    def __init__(self, scope: Construct, construct_id: str, *, pool: str, around: Surroundings) -> None:
        super().__init__(scope, construct_id)
        self._lab, self._pool = around.lab, pool
        spec, gatekeeper, cluster_name = _spec(around.lab, pool), around.gatekeeper, around.cluster_name
        template = LaunchTemplate(
            self,
            "LaunchTemplate",
            spec=spec,
            security_groups=around.groups_of(pool),
            cluster=around.address,
            # A reservation has its nodes where it was made, outside this group.
            placement_group=placed(placement_group(self)) if spec.efa and not spec.reservation else None,
        )
        digest = _digest(spec, template.resolved, around.lab.tags)
        role = node_role_step(
            self,
            cluster_name=cluster_name,
            nodegroup=spec.name,
            new=around.names.role(f"ng-{pool}"),
            function=gatekeeper,
        )
        gate = deploy_step(
            self,
            "Gate",
            kind="Gate",
            function=gatekeeper,
            properties={
                "Pool": pool,
                "Cluster": cluster_name,
                "Nodegroup": spec.name,
                "Digest": digest,
                **_reservation(around.lab, pool),
            },
        )
        size = deploy_step(
            self,
            "Size",
            kind="DesiredSize",
            function=gatekeeper,
            properties={
                "Cluster": cluster_name,
                "Nodegroup": spec.name,
                "Digest": digest,
                # The first release answered a number. CloudFormation may take the text for another size, so the size
                # is read anew at the upgrade: else the group would get that of its last change.
                "Answer": "text",
            },
        )
        self._spec, self._template = spec, template
        gate.node.add_dependency(role)
        template.node.add_dependency(gate)
        # Right before the change: while the gate is closed, nobody can open the pool.
        size.node.add_dependency(gate, template)
        version = version_of(template, cluster_name=cluster_name, nodegroup=spec.name, function=gatekeeper)
        # EKS takes either new sizes or new nodes in one update, never both.
        sizes = deploy_step(
            self,
            "Sizes",
            kind="Sizes",
            function=gatekeeper,
            properties={
                "Cluster": cluster_name,
                "Nodegroup": spec.name,
                "MaxSize": spec.max_size,
                "DesiredSize": size.get_att("DesiredSize"),
                "LaunchTemplateVersion": version,
                "KubernetesVersion": spec.node_version,
            },
        )
        self._gate = gate
        self._group = NodeGroup(
            self,
            "NodeGroup",
            spec=spec,
            cluster_name=cluster_name,
            subnets=[around.subnets[index] for index in around.lab.pools[pool].zone_indexes],
            template=template,
            version=version,
            desired=Token.as_number(sizes.get_att("DesiredSize")),
            most=Token.as_number(sizes.get_att("MaxSize")),
            role_name=role.get_att_string("RoleName"),
        )

    @property
    def roles(self) -> Sequence[iam.Role]:
        """The role of its nodes."""
        return [self._group.role]

    def edits(self) -> Mapping[str, NodeGroupSides]:
        """Both sides of its node group."""
        owner, part = self._lab.pools[self._pool], f"pools.{self._pool}"
        return {self._spec.name: sides(self._lab, self._spec, self._template, part=part, owner=owner)}

    def comes_after(self, *others: IDependable) -> None:
        """The pool and its gate come after all these, so that the gate is closed for a short time only."""
        self._gate.node.add_dependency(*others)
        self._group.resource.node.add_dependency(*others)


def _reservation(lab: Lab, pool: str) -> Mapping[str, str]:
    """What the gate compares with AWS's reservation; nothing for a pool that is bought otherwise."""
    needed = wanted(lab, pool)
    if needed is None:
        return {}
    return {
        "Reservation": needed.id,
        "ReservationType": needed.type.value,
        "InstanceType": needed.instance_type,
        "Zone": needed.zone,
    }


def _spec(lab: Lab, name: str) -> NodeGroupSpec:
    pool = lab.pools[name]
    return NodeGroupSpec(
        name=lab.nodegroup_name(name),
        lab=lab.name,
        kubernetes_version=lab.cluster.kubernetes_version,
        instance_type=pool.instance_type,
        ami_type=pool.ami_type,
        disk_gib=pool.disk_gib,
        min_size=0,
        max_size=pool.max_nodes,
        hop_limit=lab.cluster.hop_limit(pool.metadata_hop_limit),
        start_script=start_script(pool.family, pool.packages),
        labels={**pool.labels, **(OPERANDS_OFF if pool.brings_plugin else {})},
        taints=[NodeGroupTaint(taint.key, taint.value, taint.effect) for taint in pool.taints],
        tags=pool.autoscaler_tags,
        update_strategy="MINIMAL",
        image=pool.image,
        image_family=pool.image_family,
        efa=instance_types.gpu_type(pool.instance_type) if pool.efa else None,
        instance_types=pool.types if pool.is_mixed else (),
        reservation=pool.reservation,
        of_block=pool.of_block,
        spot=pool.spot,
    )


def _digest(spec: NodeGroupSpec, template: object, lab_tags: Mapping[str, str]) -> str:
    """A digest of all properties of the group that a deploy would send to EKS."""
    document = json.dumps([_written(spec), template, dict(lab_tags)], sort_keys=True, default=str)
    return hashlib.sha256(document.encode()).hexdigest()[:16]


def _written(spec: NodeGroupSpec) -> str:
    """The spec as release 0.1.0 wrote it: another text would look like a change, and a leased pool would refuse it.

    A property that a later release added is left out where it has its default.
    """
    given = {each: getattr(spec, each.name) for each in fields(spec)}
    # Of an image of the user's EKS is told no version: another one changes nothing.
    given |= {each: spec.node_version for each in given if each.name == "kubernetes_version"}
    values = {
        each.name: repr(value)
        for each, value in given.items()
        if each.name in _WRITTEN_BY_0_1_0 or value != each.default
    }
    taints = [f"NodeTaint(key={t.key!r}, value={t.value!r}, effect={t.effect!r})" for t in spec.taints]
    values["taints"] = f"[{', '.join(taints)}]"
    return f"NodeGroupSpec({', '.join(f'{name}={value}' for name, value in values.items())})"
