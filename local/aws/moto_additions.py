"""Everything that the embedded AWS adds to moto, put together.

It has our services, the actions that happen without a call, and the handles that the rest of the embedded cloud needs.
"""

from typing import Protocol

from local.aws import instance_profiles, policy_limits
from local.aws.api.own_services import application
from local.aws.api.server import Server
from local.aws.api.service_context import ServiceContext
from local.aws.authorization import propagation
from local.aws.authorization.organisation import ORGANISATION
from local.aws.authorization.own_state import fill_in
from local.aws.authorization.propagation import PROPAGATION
from local.aws.autoscaling.autoscaling import AutoScaling
from local.aws.autoscaling.scaling import Scaling
from local.aws.ec2 import instance_types, managed_instances, security_group_rules, zones
from local.aws.ec2.capacity.block_sales import BlockSales
from local.aws.ec2.capacity.reservations import Reservations
from local.aws.ec2.ec2 import InstanceLives
from local.aws.ec2.ec2_faults import Faults
from local.aws.ec2.fleet_rights import FleetRights
from local.aws.ec2.fleets import InstantFleets
from local.aws.ec2.launch_faults import LaunchFaults
from local.aws.ec2.network_faults import NetworkFaults
from local.aws.ec2.network_paths import NetworkPaths
from local.aws.ec2.published_images import PublishedImages
from local.aws.ec2.state_events import StateEvents
from local.aws.eks.access import Access
from local.aws.eks.addons import Addons
from local.aws.eks.clusters import Clusters
from local.aws.eks.faults import NodegroupFaults
from local.aws.eks.nodegroups import Nodegroups
from local.aws.eks.nodes import Fleet, Nodes
from local.aws.eks.pod_identity import PodIdentity
from local.aws.eks.self_managed import SelfManagedNodes
from local.aws.eks.tags import Tags
from local.aws.eks.updates import Updates
from local.aws.eks.versions import ClusterVersions
from local.aws.events.alarms import Alarms
from local.aws.events.delivery_faults import Delivery, DeliveryFaults
from local.aws.events.events import Events
from local.aws.events.scheduler import Firing, Scheduler
from local.aws.free_tier import FreeTier
from local.aws.functions.metrics import FunctionMetrics
from local.aws.pricing import Pricing
from local.aws.quotas import Quotas
from local.aws.stepfunctions.limits import Limits
from local.aws.stepfunctions.service import StepFunctions
from local.aws.timers import Timers
from local.faults.switches import Switches


class AutoModeOfCluster(Protocol):
    """The imitation of EKS Auto Mode."""

    def switched(self, cluster: str) -> None: ...

    def removed(self, cluster: str) -> None: ...

    def instance_changed(self, instance: str, state: str) -> None: ...


