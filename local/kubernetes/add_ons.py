"""What an EKS add-on has in the cluster: the DaemonSet of the node monitoring agent, and the VPC CNI's ConfigMap.

The DaemonSet is a real object on every Linux node. local/fleet/faults/node.py writes what its pods report about a node.
local/fleet/addresses.py reads the ConfigMap. The other programs of the add-ons have no pods here.
"""

import yaml

from local.kubernetes.api import KubernetesApi, Object

NODE_MONITORING = "eks-node-monitoring-agent"
_NAMESPACE = "kube-system"
VPC_CNI = "vpc-cni"
_CNI_SETTINGS = f"/api/v1/namespaces/{_NAMESPACE}/configmaps/amazon-vpc-cni"
_DAEMONSETS = f"/apis/apps/v1/namespaces/{_NAMESPACE}/daemonsets"
_MANAGER = "eks"


class AddOnPods:
    """EKS calls it when an add-on is installed, and when it is removed."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api

    def changed(self, name: str, *, there: bool, configuration: str = "") -> None:
        """Creates or changes the add-on's objects in the cluster, or deletes them."""
        objects = {
            NODE_MONITORING: (f"{_DAEMONSETS}/{NODE_MONITORING}", _daemonset(NODE_MONITORING)),
            VPC_CNI: (_CNI_SETTINGS, _cni_settings(configuration)),
        }
        if name not in objects:
            return
        address, manifest = objects[name]
        if there:
            self._api.apply(address, manifest, _MANAGER)
        else:
            self._api.delete(address)


def _cni_settings(configuration: str) -> Object:
    """The add-on owns this ConfigMap, and writes the setting for Windows from its own configuration
    (aws/containers-roadmap 2341).
    """
    given = yaml.safe_load(configuration) or {}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "amazon-vpc-cni", "namespace": _NAMESPACE},
        "data": {"enable-windows-ipam": str(given.get("enableWindowsIpam", False)).lower()},
    }


def _daemonset(name: str) -> Object:
    marked = {"app.kubernetes.io/name": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": _NAMESPACE, "labels": marked},
        "spec": {
            "selector": {"matchLabels": marked},
            "template": {
                "metadata": {"labels": marked},
                "spec": {
                    "nodeSelector": {"kubernetes.io/os": "linux"},
                    "priorityClassName": "system-node-critical",
                    "tolerations": [{"operator": "Exists"}],
                    "containers": [
                        {
                            "name": name,
                            "image": "602401143452.dkr.ecr.ap-northeast-2.amazonaws.com/eks/"
                            "eks-node-monitoring-agent:v1.5.0-eksbuild.1",
                        }
                    ],
                },
            },
        },
    }
