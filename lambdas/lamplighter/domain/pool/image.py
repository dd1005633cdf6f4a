"""The image of a group's nodes, by EKS's amiType, and what follows from it for a pool of such nodes.

`check` judges the images of the groups that a lab creates; this judges any group that exists.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from lamplighter.data import instance_types, lifecycle, versions
from lamplighter.reasons.reason import Reason, reason

# _FIPS ends the names of images with approved cryptography.
_NVIDIA = re.compile(r"NVIDIA|_GPU$|^CUSTOM", re.IGNORECASE)
_AMI = re.compile(r"^ami-[0-9a-f]+$")


def may_have_driver(ami_type: str) -> bool:
    """Whether an image of this amiType can have the driver; True for an unknown (empty) type."""
    return not ami_type or bool(_NVIDIA.search(ami_type))


def has_own_plugin(ami_type: str) -> bool:
    """Whether the image has a device plugin of its own, as those of Bottlerocket with NVIDIA."""
    image = versions.ami_types().get(ami_type)
    return image is not None and image.family == "bottlerocket" and image.nvidia


class Weight(StrEnum):
    """How much a property of an image matters for a pool."""

    REFUSED = "refused"
    """No pool can have this image."""
    ENDED = "ended"
    """AWS no longer maintains it."""
    UNKNOWN = "unknown"
    """Only a look at the image or at its nodes can tell."""
    DIFFERENT = "different"
    """Its nodes are not like those of the default image."""


@dataclass(frozen=True, slots=True)
class ImageRemark:
    """One property of an image, with what follows from it and what to do."""

    weight: Weight
    said: Reason
    advice: Reason


def remarks(group: str, ami_type: str, types: tuple[str, ...], release: str) -> Iterator[ImageRemark]:
    """What is to be known of the image of a group before it is a pool.

    `release` is EKS's releaseVersion: of a CUSTOM group it is the id of the image.
    """
    image = versions.ami_types().get(ami_type)
    if image is not None and image.family == "windows":
        yield ImageRemark(
            Weight.REFUSED,
            reason("pool.image.windows", group=group, image=ami_type),
            reason("pool.image.windows.advice"),
        )
        return
    arm = _is_arm(image, types)
    if image is not None and image.family == "al2" and image.fit.last is not None:
        yield ImageRemark(
            Weight.ENDED,
            reason("pool.image.al2", group=group, image=ami_type, day=lifecycle.amazon_linux_2()),
            reason(
                "pool.image.al2.advice",
                last=image.fit.last,
                image=f"AL2023_{'ARM_64' if arm else 'x86_64'}_NVIDIA",
            ),
        )
    yield from _driver(group, ami_type, release)
    if has_own_plugin(ami_type):
        yield ImageRemark(
            Weight.DIFFERENT,
            reason("pool.image.own-plugin", group=group, image=ami_type),
            reason("pool.image.own-plugin.advice"),
        )
    if arm:
        yield ImageRemark(
            Weight.DIFFERENT,
            reason("pool.image.arm", group=group),
            reason("pool.image.arm.advice"),
        )


def _driver(group: str, ami_type: str, release: str) -> Iterator[ImageRemark]:
    if ami_type != "CUSTOM":
        if not may_have_driver(ami_type):
            yield ImageRemark(
                Weight.UNKNOWN,
                reason("pool.image.no-driver", group=group, image=ami_type),
                reason("pool.image.no-driver.advice"),
            )
        return
    if _AMI.search(release):
        yield ImageRemark(
            Weight.UNKNOWN,
            reason("pool.image.custom", group=group, image=release),
            reason("pool.image.custom.advice", image=release),
        )
    else:
        yield ImageRemark(
            Weight.UNKNOWN,
            reason("pool.image.custom-unnamed", group=group),
            reason("pool.image.custom-unnamed.advice", group=group),
        )


def _is_arm(image: versions.AmiType | None, types: tuple[str, ...]) -> bool:
    """An image is for one architecture; of a custom one the instance types tell it."""
    if image is not None:
        return image.architecture == "arm64"
    return any(instance_types.architecture(name) == "arm64" for name in types)
