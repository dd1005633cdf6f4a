"""How long each stage normally takes: within it something is in progress, after it something is wrong.

Every lateness in the diagnosis is judged by this table, and by nothing else.
"""

from datetime import timedelta
from enum import Enum


class ProvisioningStage(Enum):
    """A stage on the way to a working GPU, with its normal time and where that comes from."""

    # The cause of a shortage is to be named within 3 minutes: by then Auto Scaling has said why.
    LAUNCH = ("instance-launch", timedelta(seconds=180))
    # Boot and kubelet: published AL2023 figures 40 to 90 s, the NVIDIA image up to 2 minutes; with margin.
    JOIN = ("node-join", timedelta(seconds=300))
    # The VPC CNI's two images and its start; 30 to 60 s is usual.
    READY = ("node-ready", timedelta(seconds=180))
    # NFD, operator, device plugin and GFD one after the other, with cold images.
    GPUS = ("gpus-announced", timedelta(seconds=300))
    # driver-, toolkit-, cuda- and plugin-validation, the last two with a workload each.
    VALIDATION = ("validation", timedelta(seconds=300))
    # The operator's own deployment, and its ClusterPolicy after a change.
    OPERATOR = ("operator", timedelta(seconds=300))
    # A pull that takes longer than this is slow: 2m18s is the published example of one.
    PULL = ("image-pull", timedelta(seconds=120))
    # The scheduler places a pod in a second; another minute for a quota or a volume.
    SCHEDULING = ("scheduling", timedelta(seconds=60))
    # Sandbox, volumes and start of a container whose image is there.
    START = ("container-start", timedelta(seconds=120))
    # A rendezvous of all ranks: torchrun gives up after 120 s.
    RENDEZVOUS = ("rendezvous", timedelta(seconds=180))

    @property
    def label(self) -> str:
        return self.value[0]

    @property
    def normal(self) -> timedelta:
        return self.value[1]
