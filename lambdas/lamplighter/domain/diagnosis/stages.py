"""The normal time of each stage. Within it a stage is in progress; after it something is wrong.

The diagnosis decides by this table alone whether something is late.
"""

from datetime import timedelta
from enum import Enum


class ProvisioningStage(Enum):
    """A stage on the way to a working GPU, with its normal time. The comments give the source of each time."""

    # The cause of a shortage must be named within 3 minutes. By then AWS has reported it.
    LAUNCH = ("instance-launch", timedelta(seconds=180))
    # Boot and kubelet: published AL2023 figures 40 to 90 s, the NVIDIA image up to 2 minutes; with margin.
    JOIN = ("node-join", timedelta(seconds=300))
    # The VPC CNI's two images and its start; 30 to 60 s is usual.
    READY = ("node-ready", timedelta(seconds=180))
    # NFD, operator, device plugin and GFD start one after another, with cold images.
    GPUS = ("gpus-announced", timedelta(seconds=300))
    # driver-, toolkit-, cuda- and plugin-validation, the last two each with a workload.
    VALIDATION = ("validation", timedelta(seconds=300))
    # The operator's own deployment, and its ClusterPolicy after a change.
    OPERATOR = ("operator", timedelta(seconds=300))
    # A longer pull is slow: the published example took 2m18s.
    PULL = ("image-pull", timedelta(seconds=120))
    # The scheduler places a pod in a second. A quota or a volume may take a minute more.
    SCHEDULING = ("scheduling", timedelta(seconds=60))
    # Sandbox, volumes and start of a container whose image is pulled.
    START = ("container-start", timedelta(seconds=120))
    # A rendezvous of all ranks: torchrun gives up after 120 s.
    RENDEZVOUS = ("rendezvous", timedelta(seconds=180))

    @property
    def label(self) -> str:
        return self.value[0]

    @property
    def normal(self) -> timedelta:
        return self.value[1]
