"""The image of a node group's nodes: EKS's own by `ami_type`, or one of yours by `ami_type: CUSTOM` and `image`.

The family says how a node reads its user data, where its disk is, and whether it has a package manager.
labfile/rules/images.py checks whether an image fits the rest of the lab.
"""

from typing import Any

from pydantic import Field

from lamplighter.data import versions
from lamplighter.lab.names import IMAGE_ID
from lamplighter.lab.types import change

CUSTOM = "CUSTOM"
ImageFamily = versions.Family
WITH_PACKAGES: frozenset[ImageFamily] = frozenset({"al2023", "al2"})
"""The families with a package manager and a start script that an image runs."""


def image_field() -> Any:  # noqa: ANN401 -- as pydantic's Field
    """The key `image` of a node group or pool."""
    return Field(
        None,
        pattern=IMAGE_ID,
        description="The id of your own image, with ami_type: CUSTOM. EKS then adds nothing to the nodes' user data,"
        " so the lab writes all of it.",
        examples=["ami-0123456789abcdef0"],
        json_schema_extra=change("rolled"),
    )


def image_family_field() -> Any:  # noqa: ANN401 -- as pydantic's Field
    """The key `image_family` of a node group or pool."""
    return Field(
        None,
        description="What your own image was made from, with ami_type: CUSTOM: it decides the form of the user data."
        " Left out: al2023.",
        examples=["bottlerocket"],
        json_schema_extra=change("rolled"),
    )


def family(ami_type: str, image_family: ImageFamily | None) -> ImageFamily:
    """The family of an image; al2023 for a type that we do not know."""
    if ami_type == CUSTOM:
        return image_family or "al2023"
    known = versions.ami_types().get(ami_type)
    return known.family if known else "al2023"
