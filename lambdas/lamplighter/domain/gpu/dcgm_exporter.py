"""The values of NVIDIA's DCGM exporter chart, where the GPU Operator does not bring the exporter: where to run.

Pure: the cluster stack installs the chart. The values are those of version 4.8.2.
"""

from lamplighter.domain.gpu.device_plugin import only_on, tolerating
from lamplighter.lab.gpu_settings import over
from lamplighter.lab.model import Lab
from lamplighter.values.json_value import JsonValue

CHART = "dcgm-exporter"
# The name of the release, from the project's documentation.
RELEASE = "dcgm-exporter"


def chart_values(lab: Lab) -> dict[str, JsonValue]:
    """The chart's Helm values: the lab's, its pools as the nodes to run on, and their taints.

    The exporter reads GPUs through the NVIDIA runtime, which is the default runtime on the images of these pools. So
    it names no runtime class: without the operator the cluster has none.
    """
    values = lab.dcgm_exporter.values
    values = over(values, {"tolerations": tolerating(lab, values.get("tolerations"))})
    # The chart selects no nodes by itself. Where there is no GPU, the exporter would crash.
    return values if "affinity" in values else over(values, {"affinity": only_on(lab)})
