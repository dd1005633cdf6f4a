"""Reads Kubernetes manifests from files, so that a person can read the very objects that are applied."""

from pathlib import Path

from ruamel.yaml import YAML

RBAC = Path(__file__).resolve().parent.parent / "lambdas" / "lamplighter" / "data" / "rbac.yaml"


def documents(manifest: Path) -> list[dict[str, object]]:
    """The objects of a manifest, in the file's order."""
    return [document for document in YAML(typ="safe").load_all(manifest) if document]
