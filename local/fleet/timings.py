"""How long each stage takes from a running instance to proven GPUs, with jitter from a seed.

Seconds of the lab's time. No single published log has all stages. The values are an estimate: typical times that people
publish for g4dn and g5 nodes with the GPU Operator.
"""

import random

#: From instance `running` to the kubelet's registration: cloud-init, nodeadm, containerd, kubelet.
REGISTER = 32.0
#: The same on Windows, which is slower to start (container images of IIS alone take a minute and a half more).
REGISTER_WINDOWS = 150.0
#: Until the VPC CNI has its first addresses and the node becomes Ready.
CNI = 9.0
#: The interval at which the cloud controller finds a new or a terminated instance.
CLOUD_CONTROLLER = 3.0
#: The operator's reaction to a change of its policy, its nodes or its DaemonSets.
RECONCILE = 5.0
#: Until the first result of discovery: a worker reads the PCI bus, GPU feature discovery reads the driver.
DISCOVER = 4.0
#: From the start of a device plugin to its first list of devices (a restored plugin is back after 40 s).
REGISTER_DEVICES = 16.0
#: From a kill signal to the end of a container that has nothing to finish.
STOP_CONTAINER = 1.0
#: Kubernetes' garbage collector deletes the pods of a deleted node after 40 seconds at the earliest.
COLLECT_ORPHANS = 45.0
#: Kubernetes gives up the pods of an unreachable node: 45 seconds of silence, and 300 that pods tolerate by default.
GIVE_UP_PODS = 345.0
#: The interval at which a kubelet that the cluster refuses tries to register again.
REGISTER_AGAIN = 7.0
#: Creating a sandbox and starting a container.
START_CONTAINER = 1.0
#: Until a registry has refused.
REFUSED_PULL = 2.0
#: From the moment at which a GPU works until it falls off the bus, under the fault xid.
XID_STRIKES = 20.0
#: The interval at which the kubelet checks a pod that makes no progress.
RESYNC = 13.0

_JITTER = 0.2


class Timings:
    """Delays that are the same for the same seed, machine and stage, whatever else happens."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def of(self, stage: float, *subject: str) -> float:
        """`stage` seconds, plus or minus a fifth, for a subject such as (node name, "register").

        A subject must not contain anything random; otherwise the same seed gives another day.
        """
        return stage * (1 + _JITTER * random.Random(repr((self._seed, subject))).uniform(-1, 1))  # noqa: S311
