"""Which AMI types of EKS have an NVIDIA driver; a CUSTOM one may have it."""

import re

_NVIDIA = re.compile(r"NVIDIA|_GPU$|^CUSTOM", re.IGNORECASE)


def may_have_driver(ami_type: str) -> bool:
    """Whether an image of this amiType can have the driver; True for an unknown (empty) type."""
    return not ami_type or bool(_NVIDIA.search(ami_type))
