"""EKS add-ons in order: first those that a node needs to become ready, last those that need a node."""

from collections.abc import Iterable, Mapping
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

# Nodes do not become ready without these. They are DaemonSets, so they install without a node.
BEFORE_NODES = ("vpc-cni", "kube-proxy", "eks-pod-identity-agent")

# t3.medium has 17 addresses for pods; with whole prefixes on its interfaces it has enough for maxPods 50.
CONFIGURATION: Mapping[str, Mapping[str, Any]] = {"vpc-cni": {"env": {"ENABLE_PREFIX_DELEGATION": "true"}}}
# It writes enable-windows-ipam to the ConfigMap amazon-vpc-cni. Without it no pod on Windows gets an address.
FOR_WINDOWS: Mapping[str, Mapping[str, Any]] = {"vpc-cni": {"enableWindowsIpam": "true"}}


class AddOns(Construct):
    """The named add-ons; those that need nodes are in `after_nodes`."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        cluster_name: str,
        names: Iterable[str],
        windows: bool = False,
    ) -> None:
        super().__init__(scope, construct_id)
        self._more = FOR_WINDOWS if windows else {}
        made = {name: self._add_on(cluster_name, name) for name in names}
        self.before_nodes = [add_on for name, add_on in made.items() if name in BEFORE_NODES]
        self.after_nodes = [add_on for name, add_on in made.items() if name not in BEFORE_NODES]

    def _add_on(self, cluster_name: str, name: str) -> eks.CfnAddon:
        configuration = {**CONFIGURATION.get(name, {}), **self._more.get(name, {})}
        return eks.CfnAddon(
            self,
            "".join(part.capitalize() for part in name.split("-")),
            cluster_name=cluster_name,
            addon_name=name,
            resolve_conflicts="OVERWRITE",
            configuration_values=Stack.of(self).to_json_string(configuration) if configuration else None,
        )