class MotoAdditions:
    """The additions of one embedded AWS. Faults are switched on `faults`, or by the names of causes on `switches`.
    `deliveries` changes EventBridge's deliveries by a script.

    The same seed gives the same jitter.
    """

    def __init__(self, server: Server, service_context: ServiceContext, *, seed: int = 0) -> None:
        self.faults = Faults()
        self.switches = Switches()
        self.deliveries = DeliveryFaults[Delivery]()
        #: How long changed policies take to act; a scenario may make it long.
        self.propagation = PROPAGATION
        self.organisation = ORGANISATION
        self._timers = Timers(service_context.clock, "aws-timers")
        self.instances = lives = InstanceLives(service_context.clock, self._timers, self.faults, seed)
        launches = LaunchFaults(
            self.faults, self.switches, service_context.account_id, service_context.region
        )
        fleets = InstantFleets(launches, FleetRights(service_context.state))
        fleets.install()
        self.reservations = Reservations(
            service_context.clock, self._timers, lives, service_context.end_instances
        )
        self.block_sales = BlockSales(service_context.clock, self._timers, self.reservations).install()
        scaling = Scaling(service_context, self._timers, lives, launches, self.reservations)
        autoscaling = AutoScaling(service_context, scaling, self._timers)
        updates = Updates(service_context.clock)
        self.clusters = Clusters(service_context, self._timers, updates)
        versions = ClusterVersions(service_context.clock, self._timers, self.clusters, updates)
        nodegroups = Nodegroups(
            service_context,
            timers=self._timers,
            clusters=self.clusters,
            updates=updates,
            autoscaling=autoscaling,
            scaling=scaling,
            faults=self.faults,
            seed=seed,
        )
        self.nodegroups = nodegroups
        self._nodes = Nodes(service_context, scaling, nodegroups.behind, self.clusters.described)
        lives.listen(self._nodes.instance_changed)
        NodegroupFaults(
            self.switches,
            faults=self.faults,
            timers=self._timers,
            scaling=scaling,
            nodegroups=nodegroups,
            joined=self._nodes.joined,
            fleets=fleets.subnets,
        ).install()
        NetworkFaults(self.switches, service_context, scaling)
        self.paths = NetworkPaths(service_context)
        self.function_metrics = FunctionMetrics(service_context, self._timers)
        self._access = access = Access(service_context, self.clusters)
        self.self_managed = SelfManagedNodes(service_context, self.clusters, access)
        lives.listen(self.self_managed.instance_changed)
        self.instance_events = StateEvents(service_context, self._timers, scaling.replace_at_risk)
        lives.listen(self.instance_events.instance_changed)
        nodegroups.created.append(access.let_nodes_in)
        nodegroups.removed.append(access.forget_nodes)
        self.addons = Addons(service_context, self._timers, self.clusters, updates)
        self.pod_identity = PodIdentity(access, self.addons, service_context.state)
        tags = Tags(self.clusters.tagged, nodegroups.tagged, self.addons.tagged, access.tagged)
        self.workflow_limits = Limits()
        self.free_tier = FreeTier(service_context)
        self._workflows = StepFunctions(service_context, self._timers, seed, self.workflow_limits)
        self._scheduler = Scheduler(service_context, self._timers, seed)
        fill_in(service_context.state, scaling, nodegroups, self.clusters)
        lives.install()
        PublishedImages(service_context.account_id, service_context.region, server.locked).install()
        propagation.install()
        for of_ec2 in (security_group_rules, managed_instances, instance_types, zones):
            of_ec2.install()
        self.reservations.install()
        instance_profiles.install()
        policy_limits.install()
        Events(service_context, self._timers, self.deliveries).install()
        Alarms(service_context, self._timers).install()
        server.application.services |= {
            "eks": application(
                "eks", self.clusters, versions, nodegroups, updates, access, self.addons, tags
            ),
            "autoscaling": application("autoscaling", autoscaling),
            "states": application("states", self._workflows, self._workflows.tokens),
            "servicequotas": application("servicequotas", Quotas(service_context, self.faults)),
            "freetier": application("freetier", self.free_tier),
            "pricing": application("pricing", Pricing()),
            "scheduler": application("scheduler", self._scheduler),
        }

    def control_plane(self, endpoint: str, certificate_authority_base64: str) -> None:
        """The address of Kubernetes, which DescribeCluster returns. With it, clusters become ACTIVE."""
        self.clusters.control_plane(endpoint, certificate_authority_base64)

    def fleet(self, fleet: Fleet) -> None:
        """The simulator of the machines behind the instances of clusters."""
        self._nodes.fleet = self.nodegroups.fleet = self.self_managed.fleet = fleet

    def auto_mode(self, mode: AutoModeOfCluster) -> None:
        """What plays Auto Mode for clusters that have it."""
        self.clusters.auto_mode_switched.append(mode.switched)
        self.clusters.removed.append(mode.removed)
        self.instances.listen(mode.instance_changed)

    def windows_right(self, instance: str) -> bool:
        """Whether the role of a node's instance has an access entry for Windows."""
        nodegroup = self._nodes.nodegroup_of_instance(instance)
        return nodegroup is None or self._access.lets_windows_in(nodegroup.cluster, nodegroup.node_role)

    def transitions(self) -> dict[str, int]:
        """State transitions of every execution so far, by its ARN."""
        return self._workflows.transitions()

    def running(self) -> dict[str, str]:
        """The executions of workflows that have not ended: the state that each entered last, by its ARN."""
        return self._workflows.running()

    def firings(self) -> list[Firing]:
        """The invocations of Scheduler so far."""
        return list(self._scheduler.firings)

    def wait_for_execution(self, arn: str) -> None:
        """Returns when the execution has ended, successfully or not."""
        self._workflows.wait_for(arn)

    def close(self) -> None:
        self._workflows.stop_all()
        self._timers.close()
