"""How large an image is, how long a first pull takes, and where an image runs.

The sizes are the compressed sizes in the registries, rounded. A node pulls and unpacks some 50 MB a second (estimate).
"""

import re
from collections.abc import Mapping

from local.fleet.boot.images import Image

_MEGABYTE = 1_000_000
_MEGABYTES_A_SECOND = 50
#: With this rate, the CUDA sample takes the 2m18s of the published example of a slow pull.
_SLOW_MEGABYTES_A_SECOND = 0.8
_MANIFEST_SECONDS = 1.0
_USUAL = 60

#: By a part of the image's name; the first match counts.
_MEGABYTES = {
    "dcgm-exporter": 520,
    "k8s-device-plugin": 170,
    "gpu-operator": 210,
    "node-feature-discovery": 70,
    "cuda-sample": 110,
    "nvidia/pytorch": 9300,
    "nccl-tests": 4300,
    "cloud-native/dcgm": 560,
    "nvidia/cuda": 130,
    "nvidia/driver": 1400,
    "container-toolkit": 190,
    "pause": 1,
}


#: The base of images whose name does not show it, by a part of the name.
_CUDA = {"gpu-operator": (13, 0), "nvidia/pytorch": (13, 0), "cuda-sample": (12, 5)}
#: Parts of the names of images that are built for Windows.
_BUILT_FOR_WINDOWS = ("windows", "nanoserver", "mcr.microsoft.com")


def size_bytes(image: str) -> int:
    return next((size for part, size in _MEGABYTES.items() if part in image), _USUAL) * _MEGABYTE


def pull_seconds(image: str, *, slow: bool = False) -> float:
    """The pull time for a node that has no layer of the image."""
    speed = _SLOW_MEGABYTES_A_SECOND if slow else _MEGABYTES_A_SECOND
    return _MANIFEST_SECONDS + size_bytes(image) / _MEGABYTE / speed


def duration(seconds: float) -> str:
    """A duration as Go writes it: 2m18.049s."""
    minutes, left = divmod(round(seconds, 3), 60)
    hours, minutes = divmod(int(minutes), 60)
    before = f"{hours}h" if hours else ""
    before += f"{minutes}m" if hours or minutes else ""
    return f"{before}{left:.3f}".rstrip("0").rstrip(".") + "s"


def cuda_needed(image: str, environment: Mapping[str, str]) -> tuple[int, int] | None:
    """The CUDA version that an image needs of the driver, by NVIDIA_REQUIRE_CUDA or its name; None if it needs none."""
    said = re.search(r"cuda>=(\d+)\.(\d+)", environment.get("NVIDIA_REQUIRE_CUDA", ""))
    said = said or re.search(r"cuda[:/-]?(\d+)\.(\d+)", image)
    if said:
        return int(said[1]), int(said[2])
    return next((needed for part, needed in _CUDA.items() if part in image), None)


def wrong_platform(node: Image, image: str) -> str:
    """Why containerd cannot run a container image on a node with this machine image; "" if it can."""
    windows = any(part in image for part in _BUILT_FOR_WINDOWS)
    if windows == node.windows:
        return ""
    platform = "windows/amd64" if node.windows else f"linux/{node.node_architecture}"
    return (
        f'failed to pull and unpack image "{image}": no match for platform in manifest: {platform}: not found'
    )
