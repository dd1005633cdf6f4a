"""Karpenter and EKS Auto Mode: who starts and ends the nodes of pools that are NodePools."""

from typing import Annotated

from pydantic import Field

from lamplighter.lab.names import PLAIN_VERSION, ROLE_NAME
from lamplighter.lab.types import Part, Version


class Karpenter(Part):
    """Karpenter in the lab's cluster: its own release, or one that runs already."""

    version: Annotated[Version, Field(pattern=PLAIN_VERSION)] = Field(
        "1.14.3", description="The version of both charts; always an exact one."
    )
    existing: bool = Field(False, description="It runs already: then only the pools are ours.")
    role: str | None = Field(
        None,
        pattern=ROLE_NAME,
        description="The name of an existing Karpenter's IAM role, with its path if it has one: the failsafe denies it"
        " the pool's launches before it ends instances. Left out: no such lock.",
        examples=["KarpenterControllerRole"],
    )


class AutoMode(Part):
    """EKS Auto Mode, without its built-in node pools."""

    enabled: bool = Field(True, description="Switch it on for the lab's cluster.")
    switch_off: bool = Field(
        False,
        description="The failsafe may switch Auto Mode off, which ends all its nodes: only for a cluster that is"
        " nothing but this lab.",
    )
