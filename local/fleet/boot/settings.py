"""What a node's start-up program learns from its user data, whatever the form of the data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from local.kubernetes.api import Object


class BadUserData(ValueError):
    """The start-up program cannot read the data: the machine runs, and its kubelet never starts."""


@dataclass(frozen=True)
class NodeSettings:
    """Taints as Kubernetes writes them. `required` are the names of the settings that the start needs."""

    cluster: str = ""
    endpoint: str = ""
    authority: str = ""
    service_cidr: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Object] = ()
    max_pods: int | None = None
    required: Sequence[str] = ()

    def why_it_cannot_join(self, cluster: str, endpoint: str, authority: str) -> str:
        """Why a node with these settings does not join the cluster; "" if it does."""
        missing = [name for name in self.required if not getattr(self, name)]
        if missing:
            return f"the user data does not say {', '.join(missing)}"
        if self.cluster != cluster:
            return f"the user data names cluster {self.cluster}"
        if self.endpoint and self.endpoint != endpoint:
            return f"the user data names endpoint {self.endpoint}"
        if self.authority and self.authority != authority:
            return "the user data has another certificate authority than the cluster"
        return ""


def kubelet_flags(flags: Sequence[str]) -> tuple[dict[str, str], list[Object], int | None]:
    """Labels, taints and the number of pods in a kubelet's flags."""
    labels: dict[str, str] = {}
    taints: list[Object] = []
    pods: int | None = None
    for flag in flags:
        name, _, value = flag.partition("=")
        if name == "--node-labels":
            labels |= dict(_pair(part) for part in value.split(",") if part)
        elif name == "--register-with-taints":
            taints += [taint(part) for part in value.split(",") if part]
        elif name == "--max-pods":
            pods = int(value)
    return labels, taints, pods


def taint(text: str) -> Object:
    """A taint written as key=value:effect."""
    rest, _, effect = text.rpartition(":")
    key, value = _pair(rest)
    return {"key": key, "value": value, "effect": effect}


def _pair(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key, value
