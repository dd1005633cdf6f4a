"""What a container's program sees of its pod on this machine: its environment, and a kubeconfig of its own account.

On a node the kubelet gives both. The rights are real: the token is one of the API server, bound to the pod, so the
chart's RBAC decides what the program may do, and the token ends with the pod.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from local.kubernetes.api import KubernetesApi, Object
from local.kubernetes.control_plane import kubeconfig

#: Seconds of the lab's time, which may run fast: a kubelet would fetch a new token after an hour.
_TOKEN_SECONDS = 10 * 365 * 24 * 3600
_UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_FIELDS: Mapping[str, Callable[[Object], object]] = {
    "metadata.name": lambda pod: pod["metadata"]["name"],
    "metadata.namespace": lambda pod: pod["metadata"]["namespace"],
    "metadata.uid": lambda pod: pod["metadata"]["uid"],
    "spec.nodeName": lambda pod: pod["spec"].get("nodeName", ""),
    "spec.serviceAccountName": lambda pod: pod["spec"].get("serviceAccountName", "default"),
}


def environment_of(pod: Object, container: Object) -> dict[str, str]:
    """The environment variables that the pod gives to its container.

    A limit that the container does not have is left out; a kubelet would give that of the node.
    """
    given: dict[str, str] = {}
    for entry in container.get("env", []):
        source = entry.get("valueFrom", {})
        if "fieldRef" in source:
            given[entry["name"]] = str(_FIELDS[source["fieldRef"]["fieldPath"]](pod))
        elif "resourceFieldRef" in source:
            wanted = _resource(container, source["resourceFieldRef"])
            given |= {entry["name"]: wanted} if wanted else {}
        else:
            given[entry["name"]] = str(entry.get("value", ""))
    return given


def write_kubeconfig(api: KubernetesApi, pod: Object, authority: str, path: Path) -> None:
    """Writes a kubeconfig with a new token of the pod's service account, for the API server of `api`."""
    metadata, account = pod["metadata"], pod["spec"].get("serviceAccountName", "default")
    bound = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
    review = api.request(
        "POST",
        f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}/token",
        {"spec": {"expirationSeconds": _TOKEN_SECONDS, "boundObjectRef": bound}},
    )
    path.touch(mode=0o600)
    path.write_text(json.dumps(kubeconfig(api.endpoint, authority.encode(), review["status"]["token"])))


def _resource(container: Object, wanted: Mapping[str, str]) -> str:
    """A request or limit in the unit of the reference; "" if the container has none."""
    kind, _, name = wanted["resource"].partition(".")
    quantity = container.get("resources", {}).get(kind, {}).get(name)
    if quantity is None:
        return ""
    unit = _amount(wanted.get("divisor", "0")) or 1.0
    return str(int(-(-_amount(str(quantity)) // unit)))


def _amount(quantity: str) -> float:
    """A quantity of Kubernetes as a number."""
    if quantity.endswith("m"):
        return float(quantity[:-1]) / 1000
    for unit, factor in _UNITS.items():
        if quantity.endswith(unit):
            return float(quantity.removesuffix(unit)) * factor
    return float(quantity)
