"""A pool: a node group under guard, at the size it has, changed by a deploy only while nobody uses it.

The size is read from the group whenever a deploy changes the group, and only then: a deploy that leaves
a pool as it is sends EKS nothing at all. Before a change the gate asks the ledger for leases.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence

from aws_cdk import Token
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, IDependable

from stacks.constructs.deploy_steps import deploy_step, node_role_step, version_of
from stacks.constructs.functions.functions import Function
from stacks.constructs.pool.node_group import LaunchTemplate, NodeGroup, NodeGroupSpec


class GpuPool(Construct):
    """Launch template, gate, present size and group of one pool."""

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
        # Right before the write: for as long as the pool is kept still, nobody can open it.
        size.node.add_dependency(gate, template)
        version = version_of(template, cluster_name=cluster_name, nodegroup=spec.name, function=gatekeeper)
        # CloudFormation sends EKS either these or new nodes, never both in one update.
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
        """The pool changes after all these, its gate included: nobody waits for them at a closed gate."""
        self._gate.node.add_dependency(*others)
        self.group.resource.node.add_dependency(*others)


def _digest(spec: NodeGroupSpec, template: object, lab_tags: Mapping[str, str]) -> str:
    """Changes when anything of the group changes that a deploy would send to EKS."""
    document = json.dumps([repr(spec), template, dict(lab_tags)], sort_keys=True, default=str)
    return hashlib.sha256(document.encode()).hexdigest()[:16]
