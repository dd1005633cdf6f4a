"""The vCPUs, architecture, GPUs and EFA interfaces of EC2's instance types; see instance_types.json.

A type that is not in the table is unknown. That is no error of the lab: new types appear.
"""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class InstanceType:
    """One GPU instance type."""

    name: str
    vcpus: int
    architecture: str
    gpus: int
    model: str
    efa: int = 0
    """How many EFA network interfaces it has."""
    first_efa_card: int = 0
    """The network card with the first of them; each further card has one."""


@cache
def _document() -> dict[str, Any]:
    text = (Path(__file__).parent / "instance_types.json").read_text("utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


@cache
def _gpu_types() -> dict[str, InstanceType]:
    return {
        name: InstanceType(
            name,
            int(row["vcpus"]),
            str(row["architecture"]),
            int(row["gpus"]),
            str(row["model"]),
            int(row.get("efa", 0)),
            int(row.get("first_efa_card", 0)),
        )
        for name, row in _document()["types"].items()
    }


@cache
def _families() -> dict[str, str]:
    listed = _document()["families"]
    return {family: architecture for architecture, names in listed.items() for family in str(names).split()}


def gpu_type(name: str) -> InstanceType | None:
    """A type with NVIDIA GPUs; None where it is unknown or has none."""
    return _gpu_types().get(name)


def with_efa() -> list[str]:
    """Every type with NVIDIA GPUs and EFA in the table."""
    return [name for name, known in _gpu_types().items() if known.efa]


def gpu_type_names() -> list[str]:
    """Every type with NVIDIA GPUs in the table."""
    return list(_gpu_types())


def has_no_gpu(name: str) -> bool:
    """Whether the type is known to have no NVIDIA GPU."""
    return name.partition(".")[0] in _families()


# EC2 names its GPU families g or p and their generation (https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html).
_GPU_FAMILY = re.compile(r"(gr?|p)[0-9]")


def may_have_gpu(name: str) -> bool:
    """Whether the type has a GPU, of any maker; of a type that we do not know, the name of its family tells."""
    return gpu_type(name) is not None or _GPU_FAMILY.match(name) is not None


def driver(name: str, image: str) -> str | None:
    """The driver that the type needs and not every image of this kind has; None where there is nothing to say.

    `image` is al2023, bottlerocket, or "" for an image that EKS did not make.
    """
    needed: dict[str, str] = _document()["drivers"].get(name.partition(".")[0], {})
    return f"{needed['driver']}: {needed[image or 'own']}" if (image or "own") in needed else None


def needed_driver(name: str) -> tuple[int, str] | None:
    """The least major version without which the type's GPUs do not work, and EKS' first AL2023 release that has it.

    None where every driver of EKS' images does.
    """
    needed = _document()["drivers"].get(name.partition(".")[0], {})
    return (needed["least"], needed["release"]) if "least" in needed else None


@cache
def _of_auto_mode() -> frozenset[str]:
    return frozenset(str(_document()["auto_mode"]["families"]).split())


def not_in_auto_mode(name: str) -> bool:
    """Whether the type has an NVIDIA GPU, but EKS Auto Mode does not start it."""
    return gpu_type(name) is not None and name.partition(".")[0] not in _of_auto_mode()


def architecture(name: str) -> str | None:
    """x86_64 or arm64; None for an unknown type."""
    known = gpu_type(name)
    return known.architecture if known else _families().get(name.partition(".")[0])


QUOTA_CODES = {"g_and_vt_vcpus": "L-DB2E81BA", "p_vcpus": "L-417A185B"}
"""Service Quotas' codes for running On-Demand instances of these families, in vCPUs; the same in every region."""
SPOT_QUOTA_CODES = {"g_and_vt_spot_vcpus": "L-3819A6DF", "p_spot_vcpus": "L-7212CCBC"}
"""The same for Spot Instance requests, which have quotas of their own. Those of P5 and later types are not looked at
(https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html)."""
DISK_QUOTA = "L-7A658B76"
"""EBS's quota of storage of gp3 volumes in a region, in TiB."""


def quota_code(name: str, *, spot: bool = False) -> str | None:
    """The code of the quota that a GPU type counts against."""
    return (QUOTA_CODES | SPOT_QUOTA_CODES).get(quota(name, spot=spot) or "")


def quota(name: str, *, spot: bool = False) -> str | None:
    """Which of the lab's quotas a GPU type counts against."""
    family = "g_and_vt" if name.startswith(("g", "vt")) else "p" if name.startswith("p") else None
    if spot and family == "p" and not name.startswith(("p2", "p3", "p4")):
        return None
    return family and f"{family}_spot_vcpus" if spot else family and f"{family}_vcpus"
