"""MIG: how the operator's MIG manager cuts a node's GPUs into slices by a label, and reports the result.

Only the models of the simulated instance types; the profiles are those of mig-parted's list.
"""

from collections.abc import Generator

from local.fleet.coroutines import Pause, Until
from local.fleet.interfaces import Container, Node
from local.fleet.world import labels

CAPABLE = "nvidia.com/mig.capable"
CONFIG = "nvidia.com/mig.config"
STATE = "nvidia.com/mig.config.state"
DISABLED = "all-disabled"
Slices = dict[str, int]
#: Seconds to reset a GPU, and to stop and start its clients.
_CUTTING = 25.0
_A100: dict[str, Slices] = {
    "all-1g.5gb": {"1g.5gb": 7},
    "all-2g.10gb": {"2g.10gb": 3},
    "all-3g.20gb": {"3g.20gb": 2},
    "all-7g.40gb": {"7g.40gb": 1},
    "all-balanced": {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1},
}
_H100: dict[str, Slices] = {
    "all-1g.10gb": {"1g.10gb": 7},
    "all-1g.20gb": {"1g.20gb": 4},
    "all-2g.20gb": {"2g.20gb": 3},
    "all-3g.40gb": {"3g.40gb": 2},
    "all-7g.80gb": {"7g.80gb": 1},
    "all-balanced": {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1},
}
_MODELS = {"A100": _A100, "H100": _H100}


def profiles(name: str) -> dict[str, Slices]:
    """The profiles of a GPU of that name; empty if it cannot be cut."""
    found = next((known for model, known in _MODELS.items() if model in name), None)
    return {DISABLED: {}, **found} if found else {}


def capable(name: str) -> bool:
    """Whether GPUs of that name can be cut."""
    return bool(profiles(name))


def wanted(kubelet: Node) -> str:
    """The configuration in the node's label."""
    node = kubelet.world.nodes.find("", kubelet.name) or {"metadata": {}}
    return labels(node).get(CONFIG, "")


def manage(container: Container) -> Generator[Pause, None, int]:
    """The MIG manager: cuts the GPUs as the label says, and reports the result."""
    kubelet = container.pod.kubelet
    known = profiles(kubelet.hardware.gpu.name) if kubelet.hardware.gpu else {}
    done = ""
    if not wanted(kubelet):
        kubelet.label({CONFIG: DISABLED})
    while True:
        yield Until(lambda done=done: wanted(kubelet) not in {"", done})  # type: ignore[misc]
        asked = wanted(kubelet)
        kubelet.label({STATE: "pending"})
        container.say(f"Updating to MIG config: {asked}")
        if known.get(asked) is not None and kubelet.slices != known[asked]:
            yield _CUTTING
        if asked in known:
            kubelet.slices = dict(known[asked])
            container.say(f"Successfully updated to MIG config: {asked}")
        else:
            container.say(f"error: selected mig-config not present: {asked}")
        kubelet.label({STATE: "success" if asked in known else "failed"})
        kubelet.world.coroutines.look_again()
        done = asked
