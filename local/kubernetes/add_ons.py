"""The programs of an EKS add-on in the cluster. Only the node monitoring agent has any here.

Its DaemonSet is a real object on every node. local/fleet/faults/node.py writes what its pods report about a node.
"""

from local.kubernetes.api import KubernetesApi, Object

NODE_MONITORING = "eks-node-monitoring-agent"
_NAMESPACE = "kube-system"
_DAEMONSETS = f"/apis/apps/v1/namespaces/{_NAMESPACE}/daemonsets"
_MANAGER = "eks"


class AddOnPods:
    """EKS calls it when an add-on is installed, and when it is removed."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api

    def changed(self, name: str, *, there: bool) -> None:
        """Creates the add-on's objects in the cluster, or deletes them."""
        if name != NODE_MONITORING:
            return
        address = f"{_DAEMONSETS}/{name}"
        if there:
            self._api.apply(address, _daemonset(name), _MANAGER)
        else:
            self._api.delete(address)


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
