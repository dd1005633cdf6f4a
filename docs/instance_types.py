"""Writes lambdas/lamplighter/data/instance_types.json: `python -m docs.instance_types`.

The types are EC2's own description of them (DescribeInstanceTypes) as moto ships it; what it does not say, such as the
families that EKS Auto Mode starts, stays as it stands in the file.
"""

import gzip
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "lambdas" / "lamplighter" / "data" / "instance_types.json"


def described() -> dict[str, Any]:
    """Every instance type as EC2 describes it, by name."""
    packed = files("moto.ec2").joinpath("resources", "instance_types.json.gz").read_bytes()
    types: dict[str, Any] = json.loads(gzip.decompress(packed))
    return types


def row(kind: Mapping[str, Any]) -> dict[str, Any] | None:
    """What we keep of a type with NVIDIA GPUs; None of any other."""
    gpus = [gpu for gpu in kind.get("GpuInfo", {}).get("Gpus", []) if gpu["Manufacturer"] == "NVIDIA"]
    if not gpus:
        return None
    network = kind["NetworkInfo"]
    kept: dict[str, Any] = {
        "vcpus": kind["VCpuInfo"]["DefaultVCpus"],
        "architecture": kind["ProcessorInfo"]["SupportedArchitectures"][0],
        # A part of a GPU counts as 0, and is one device.
        "gpus": gpus[0]["LogicalGpuCount"] if not gpus[0]["Count"] else gpus[0]["Count"],
        "model": gpus[0]["Name"],
    }
    if efa := network.get("EfaInfo", {}).get("MaximumEfaInterfaces"):
        kept["efa"] = efa
        if first := _first_efa_card(network["NetworkCards"]):
            kept["first_efa_card"] = first
    return kept


def _first_efa_card(cards: list[Mapping[str, Any]]) -> int:
    with_efa = [card["NetworkCardIndex"] for card in cards if "efa" in card.get("InterfaceTypes", ["efa"])]
    return min(with_efa, default=0)


def types() -> Iterator[tuple[str, dict[str, Any]]]:
    """The types of the file, by family and size."""
    for name, kind in sorted(described().items(), key=lambda item: _order(item[0], item[1])):
        if kept := row(kind):
            yield name, kept


def _order(name: str, kind: Mapping[str, Any]) -> tuple[str, int, str]:
    return name.partition(".")[0], kind["VCpuInfo"]["DefaultVCpus"], name


def text() -> str:
    """The whole file."""
    document = json.loads(FILE.read_text("utf-8"))
    rows = ",\n".join(f'    "{name}": {json.dumps(kept)}' for name, kept in types())
    parts = {key: json.dumps(value, indent=2).replace("\n", "\n  ") for key, value in document.items()}
    parts["types"] = f"{{\n{rows}\n  }}"
    return "{\n" + ",\n".join(f'  "{key}": {value}' for key, value in parts.items()) + "\n}\n"


def main() -> None:
    """Writes the file, with the day and moto's version."""
    document = json.loads(FILE.read_text("utf-8"))
    document["read"] = datetime.now(UTC).date().isoformat()
    document["sources"]["types"] = (
        f"EC2 DescribeInstanceTypes as recorded by moto {version('moto')}, written by docs/instance_types.py:"
        " VCpuInfo, ProcessorInfo, GpuInfo, NetworkInfo.EfaInfo and NetworkCards"
    )
    FILE.write_text(json.dumps(document), "utf-8")
    FILE.write_text(text(), "utf-8")


if __name__ == "__main__":
    main()
