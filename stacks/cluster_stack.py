"""The cluster stack: network, control plane, add-ons, system nodes, GPU pools and the GPU software.

It is deployed only if the lab creates its cluster; an adopted cluster stays as it is. Resources that nodes need are
created first, then the nodes, then the resources that need nodes.
"""

from collections.abc import Mapping, Sequence

from aws_cdk import Annotations, CfnOutput, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from lamplighter.domain.gpu import dcgm_exporter, device_plugin
from lamplighter.domain.gpu.sharing import chart_values
from lamplighter.domain.pool.node_group_edit import NodeGroupSides
from lamplighter.lab.cluster import SystemNodes
from lamplighter.lab.model import Lab
from stacks.constructs.cluster.add_ons import AddOns
from stacks.constructs.cluster.control_plane import ControlPlane
from stacks.constructs.cluster.kubectl import Kubectl
from stacks.constructs.cluster.network import Network
from stacks.constructs.cluster.security_groups import SecurityGroups
from stacks.constructs.cluster.workload_identity import WORKLOADS, PodIdentities, policy
from stacks.constructs.deploy_steps import deploy_step, node_role_step, pools_step
from stacks.constructs.functions.functions import LOG_RETENTION, Function, FunctionCode
from stacks.constructs.pool.denied_sizing import deny_sizing
from stacks.constructs.pool.gatekeeper import gatekeeper
from stacks.constructs.pool.gpu_pool import GpuPool
from stacks.constructs.pool.node_group import (
    LaunchTemplate,
    NodeGroup,
    NodeGroupSpec,
    NodeGroupTaint,
    version_of,
)
from stacks.constructs.pool.node_group_edits import sides, written
from stacks.manifests import RBAC, documents
from stacks.names import Names

AMI_PARAMETER = (
    "/aws/service/eks/optimized-ami/{version}/amazon-linux-2023/x86_64/{kind}/recommended/image_id"
)
# A node takes one device plugin. If its image brings one, the GPU Operator must not add another.
OPERANDS_OFF = {"nvidia.com/gpu.deploy.operands": "false"}

# The step that checks an edit needs these, so they cannot depend on it.
BEFORE_THE_EDIT = ("Code", "Gatekeeper")


