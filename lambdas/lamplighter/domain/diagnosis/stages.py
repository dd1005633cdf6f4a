"""The normal time of each stage. Within it a stage is in progress; after it something is wrong.

The diagnosis decides by this table alone whether something is late.
"""

from datetime import timedelta
from enum import Enum


class ProvisioningStage(Enum):
    """A stage on the way to a working GPU, with its normal time. The comments give the source of each time."""

    # The cause of a shortage must be named within 3 minutes. By then AWS has reported it.
    LAUNCH = ("instance-launch", timedelta(seconds=180))
    # A NodeClass finds images, subnets and groups, and tries three dry runs, within 2 s; after a start of Karpenter it
    # waits for the address range of the cluster, about a minute.
    NODE_CLASS = ("node-class", timedelta(seconds=120))
    # Boot and kubelet: published AL2023 figures 40 to 90 s, the NVIDIA image up to 2 minutes; with margin.
    JOIN = ("node-join", timedelta(seconds=300))
    # The VPC CNI's two images and its start; 30 to 60 s is usual.
    READY = ("node-ready", timedelta(seconds=180))
    # Startup taints go, and resources that a NodeClaim requests come: 0 to 20 s after the node is Ready.
    INITIALIZATION = ("node-initialization", timedelta(seconds=120))
    # NFD, operator, device plugin and GFD start one after another, with cold images.
    GPUS = ("gpus-announced", timedelta(seconds=300))
    # driver-, toolkit-, cuda- and plugin-validation, the last two each with a workload.
    VALIDATION = ("validation", timedelta(seconds=300))
    # The operator's own deployment, and its ClusterPolicy after a change.
    OPERATOR = ("operator", timedelta(seconds=300))
    # Images of two pods, and the first list of instance types; a serving controller takes 8 to 44 s.
    KARPENTER = ("karpenter", timedelta(seconds=300))
    # Karpenter drains for 5 s at least; a pod has 30 s by default.
    DRAIN = ("node-drain", timedelta(seconds=120))
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
