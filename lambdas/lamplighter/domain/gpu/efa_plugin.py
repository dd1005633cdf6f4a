"""AWS's chart of the EFA device plugin, which a lab with EFA installs: where to run.

Pure: the cluster stack installs the chart. The values are those of version v0.5.30
(https://docs.aws.amazon.com/eks/latest/userguide/device-management-efa.html: the chart, its namespace and release). It
leaves out the nodes of Auto Mode, whose image has the plugin (https://github.com/aws/eks-charts/pull/1359).
"""

from lamplighter.domain.gpu.device_plugin import tolerating
from lamplighter.lab.model import Lab
from lamplighter.values.json_value import JsonValue

RELEASE, CHART, VERSION, NAMESPACE = "efa", "aws-efa-k8s-device-plugin", "v0.5.30", "kube-system"
REPOSITORY = "https://aws.github.io/eks-charts"


def pools(lab: Lab) -> list[str]:
    """The pools whose nodes get the plugin from the chart."""
    return [name for name in lab.efa_pools if not lab.pools[name].has("built-in GPUs")]


def chart_values(lab: Lab) -> dict[str, JsonValue]:
    """The chart selects nodes by their type."""
    types: list[JsonValue] = [*sorted({lab.pools[name].instance_type for name in pools(lab)})]
    return {"supportedInstanceLabels": {"values": types}, "tolerations": tolerating(lab, [], pools(lab))}
