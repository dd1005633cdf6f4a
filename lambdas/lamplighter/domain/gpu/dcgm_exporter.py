"""NVIDIA's DCGM exporter: its chart's values, where the GPU Operator does not bring it, and who may read its metrics.

Pure: the cluster stack installs the chart and applies the rights. The values are those of version 4.8.2.
"""

from collections.abc import Mapping

from lamplighter.domain.gpu.device_plugin import only_on, tolerating
from lamplighter.lab.gpu_settings import over
from lamplighter.lab.model import Lab
from lamplighter.values.json_value import JsonValue

CHART = "dcgm-exporter"
# The name of the release, from the project's documentation.
RELEASE = "dcgm-exporter"
PORT = 9400


def chart_values(lab: Lab) -> dict[str, JsonValue]:
    """The chart's Helm values: the lab's, its pools as the nodes to run on, and their taints.

    The exporter reads GPUs through the NVIDIA runtime, which is the default runtime on the images of these pools. So
    it names no runtime class: without the operator the cluster has none.
    """
    values = lab.dcgm_exporter.values
    values = over(values, {"tolerations": tolerating(lab, values.get("tolerations"))})
    # The chart selects no nodes by itself. Where there is no GPU, the exporter would crash.
    return values if "affinity" in values else over(values, {"affinity": only_on(lab)})


def rights(lab: Lab) -> list[dict[str, JsonValue]]:
    """The guard's right to ask the exporter which GPUs are busy; nothing where the lab does not count by that.

    A Service would answer for one node of many, and RBAC cannot name the pods of a DaemonSet. So the right is on the
    HTTP of every pod of this one namespace, to read only.
    """
    if lab.guard.idle_by != "gpu":
        return []
    api, name = "rbac.authorization.k8s.io", "lamplighter-gpu-use"
    head: Mapping[str, JsonValue] = {
        "apiVersion": f"{api}/v1",
        "metadata": {
            "name": name,
            "namespace": lab.exporter_namespace,
            "labels": {"app.kubernetes.io/part-of": "lamplighter"},
        },
    }
    rule: JsonValue = {"apiGroups": [""], "resources": ["pods/proxy"], "verbs": ["get"]}
    return [
        {"kind": "Role", **head, "rules": [rule]},
        {
            "kind": "RoleBinding",
            **head,
            "roleRef": {"apiGroup": api, "kind": "Role", "name": name},
            "subjects": [{"apiGroup": api, "kind": "Group", "name": "lamplighter:guard"}],
        },
    ]
