"""A pool: a guarded node group that keeps its size, and that a deploy changes only while no lease uses it.

The size is read from the group only when a deploy changes the group: a deploy that leaves a pool as it is sends EKS
nothing. Before a change the gate reads the leases.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields

from aws_cdk import Token
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, IDependable

from stacks.constructs.deploy_steps import deploy_step, node_role_step
from stacks.constructs.functions.functions import Function
from stacks.constructs.pool.node_group import LaunchTemplate, NodeGroup, NodeGroupSpec, version_of

_WRITTEN_BY_0_1_0 = frozenset({
    "name", "lab", "kubernetes_version", "instance_type", "ami_type", "disk_gib", "min_size", "max_size", "hop_limit",
    "max_pods", "start_script", "labels", "taints", "tags", "update_strategy",
})  # fmt: skip


class GpuPool(Construct):
    """The launch template, gate, present size and node group of one pool."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        pool: str,
        spec: NodeGroupSpec,
        cluster_name: str,
        subnet: ec2.CfnSubnet,
        security_groups: Sequence[str],
        gatekeeper: Function,
        role_name: str,
        lab_tags: Mapping[str, str],
    ) -> None:
        super().__init__(scope, construct_id)
        template = LaunchTemplate(self, "LaunchTemplate", spec=spec, security_groups=security_groups)
        digest = _digest(spec, template.resolved, lab_tags)
        role = node_role_step(
            self, cluster_name=cluster_name, nodegroup=spec.name, new=role_name, function=gatekeeper
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
            },
        )
        size = deploy_step(
            self,
            "Size",
            kind="DesiredSize",
            function=gatekeeper,
            properties={"Cluster": cluster_name, "Nodegroup": spec.name, "Digest": digest},
        )
        self.spec, self.template = spec, template
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
                "KubernetesVersion": spec.kubernetes_version,
            },
        )
        self._gate = gate
        self.group = NodeGroup(
            self,
            "NodeGroup",
            spec=spec,
            cluster_name=cluster_name,
            subnets=[subnet],
            template=template,
            version=version,
            desired=Token.as_number(sizes.get_att("DesiredSize")),
            most=Token.as_number(sizes.get_att("MaxSize")),
            role_name=role.get_att_string("RoleName"),
        )

    def comes_after(self, *others: IDependable) -> None:
        """The pool and its gate come after all these, so that the gate is closed for a short time only."""
        self._gate.node.add_dependency(*others)
        self.group.resource.node.add_dependency(*others)


def _digest(spec: NodeGroupSpec, template: object, lab_tags: Mapping[str, str]) -> str:
    """A digest of all properties of the group that a deploy would send to EKS."""
    document = json.dumps([_written(spec), template, dict(lab_tags)], sort_keys=True, default=str)
    return hashlib.sha256(document.encode()).hexdigest()[:16]


def _written(spec: NodeGroupSpec) -> str:
    """The spec as release 0.1.0 wrote it: another text would look like a change, and a leased pool would refuse it.

    A property that a later release added is left out where it has its default.
    """
    given = {each: getattr(spec, each.name) for each in fields(spec)}
    values = {
        each.name: repr(value)
        for each, value in given.items()
        if each.name in _WRITTEN_BY_0_1_0 or value != each.default
    }
    taints = [f"NodeTaint(key={t.key!r}, value={t.value!r}, effect={t.effect!r})" for t in spec.taints]
    values["taints"] = f"[{', '.join(taints)}]"
    return f"NodeGroupSpec({', '.join(f'{name}={value}' for name, value in values.items())})"
