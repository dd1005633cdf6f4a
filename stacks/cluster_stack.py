"""The cluster stack: network, control plane, add-ons, system nodes, GPU pools and the GPU software.

It is deployed only if the lab creates its cluster; an adopted cluster stays as it is. Resources that nodes need are
created first, then the nodes, then the resources that need nodes.
"""

from collections.abc import Mapping, Sequence

from aws_cdk import Annotations, CfnOutput, Fn, Stack
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from lamplighter.domain.capacity.node_group.edit import NodeGroupSides
from lamplighter.domain.capacity.node_pool.roles import CONTROL_PLANE
from lamplighter.domain.classes import access as class_access
from lamplighter.domain.gpu import dcgm_exporter, device_plugin, efa_plugin
from lamplighter.domain.gpu.sharing import chart_values
from lamplighter.lab.model import Lab
from stacks.constructs.cluster.add_ons import AddOns
from stacks.constructs.cluster.auto_mode import AutoModeRole
from stacks.constructs.cluster.control_plane import ControlPlane, cluster_log_group
from stacks.constructs.cluster.efa_group import EfaGroup
from stacks.constructs.cluster.kubectl import Kubectl
from stacks.constructs.cluster.network import Network
from stacks.constructs.cluster.security_groups import SecurityGroups
from stacks.constructs.cluster.workload_identity import WORKLOADS, PodIdentities, policy
from stacks.constructs.deploy_steps import deploy_step, pools_step
from stacks.constructs.functions.functions import LOG_RETENTION, Function, FunctionCode
from stacks.constructs.nodes.always_on import node_group, system_nodes
from stacks.constructs.nodes.edits import written
from stacks.constructs.nodes.spec import ClusterAddress
from stacks.constructs.nodes.surroundings import Surroundings
from stacks.constructs.pool.denied_sizing import denied_sizing
from stacks.constructs.pool.gatekeeper import gatekeeper
from stacks.constructs.pool.kinds import node_pools_shared, pool_construct
from stacks.manifests import RBAC, documents
from stacks.names import Names

