"""How large an image is and how long a first pull takes: the registry's part of a pod's start.

Compressed sizes as the registries list them, rounded; a node pulls and unpacks some 50 MB a second (estimate).
"""

_MEGABYTE = 1_000_000
_MEGABYTES_A_SECOND = 50
_MANIFEST_SECONDS = 1.0
_USUAL = 60

#: By a part of the image's name, the first that fits.
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


def size_bytes(image: str) -> int:
    return next((size for part, size in _MEGABYTES.items() if part in image), _USUAL) * _MEGABYTE


def pull_seconds(image: str) -> float:
    """For a node that has none of its layers."""
    return _MANIFEST_SECONDS + size_bytes(image) / _MEGABYTE / _MEGABYTES_A_SECOND
