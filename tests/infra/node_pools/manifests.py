"""Reads the Kubernetes objects of a template; a value of a deploy reads as `<resource>` or `<resource.attribute>`."""

import json
from typing import Any

from tests.infra.conftest import Template

MANIFEST = "Custom::AWSCDK-EKS-KubernetesResource"
Object = dict[str, Any]


def objects(template: Template) -> list[tuple[str, Object]]:
    """Every object, with the name of the resource that applies it."""
    return [
        (name, found)
        for name, resource in template.of_type(MANIFEST).items()
        for found in json.loads(_text(resource["Properties"]["Manifest"]))
    ]


def the(template: Template, kind: str, name: str) -> tuple[str, Object]:
    """The one object of that kind and name, and the resource that applies it."""
    [found] = [
        (resource, each)
        for resource, each in objects(template)
        if each["kind"] == kind and each["metadata"]["name"] == name
    ]
    return found


def _text(manifest: object) -> str:
    if isinstance(manifest, str):
        return manifest
    assert isinstance(manifest, dict)
    text = ""
    for part in manifest["Fn::Join"][1]:
        if isinstance(part, str):
            text += part
            continue
        named = f"<{part['Ref']}>" if "Ref" in part else f"<{'.'.join(part['Fn::GetAtt'])}>"
        # Outside a string it is a number of a deploy.
        text += json.dumps(named) if text.endswith(":") else named
    return text
