"""How long each stage takes from a running instance to proven GPUs, with jitter from a seed.

Seconds of the lab's time. No single transcript has them all: they are typical of what people publish for
g4dn and g5 nodes with the GPU Operator, an estimate.
"""

import random

#: From instance `running` to the kubelet's registration: cloud-init, nodeadm, containerd, kubelet.
REGISTER = 32.0
#: Until the VPC CNI has its first addresses and the node turns Ready.
CNI = 9.0
#: The cloud controller's round in which it finds a new or a vanished instance.
CLOUD_CONTROLLER = 3.0
#: The operator's reaction to a change of its policy, its nodes or its DaemonSets.
RECONCILE = 5.0
#: A discovery worker's first look at the PCI bus, GPU feature discovery's at the driver.
DISCOVER = 4.0
#: A device plugin's way from its start to the first list of devices (a restored plugin is back after 40 s).
REGISTER_DEVICES = 16.0
#: From a kill signal to a gone container that has nothing to finish.
STOP_CONTAINER = 1.0
#: Pods of a vanished node are collected by Kubernetes' garbage collector after 40 seconds at the earliest.
COLLECT_ORPHANS = 45.0
#: Creating a sandbox and starting a container.
START_CONTAINER = 1.0
#: Until a registry that refuses has said so.
REFUSED_PULL = 2.0
#: From the moment at which a GPU is at work until it falls off the bus, under the fault xid.
XID_STRIKES = 20.0
#: The kubelet looks at a pod that does not get on about so often.
RESYNC = 13.0

_JITTER = 0.2


class Timings:
    """Delays that are the same for the same seed, machine and stage, whatever else happens."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def of(self, stage: float, *subject: str) -> float:
        """`stage` seconds, give or take a fifth, for a subject such as (node name, "register").

        Nothing in a subject may be made by chance, or the same seed gives another day.
        """
        return stage * (1 + _JITTER * random.Random(repr((self._seed, subject))).uniform(-1, 1))  # noqa: S311
