"""Which of EKS's AMI types have an NVIDIA driver; a CUSTOM one may have."""

import re

_NVIDIA = re.compile(r"NVIDIA|_GPU$|^CUSTOM", re.IGNORECASE)


def may_have_driver(ami_type: str) -> bool:
    """Whether an image of this amiType can have the driver; an empty one is not known and may."""
    return not ami_type or bool(_NVIDIA.search(ami_type))
