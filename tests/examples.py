"""The labs of examples/ as tests change them."""

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

OF_KARPENTER = ("kind", "image", "drain")


def on_a_node_group(example: Path) -> dict[str, Any]:
    """The lab of an example with every pool on a managed node group, as the documentation says how to get it."""
    lab: dict[str, Any] = YAML(typ="safe").load(example.read_text("utf-8"))
    lab["cluster"].pop("karpenter", None)
    for pool in lab["pools"].values():
        for key in OF_KARPENTER:
            pool.pop(key, None)
    return lab