AMI_PARAMETER = (
    "/aws/service/eks/optimized-ami/{version}/amazon-linux-2023/x86_64/{kind}/recommended/image_id"
)
POD_IDENTITIES = "eks-pod-identity-agent"
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
            asks_exporters=lab.guard.idle_by == "gpu",
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
            windows=cluster.has_windows,
            auto_mode=(
                AutoModeRole(names.role(CONTROL_PLANE), names.policy(CONTROL_PLANE))
                if cluster.has_auto_mode
                else None
            ),
        )
        if not lab.admins:
            Annotations.of(self).add_info(
                "admins is empty: only CloudFormation's role administers the cluster. Name your role in"
                " lab.yaml (admins: [arn:aws:iam::…:role/…]) to use kubectl."
            )
        add_ons = AddOns(
            self,
            "AddOns",
            cluster_name=control_plane.name,
            names=_add_ons(lab),
            windows=cluster.has_windows,
        )

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
        cluster_logs = deploy_step(
            self,
            "ClusterLogs",
            kind="ClusterLogs",
            function=keeper,
            properties={"LogGroup": cluster_log_group(lab.cluster_name), "Cluster": lab.cluster_name},
        )
        control_plane.log_group.node.add_dependency(cluster_logs)
        around = Surroundings(
            lab=lab,
            names=names,
            cluster_name=control_plane.name,
            subnets=network.private_subnets,
            security_groups=groups.of_nodes,
            gatekeeper=keeper,
            address=self._address(control_plane, keeper),
            efa_group=self._efa_group(network.vpc_id),
        )
        system = system_nodes(self, around, () if identities else policies)
        for add_on in add_ons.after_nodes:
            add_on.node.add_dependency(system.group.resource)
        others = [node_group(self, around, name) for name in cluster.node_groups]
        for group in (system, *others):
            group.group.resource.node.add_dependency(network.way_out, *add_ons.before_nodes)
        kubectl = Kubectl(self, "Kubectl", control_plane=control_plane)
        rbac = kubectl.manifest("Rbac", [*documents(RBAC), *class_access.documents(lab)])
        after_system = [system.group.resource, *add_ons.after_nodes]
        shared = node_pools_shared(
            self, around, cluster=control_plane.cluster, kubectl=kubectl, rbac=rbac, system=after_system
        )
        pools = {
            pool: pool_construct(self, pool, around, shared)
            for pool in lab.pools
            if lab.pools[pool].existing is None
        }
        of_pods = identities.roles if identities else ()
        of_nodes = [
            *(role for pool in pools.values() for role in pool.roles),
            *(shared.roles if shared else []),
        ]
        denied = denied_sizing(self, "NoSizing", lab, names)
        for role in (system.group.role, *(group.group.role for group in others), *of_nodes, *of_pods):
            role.add_managed_policy(denied)
        own = pools_step(self, {pool: lab.pools[pool] for pool in pools}, function=keeper)
        for pool in pools.values():
            pool.comes_after(own, network.way_out, *add_ons.before_nodes)

        self._gpu_charts(kubectl, after_system)
        self._outputs(network, groups, control_plane)
        edits = {group.name: group.edit for group in (system, *others)}
        for pool in pools.values():
            edits.update(pool.edits())
        self._edit_first(edits, keeper)

    def _gpu_charts(self, kubectl: Kubectl, after: Sequence[Construct]) -> None:
        """The charts that turn nodes with GPUs into nodes that pods can use."""
        lab, plugin, exporter = self._lab, device_plugin, dcgm_exporter
        if efa_plugin.pools(lab):
            kubectl.chart(
                "EfaPlugin",
                release=efa_plugin.RELEASE,
                repository=efa_plugin.REPOSITORY,
                chart=efa_plugin.CHART,
                version=efa_plugin.VERSION,
                namespace=efa_plugin.NAMESPACE,
                values=efa_plugin.chart_values(lab),
                after=after,
            )
        for name, stated, release, chart, values in (
            ("GpuOperator", lab.gpu_operator, "gpu-operator", "gpu-operator", chart_values),
            ("DevicePlugin", lab.device_plugin, plugin.RELEASE, plugin.CHART, plugin.chart_values),
            ("DcgmExporter", lab.dcgm_exporter, exporter.RELEASE, exporter.CHART, exporter.chart_values),
        ):
            if stated.enabled:
                installed = kubectl.chart(
                    name,
                    release=release,
                    repository=stated.repository,
                    chart=chart,
                    version=stated.version,
                    namespace=stated.namespace,
                    values=values(lab),
                    after=after,
                )
                if stated.namespace == lab.exporter_namespace and (rights := exporter.rights(lab)):
                    # The chart makes the namespace.
                    kubectl.manifest("GpuUse", rights).node.add_dependency(installed)

    def _edit_first(self, groups: Mapping[str, NodeGroupSides], keeper: Function) -> None:
        """The edit is checked before any resource of the stack changes: a newer control plane cannot go back."""
        properties = {"Groups": written(groups), "Zones": ",".join(self._lab.cluster.zones)}
        edit = deploy_step(self, "Edit", kind="Edit", function=keeper, properties=properties)
        for other in self.node.children:
            if other is not edit and other.node.id not in BEFORE_THE_EDIT:
                other.node.add_dependency(edit)

    def _efa_group(self, vpc_id: str) -> str | None:
        lab = self._lab
        if not lab.efa_pools:
            return None
        return EfaGroup(self, "EfaGroup", name=lab.name, vpc_id=vpc_id).id

    def _address(self, control_plane: ControlPlane, keeper: Function) -> ClusterAddress | None:
        """Nodes with an image of the user's are told how to join; CloudFormation does not know the service network."""
        if not self._lab.has_own_images:
            return None
        network = deploy_step(
            self,
            "ServiceCidr",
            kind="ServiceCidr",
            function=keeper,
            properties={"Cluster": control_plane.name},
        )
        return ClusterAddress(
            name=self._lab.cluster_name,
            endpoint=control_plane.cluster.attr_endpoint,
            certificate_authority=control_plane.cluster.attr_certificate_authority_data,
            service_cidr=network.get_att_string("ServiceCidr"),
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
                zones = pool.zone_indexes
                outputs[f"{prefix}SubnetAz"] = ",".join(cluster.zones[index] for index in zones)
                outputs[f"{prefix}SubnetId"] = Fn.join(
                    ",", [network.private_subnets[index].ref for index in zones]
                )
        for name, value in outputs.items():
            CfnOutput(self, name, value=value)

    def _ami(self, construct_id: str, kind: str) -> str:
        path = AMI_PARAMETER.format(version=self._lab.cluster.kubernetes_version, kind=kind)
        return ssm.StringParameter.from_string_parameter_name(self, construct_id, path).string_value


def _add_ons(lab: Lab) -> list[str]:
    """The lab's add-ons; Karpenter's pods get their role from the agent of pod identities."""
    own = lab.cluster.karpenter is not None and not lab.cluster.karpenter.existing
    return list(dict.fromkeys([*lab.cluster.installed_addons, *([POD_IDENTITIES] if own else [])]))


def _pascal(name: str) -> str:
    words = name.replace("_", "-").split("-")
    return "".join(word[:1].upper() + word[1:] for word in words)
