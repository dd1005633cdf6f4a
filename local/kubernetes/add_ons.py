"""What an EKS add-on runs in the cluster, for the one whose work is played: the node monitoring agent.

Its DaemonSet is a real object on every node; what its pods report of a node is told by local/fleet/node_faults.
"""

from local.kubernetes.api import KubernetesApi, Object

NODE_MONITORING = "eks-node-monitoring-agent"
_NAMESPACE = "kube-system"
_DAEMONSETS = f"/apis/apps/v1/namespaces/{_NAMESPACE}/daemonsets"
_MANAGER = "eks"


class AddOnPods:
    """Told by EKS when an add-on is there, and when it is gone."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api

    def changed(self, name: str, *, there: bool) -> None:
        """Bring about what the add-on runs, or take it away."""
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
