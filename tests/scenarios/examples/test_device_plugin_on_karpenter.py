"""Document 002 as it is: the chart of the device plugin, on a NodePool of the real Karpenter."""

from datetime import timedelta

import pytest

from lamplighter.domain.leases.lease import LeaseState
from tests.scenarios.examples.opened import EXAMPLES, close, deployed_with_karpenter
from tests.scenarios.examples.test_device_plugin import GPU_POD, PODS

pytestmark = pytest.mark.long


@pytest.mark.usefixtures("device_plugin_chart")
def test_the_lab_of_the_device_plugin_s_document_opens_is_proven_and_closes() -> None:
    with deployed_with_karpenter(EXAMPLES / "002-device-plugin.yaml", "gpu") as lab:
        lease = lab.open(1, "1h", "--wait")
        lab.until_state(lease.id, LeaseState.OPEN)
        [node] = lab.nodes()
        assert node["metadata"]["labels"]["nodeType"] == "nvidia"
        assert node["metadata"]["labels"]["nvidia.com/gpu.product"] == "Tesla-T4"
        assert node["status"]["allocatable"]["nvidia.com/gpu"] == "1"

        student = lab.kubernetes
        student.create(PODS, GPU_POD)
        lab.await_(
            "the pod runs",
            lambda: student.get(f"{PODS}/gpu-pod")["status"].get("phase") == "Running",
            timedelta(minutes=3),
        )
        lab.await_(
            "it has printed", lambda: "Tesla T4" in student.text(f"{PODS}/gpu-pod/log"), timedelta(minutes=1)
        )

        assert close(lab, lease.id) >= {"allocatable", "nvidia-smi", "vectoradd"}
        assert lab.claims() == []
