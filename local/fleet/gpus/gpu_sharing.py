"""How a device plugin's configuration shares GPUs: time slices or MPS, how many, under which resource name."""

from dataclasses import dataclass

import yaml


@dataclass(frozen=True)
class Sharing:
    """`replicas` schedulable units for each GPU; `strategy` none, time-slicing or mps."""

    replicas: int
    strategy: str
    renamed: bool

    @property
    def resource(self) -> str:
        return "nvidia.com/gpu.shared" if self.renamed else "nvidia.com/gpu"


UNSHARED = Sharing(1, "none", renamed=False)


def sharing_of(configuration: str) -> Sharing:
    """The sharing from the plugin's `config.yaml`. Without replicas, nothing is shared."""
    document = yaml.safe_load(configuration) or {}
    sharing = document.get("sharing") or {}
    for key, strategy in (("timeSlicing", "time-slicing"), ("mps", "mps")):
        asked = sharing.get(key) or {}
        for resource in asked.get("resources") or []:
            if resource.get("name") == "nvidia.com/gpu" and int(resource.get("replicas", 1)) > 1:
                return Sharing(int(resource["replicas"]), strategy, bool(asked.get("renameByDefault")))
    return UNSHARED