class ClusterStack(Stack):
    """All resources of a created cluster. The controller stack is deployed after it and has no references to it."""

    def __init__(self, scope: Construct, construct_id: str, *, lab: Lab, names: Names) -> None:
        super().__init__(
            scope, construct_id, env={"region": lab.region}, description=f"GPU lab {lab.name}: the cluster"
        )
        self._lab = lab
        self._names = names
        cluster = lab.cluster
        network = Network(
            self,
            "Network",
            name=lab.name,
            cidr=cluster.vpc.cidr,
            zones=cluster.zones,
            public_blocks=cluster.vpc.public_subnets,
            private_blocks=cluster.vpc.private_subnets,
        )
        groups = SecurityGroups(
            self,
            "SecurityGroups",
            name=lab.name,
            vpc_id=network.vpc_id,
            vpc_cidr=cluster.vpc.cidr,
            aux_vpc_allow=lab.security_groups.aux_vpc_allow,
            recommended_rules=lab.security_groups.recommended_rules,
        )
        control_plane = ControlPlane(
            self,
            "ControlPlane",
            name=lab.name,
            version=cluster.kubernetes_version,
            subnets=network.private_subnets,
            security_group=groups.control_plane,
            logs_of=cluster.logs,
            public_endpoint=cluster.endpoint.public,
            private_endpoint=cluster.endpoint.private,
            admins=lab.admins,
            log_retention=LOG_RETENTION,
        )
        if not lab.admins:
            Annotations.of(self).add_info(
                "admins is empty: only CloudFormation's role administers the cluster. Name your role in"
                " lab.yaml (admins: [arn:aws:iam::…:role/…]) to use kubectl."
            )
        add_ons = AddOns(self, "AddOns", cluster_name=control_plane.name, names=cluster.installed_addons)

        policies = [policy(self, names, workload) for workload in WORKLOADS]
        identities = None
        if cluster.workload_identity == "pod":
            identities = PodIdentities(
                self,
                "PodIdentities",
                cluster_name=lab.cluster_name,
                cluster_arn=names.arn("eks", f"cluster/{lab.cluster_name}"),
                policies=policies,
            )
            for association in identities.associations:
                association.node.add_dependency(control_plane.cluster)
                # A pod that starts before its association does not have it.
                for add_on in add_ons.after_nodes:
                    add_on.node.add_dependency(association)
        keeper = gatekeeper(
            self, "Gatekeeper", lab=lab, names=names, code=FunctionCode(self, "Code", lab=lab)
        )
        system, system_sides = self._system_nodes(
            network, groups, control_plane, keeper, () if identities else policies
        )
        system.resource.node.add_dependency(network.way_out, *add_ons.before_nodes)
        for add_on in add_ons.after_nodes:
            add_on.node.add_dependency(system.resource)

        pools = {
            pool: self._pool(pool, network, groups, control_plane, keeper)
            for pool in lab.pools
            if lab.pools[pool].existing is None
        }
        of_pods = identities.roles if identities else ()
        for role in (system.role, *(pool.group.role for pool in pools.values()), *of_pods):
            deny_sizing(role, lab, names)
        own = pools_step(self, {pool: lab.pools[pool] for pool in pools}, function=keeper)
        for pool in pools.values():
            pool.comes_after(own, network.way_out, *add_ons.before_nodes)

        kubectl = Kubectl(self, "Kubectl", control_plane=control_plane)
        kubectl.manifest("Rbac", documents(RBAC))
        self._gpu_charts(kubectl, [system.resource, *add_ons.after_nodes])
        self._outputs(network, groups, control_plane)
        of_pools = {
            pool.spec.name: sides(lab, pool.spec, pool.template, pool=name) for name, pool in pools.items()
        }
        self._edit_first({f"{lab.name}-ng-1": system_sides, **of_pools}, keeper)

    def _gpu_charts(self, kubectl: Kubectl, after: Sequence[Construct]) -> None:
        """The charts that turn nodes with GPUs into nodes that pods can use."""
        lab = self._lab
        if lab.gpu_operator.enabled:
            kubectl.chart(
                "GpuOperator",
                release="gpu-operator",
                repository=lab.gpu_operator.repository,
                chart="gpu-operator",
                version=lab.gpu_operator.version,
                namespace=lab.gpu_operator.namespace,
                values=chart_values(lab),
                after=after,
            )
        if lab.device_plugin.enabled:
            kubectl.chart(
                "DevicePlugin",
                release=device_plugin.RELEASE,
                repository=lab.device_plugin.repository,
                chart=device_plugin.CHART,
                version=lab.device_plugin.version,
                namespace=lab.device_plugin.namespace,
                values=device_plugin.chart_values(lab),
                after=after,
            )
        if lab.dcgm_exporter.enabled:
            kubectl.chart(
                "DcgmExporter",
                release=dcgm_exporter.RELEASE,
                repository=lab.dcgm_exporter.repository,
                chart=dcgm_exporter.CHART,
                version=lab.dcgm_exporter.version,
                namespace=lab.dcgm_exporter.namespace,
                values=dcgm_exporter.chart_values(lab),
                after=after,
            )

    def _edit_first(self, groups: Mapping[str, NodeGroupSides], keeper: Function) -> None:
        """The edit is checked before any resource of the stack changes: a newer control plane cannot go back."""
        edit = deploy_step(self, "Edit", kind="Edit", function=keeper, properties={"Groups": written(groups)})
        for other in self.node.children:
            if other is not edit and other.node.id not in BEFORE_THE_EDIT:
                other.node.add_dependency(edit)

    def _system_nodes(
        self,
        network: Network,
        groups: SecurityGroups,
        control_plane: ControlPlane,
        keeper: Function,
        policies: Sequence[iam.ManagedPolicy],
    ) -> tuple[NodeGroup, NodeGroupSides]:
        nodes = self._lab.cluster.system_nodes
        spec = NodeGroupSpec(
            name=self._names.system_nodegroup,
            lab=self._lab.name,
            kubernetes_version=self._lab.cluster.kubernetes_version,
            instance_type=nodes.instance_type,
            ami_type=nodes.ami_type,
            disk_gib=nodes.disk_gib,
            min_size=nodes.min_nodes,
            max_size=nodes.max_nodes,
            hop_limit=self._lab.cluster.hop_limit(nodes.metadata_hop_limit),
            max_pods=nodes.max_pods,
            start_script=_system_script(nodes),
            labels=nodes.labels,
            taints=[NodeGroupTaint(taint.key, taint.value, taint.effect) for taint in nodes.taints],
        )
        template = LaunchTemplate(self, "SystemLaunchTemplate", spec=spec, security_groups=groups.of_nodes)
        role = node_role_step(
            template,
            cluster_name=control_plane.name,
            nodegroup=spec.name,
            new=self._names.role("ng-1"),
            function=keeper,
        )
        group = NodeGroup(
            self,
            "SystemNodes",
            spec=spec,
            cluster_name=control_plane.name,
            subnets=network.private_subnets,
            template=template,
            version=version_of(
                template, cluster_name=control_plane.name, nodegroup=spec.name, function=keeper
            ),
            desired=nodes.nodes,
            role_name=role.get_att_string("RoleName"),
            policies=policies,
        )
        return group, sides(self._lab, spec, template, desired=nodes.nodes)

    def _pool(
        self,
        name: str,
        network: Network,
        groups: SecurityGroups,
        control_plane: ControlPlane,
        keeper: Function,
    ) -> GpuPool:
        pool = self._lab.pools[name]
        spec = NodeGroupSpec(
            name=self._lab.nodegroup_name(name),
            lab=self._lab.name,
            kubernetes_version=self._lab.cluster.kubernetes_version,
            instance_type=pool.instance_type,
            ami_type=pool.ami_type,
            disk_gib=pool.disk_gib,
            min_size=0,
            max_size=pool.max_nodes,
            hop_limit=self._lab.cluster.hop_limit(pool.metadata_hop_limit),
            start_script=_script(_install(pool.ami_type, pool.packages)),
            labels={**pool.labels, **(OPERANDS_OFF if pool.brings_plugin else {})},
            taints=[NodeGroupTaint(taint.key, taint.value, taint.effect) for taint in pool.taints],
            tags=pool.autoscaler_tags,
            update_strategy="MINIMAL",
        )
        return GpuPool(
            self,
            f"Pool-{name}",
            pool=name,
            spec=spec,
            cluster_name=control_plane.name,
            subnet=network.private_subnets[pool.zone_index],
            security_groups=groups.of_nodes,
            gatekeeper=keeper,
            role_name=self._names.role(f"ng-{name}"),
            lab_tags=self._lab.tags,
        )

    def _outputs(self, network: Network, groups: SecurityGroups, control_plane: ControlPlane) -> None:
        lab, cluster = self._lab, self._lab.cluster
        outputs = {
            "ConfigureKubectl": f"aws eks --region {lab.region} update-kubeconfig --name {lab.name}",
            "ClusterName": control_plane.name,
            "ClusterEndpoint": control_plane.cluster.attr_endpoint,
            "ClusterSecurityGroupId": groups.control_plane.attr_group_id,
            "NodeSecurityGroupId": groups.nodes.attr_group_id,
            "AuxiliaryNodeSgId": groups.auxiliary.attr_group_id,
            "AmiAl2023Standard": self._ami("StandardAmi", "standard"),
            "AmiAl2023Nvidia": self._ami("NvidiaAmi", "nvidia"),
        }
        for name, pool in lab.pools.items():
            if pool.existing is None:
                prefix = _pascal(name)
                outputs[f"{prefix}SubnetAz"] = cluster.zones[pool.zone_index]
                outputs[f"{prefix}SubnetId"] = network.private_subnets[pool.zone_index].ref
        for name, value in outputs.items():
            CfnOutput(self, name, value=value)

    def _ami(self, construct_id: str, kind: str) -> str:
        path = AMI_PARAMETER.format(version=self._lab.cluster.kubernetes_version, kind=kind)
        return ssm.StringParameter.from_string_parameter_name(self, construct_id, path).string_value


def _install(ami_type: str, packages: list[str]) -> str:
    return f"{_installer(ami_type)} install -y {' '.join(packages)}\n" if packages else ""


def _system_script(nodes: SystemNodes) -> str | None:
    update = f"{_installer(nodes.ami_type)} update -y\n" if nodes.update_packages else ""
    return _script(update + _install(nodes.ami_type, nodes.packages))


def _script(commands: str) -> str | None:
    return f"#!/bin/bash\n{commands}" if commands else None


def _installer(ami_type: str) -> str:
    return "yum" if ami_type.startswith("AL2_") else "dnf"


def _pascal(name: str) -> str:
    words = name.replace("_", "-").split("-")
    return "".join(word[:1].upper() + word[1:] for word in words)
