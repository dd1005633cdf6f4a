"""User data as each image reads it: nodeadm, bootstrap.sh, Bottlerocket's settings, the start script of Windows.

Each reader raises on what its image would not take.
"""

import json
import re
import shlex
import subprocess
import tomllib
from email import message_from_string
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
from ruamel.yaml import YAML

SCHEMA = json.loads((Path(__file__).parent / "node_config.schema.json").read_text("utf-8"))
NODE_CONFIG, SHELL_SCRIPT = "application/node.eks.aws", "text/x-shellscript"
# https://bottlerocket.dev/en/os/latest/api/settings/kubernetes/
SETTINGS_OF_KUBERNETES = {
    "api-server",
    "cluster-certificate",
    "cluster-dns-ip",
    "cluster-name",
    "max-pods",
    "node-labels",
    "node-taints",
}
# awslabs/amazon-eks-ami, templates/al2/runtime/bootstrap.sh
OPTIONS_OF_BOOTSTRAP = {
    "--apiserver-endpoint",
    "--b64-cluster-ca",
    "--dns-cluster-ip",
    "--kubelet-extra-args",
    "--use-max-pods",
}
# https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-windows-ami.html
PARAMETERS_OF_WINDOWS = {
    "APIServerEndpoint",
    "Base64ClusterCA",
    "DNSClusterIP",
    "EKSClusterName",
    "KubeletExtraArgs",
    "ServiceCIDR",
}


def parts(text: str) -> list[tuple[str, str]]:
    """The parts of a MIME document, by their content type."""
    message = message_from_string(text)
    assert message.is_multipart(), text
    assert not message.defects, message.defects
    return [(part.get_content_type(), str(part.get_payload())) for part in message.get_payload()]  # type: ignore[union-attr]


def scripts(text: str) -> list[str]:
    """The shell scripts of a MIME document, each of which bash can parse."""
    found = [body for kind, body in parts(text) if kind == SHELL_SCRIPT]
    for script in found:
        assert script.startswith("#!/bin/bash\n"), script
        parsed = subprocess.run(
            ["/bin/bash", "-n"], input=script, capture_output=True, text=True, check=False
        )
        assert parsed.returncode == 0, parsed.stderr
    return found


def node_config(text: str) -> dict[str, Any]:
    """The spec of the one NodeConfig of a MIME document, by nodeadm's own schema."""
    [body] = [body for kind, body in parts(text) if kind == NODE_CONFIG]
    document = YAML(typ="safe").load(body)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    spec: dict[str, Any] = document["spec"]
    return spec


def bootstrap(text: str) -> tuple[str, dict[str, str]]:
    """The cluster and the options of the call of bootstrap.sh, in the last script."""
    _, _, call = scripts(text)[-1].partition("/etc/eks/bootstrap.sh ")
    cluster, *words = shlex.split(call.replace("\\\n", " "))
    options = dict(zip(words[::2], words[1::2], strict=True))
    assert options.keys() <= OPTIONS_OF_BOOTSTRAP
    return cluster, options


def settings(text: str) -> dict[str, Any]:
    """The Kubernetes settings of Bottlerocket; there are no others."""
    document = tomllib.loads(text)
    assert document.keys() == {"settings"}
    assert document["settings"].keys() == {"kubernetes"}
    kubernetes: dict[str, Any] = document["settings"]["kubernetes"]
    assert kubernetes.keys() <= SETTINGS_OF_KUBERNETES
    return kubernetes


def start_script(text: str) -> dict[str, str]:
    """The parameters of the start script of Windows, from PowerShell between its tags."""
    match = re.fullmatch(r"<powershell>\n(.*)\n</powershell>\n", text, re.DOTALL)
    assert match, text
    command, *given = match[1].split(" `\n")
    assert command == r'& "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"'
    found = dict[str, str]()
    for line in given:
        parameter = re.fullmatch(r"  -(\w+) '([^'`$]*)'", line)
        assert parameter, line
        found[parameter[1]] = parameter[2]
    assert found.keys() <= PARAMETERS_OF_WINDOWS
    return found


def flags(words: str) -> dict[str, list[str]]:
    """Kubelet's flags, with their values as lists."""
    pairs = (word.removeprefix("--").partition("=") for word in shlex.split(words))
    return {name: value.split(",") for name, _, value in pairs}
