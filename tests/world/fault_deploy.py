"""Steps of a deploy and of a destroy, while a call of our function fails: CloudFormation gets an answer to each."""

import json
from collections.abc import Callable
from typing import Any

from tests.world.faults import DISTORTIONS, HTTPS, Fault
from tests.world.world import World

Json = dict[str, Any]
GROUP = {"Cluster": "gpu-lab", "Nodegroup": "gpu-lab-ng-big"}
LOGS = {"LogGroup": "/aws/eks/gpu-lab/cluster", "Cluster": "gpu-lab"}


def _groups(labels: str) -> str:
    """What the cluster stack says of a pool's node group."""
    sides = {
        "replacing": {"digest": "g4dn", "keys": {}},
        "settings": {"digest": labels, "keys": {"pools.big.labels": labels}},
    }
    return json.dumps({GROUP["Nodegroup"]: sides})


DEPLOYED: tuple[tuple[str, str, Json], ...] = (
    ("Update", "Gate", {"Pool": "gpu", "Digest": "2"}),
    ("Update", "Gate", {"Pool": "big", "Digest": "2"}),
    ("Delete", "Gate", {"Pool": "big", "Digest": "1"}),
    ("Update", "Pools", {"Pools": "gpu,big", "Most": "gpu=1,big=1"}),
    ("Update", "Currency", {"Currency": "USD", "Period": "day", "TimeZone": "Etc/UTC"}),
    ("Update", "Plan", {"Digest": "2"}),
    ("Create", "ServiceCidr", {"Cluster": "gpu-lab"}),
    ("Create", "ClusterLogs", LOGS),
    ("Delete", "ClusterLogs", LOGS),
    ("Update", "Edit", {"Groups": _groups("b"), "Zones": "ap-northeast-2a,ap-northeast-2b"}),
    ("Update", "Version", {**GROUP, "Template": {"ImageId": "ami-2"}, "Latest": "2"}),
    ("Delete", "NodePoolLock", {"NodePool": "gpu-lab-gpu", "Launches": "karpenter"}),
    ("Create", "Swept", {}),
    ("Delete", "Emptied", {"Bucket": "gpu-lab-pages"}),
    ("Update", "DesiredSize", GROUP),
    (
        "Update",
        "Sizes",
        {**GROUP, "Pool": "big", "DesiredSize": "0", "MaxSize": "3", "LaunchTemplateVersion": "2"},
    ),
    ("Create", "NodeRole", {**GROUP, "New": "new"}),
    ("Create", "Group", {**GROUP, "Pool": "big"}),
    ("Update", "NodePoolSize", {"Cluster": "gpu-lab", "NodePool": "gpu-lab-gpu", "Pool": "gpu"}),
    ("Update", "LaunchBar", {"Cluster": "gpu-lab", "Pools": "gpu", "Digest": "2"}),
)
BEFORE = {
    "Groups": _groups("a"),
    "Zones": "",
    "Digest": "1",
    "Most": "gpu=2,big=2",
    "MaxSize": "2",
    "LaunchTemplateVersion": "1",
}
NO_LEDGER = "error ResourceNotFoundException"
"""A first deploy has none, and no lease."""
OF_OURS = ("Error: ", "Exception: ")


def deploying(world: World, faults: tuple[Fault, ...], unanswered: list[str]) -> Callable[[], None]:
    """Plays all steps. None lets CloudFormation change a pool that a lease holds; `unanswered` gets what is wrong."""
    now, formation = world.now, world.cloudformation
    unheard = any(fault.call.startswith(f"{HTTPS}.") for fault in faults)
    lies = any(fault.kind in {*DISTORTIONS, NO_LEDGER} for fault in faults)

    def call() -> None:
        for request, kind, properties in DEPLOYED:
            formation.reason = ""
            old = {**properties, **BEFORE} if request == "Update" else None
            answer = formation.ask(request, kind, f"{kind} at 0 of 2", properties, old)
            step = f"{request} {kind} {properties.get('Pool', '')}"
            if answer is None and formation.reason == "no answer" and not unheard:
                unanswered.append(f"{step}: CloudFormation waits for an hour")
            if any(word in formation.reason.partition(" ")[0] + " " for word in OF_OURS):
                unanswered.append(f"{step}: {formation.reason}")
            if answer is not None and (kind, properties.get("Pool")) == ("Gate", "gpu") and not lies:
                unanswered.append(f"{step}: the pool changes under a lease")
        if formation.ends(now) is not None and not lies:
            unanswered.append("the last close: zero is proven under a lease")
        if formation.reason == "no answer" and not unheard:
            unanswered.append("the last close: CloudFormation waits for an hour")

    return call
