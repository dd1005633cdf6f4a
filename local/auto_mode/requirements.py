"""Which instance types and zones a NodeClaim's requirements leave: values only.

Auto Mode knows the families of the EKS user guide (automode-learn-instances); here are those with GPUs.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from moto.ec2.models.instance_types import INSTANCE_TYPES

from local.kubernetes.api import Object

TYPE, ZONE = "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone"
CAPACITY_TYPE, ARCHITECTURE, SYSTEM = "karpenter.sh/capacity-type", "kubernetes.io/arch", "kubernetes.io/os"
EKS = "eks.amazonaws.com/"
#: Families with GPUs that Auto Mode starts.
GPU_FAMILIES = frozenset(
    (
        *("p6-b200", "p6-b300", "p5", "p5e", "p5en", "p4d", "p4de", "p3dn"),
        *("g7e", "g6", "gr6", "g6e", "g5g", "g5", "g4dn", "g4ad"),
    )
)
_FAMILY = re.compile(r"([a-z]+)(\d+)")


@cache
def labels_of(instance_type: str) -> Mapping[str, str]:
    """The labels of a node by its type, as the user guide lists them (create-node-pool)."""
    known = INSTANCE_TYPES[instance_type]
    family, _, size = instance_type.partition(".")
    named = _FAMILY.match(family)
    category, generation = (named[1], named[2]) if named else (family, "")
    arm = "arm64" in known["ProcessorInfo"]["SupportedArchitectures"]
    found = {
        TYPE: instance_type,
        ARCHITECTURE: "arm64" if arm else "amd64",
        SYSTEM: "linux",
        f"{EKS}instance-category": category,
        f"{EKS}instance-family": family,
        f"{EKS}instance-generation": generation,
        f"{EKS}instance-size": size,
        f"{EKS}instance-cpu": str(known["VCpuInfo"]["DefaultVCpus"]),
        f"{EKS}instance-memory": str(known["MemoryInfo"]["SizeInMiB"]),
        f"{EKS}instance-hypervisor": str(known.get("Hypervisor") or ""),
    }
    boards = known.get("GpuInfo", {}).get("Gpus", [])
    if boards:
        found |= {
            f"{EKS}instance-gpu-name": str(boards[0]["Name"]).lower().replace(" ", "-"),
            f"{EKS}instance-gpu-manufacturer": str(boards[0]["Manufacturer"]).lower(),
            f"{EKS}instance-gpu-count": str(sum(board["Count"] for board in boards)),
            f"{EKS}instance-gpu-memory": str(boards[0]["MemoryInfo"]["SizeInMiB"]),
        }
    return found


def types(requirements: Sequence[Object]) -> list[str]:
    """The types of Auto Mode that fit; a requirement about anything else than a type does not count."""
    return [name for name in _offered() if _fits(labels_of(name), requirements)]


def allowed(requirements: Sequence[Object], key: str, values: Sequence[str]) -> list[str]:
    """Those of the values that the requirements about one key leave."""
    about = [one for one in requirements if one["key"] == key]
    return [value for value in values if _fits({key: value}, about)]


def capacity_types(requirements: Sequence[Object]) -> list[str]:
    """Those that may be bought, spot first as Karpenter does; on-demand where nothing is said."""
    if not any(one["key"] == CAPACITY_TYPE for one in requirements):
        return ["on-demand"]
    return allowed(requirements, CAPACITY_TYPE, ["spot", "on-demand"])


def single_values(requirements: Sequence[Object]) -> dict[str, str]:
    """The labels that requirements with one value put on a node."""
    ones = (one for one in requirements if one["operator"] == "In" and len(one.get("values") or []) == 1)
    return {one["key"]: one["values"][0] for one in ones}


@cache
def _offered() -> tuple[str, ...]:
    return tuple(sorted(_of_auto_mode()))


def _of_auto_mode() -> Iterator[str]:
    for name, known in INSTANCE_TYPES.items():
        family, _, size = name.partition(".")
        if "metal" in size or size in ("nano", "micro", "small") or known["VCpuInfo"]["DefaultVCpus"] < 2:  # noqa: PLR2004 (the user guide's rule)
            continue
        if family in GPU_FAMILIES or not known.get("GpuInfo"):
            yield name


def _fits(labels: Mapping[str, str], requirements: Sequence[Object]) -> bool:
    return all(_holds(labels.get(one["key"]), one) for one in requirements if _is_of_type(one["key"], labels))


def _is_of_type(key: str, labels: Mapping[str, str]) -> bool:
    return key in labels or key.startswith(f"{EKS}instance-")


def _holds(value: str | None, requirement: Object) -> bool:
    operator, values = requirement["operator"], requirement.get("values") or []
    if operator in ("In", "Exists"):
        return value is not None and (operator == "Exists" or value in values)
    if operator in ("NotIn", "DoesNotExist"):
        return value is None or (operator == "NotIn" and value not in values)
    if value is None or not value.isdigit():
        return False
    number, bound = int(value), int(values[0])
    return {"Gt": number > bound, "Gte": number >= bound, "Lt": number < bound, "Lte": number <= bound}[
        operator
    ]
