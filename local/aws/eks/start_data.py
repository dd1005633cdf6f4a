"""The user data of a managed node: EKS's own part, merged with the launch template's.

EKS merges nothing into the data of a custom image (EKS user guide, launch-templates). Where both say the same setting,
the launch template's counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import yaml

from local.aws.api.own_services import AwsError, Document
from local.fleet.boot import bottlerocket, mime, node_config, windows
from local.fleet.boot.images import Family
from local.fleet.boot.settings import BadUserData

_BOUNDARY = "//"


@dataclass(frozen=True)
class NodeStart:
    """What EKS tells a node. Taints as Kubernetes writes them."""

    cluster: str
    endpoint: str
    authority: str
    service_cidr: str
    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, str]]
    max_pods: int

    @property
    def dns(self) -> str:
        """The address of the cluster's DNS: the tenth of the services."""
        return self.service_cidr.rpartition(".")[0] + ".10"

    @property
    def flags(self) -> list[str]:
        """The kubelet's flags for labels and taints."""
        labels = ",".join(f"{key}={value}" for key, value in self.labels.items())
        taints = ",".join(f"{one['key']}={one['value']}:{one['effect']}" for one in self.taints)
        return [
            *([f"--node-labels={labels}"] if labels else []),
            *([f"--register-with-taints={taints}"] if taints else []),
        ]


def merged(family: Family, start: NodeStart, given: str) -> str:
    """The user data of a node. Raises AwsError for data in another form than the image's."""
    if family is Family.BOTTLEROCKET:
        return _toml(_settings(start), given)
    if family is Family.WINDOWS:
        return _powershell(start, given)
    own = (
        (node_config.CONTENT_TYPE, _node_config(start))
        if family is Family.AL2023
        else ('text/x-shellscript; charset="us-ascii"', _script(start))
    )
    # bootstrap.sh comes last, since the scripts of the template prepare for it; a later NodeConfig wins.
    parts = _mime_parts(given)
    ordered = [own, *parts] if family is Family.AL2023 else [*parts, own]
    body = "".join(f"--{_BOUNDARY}\nContent-Type: {kind}\n\n{text}\n" for kind, text in ordered)
    return (
        f'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="{_BOUNDARY}"\n\n{body}--{_BOUNDARY}--\n'
    )


def _mime_parts(given: str) -> list[tuple[str, str]]:
    parts = mime.parts(given)
    if given.strip() and not parts:
        raise _refused("User data was not in the MIME multipart format.")
    return parts


def _node_config(start: NodeStart) -> str:
    document = {
        "apiVersion": node_config.API_VERSION,
        "kind": node_config.KIND,
        "spec": {
            "cluster": {
                "name": start.cluster,
                "apiServerEndpoint": start.endpoint,
                "certificateAuthority": start.authority,
                "cidr": start.service_cidr,
            },
            "kubelet": {
                "config": {"maxPods": start.max_pods, "clusterDNS": [start.dns]},
                "flags": start.flags,
            },
        },
    }
    return f"---\n{yaml.safe_dump(document, sort_keys=False)}"


def _script(start: NodeStart) -> str:
    extra = " ".join([*start.flags, f"--max-pods={start.max_pods}"])
    return (
        "#!/bin/bash\nset -ex\n"
        f"/etc/eks/bootstrap.sh {start.cluster} --kubelet-extra-args '{extra}' "
        f"--b64-cluster-ca {start.authority} --apiserver-endpoint {start.endpoint} "
        f"--dns-cluster-ip {start.dns} --use-max-pods false\n"
    )


def _powershell(start: NodeStart, given: str) -> str:
    """The template's commands come first, and all are within one pair of tags."""
    commands = given.replace("<powershell>", "").replace("</powershell>", "").strip()
    extra = " ".join(start.flags)
    return (
        f"<powershell>\n{commands}\n"
        f'[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\\Amazon\\EKS\\{windows.SCRIPT}"\n'
        f'& $EKSBootstrapScriptFile -EKSClusterName "{start.cluster}" -APIServerEndpoint "{start.endpoint}" '
        f'-Base64ClusterCA "{start.authority}" -ServiceCIDR "{start.service_cidr}" '
        f'-DNSClusterIP "{start.dns}" -KubeletExtraArgs "{extra}"\n</powershell>\n'
    )


def _settings(start: NodeStart) -> Document:
    taints: dict[str, list[str]] = {}
    for one in start.taints:
        taints.setdefault(one["key"], []).append(f"{one['value']}:{one['effect']}")
    kubernetes: Document = {
        "cluster-name": start.cluster,
        "api-server": start.endpoint,
        "cluster-certificate": start.authority,
        "cluster-dns-ip": start.dns,
        "max-pods": start.max_pods,
        "node-labels": dict(start.labels),
        "node-taints": taints,
    }
    return {"settings": {"kubernetes": kubernetes}}


def _toml(own: Document, given: str) -> str:
    try:
        _merge(own, bottlerocket.settings_in(given))
    except BadUserData as error:
        raise _refused(f"User data was not in a TOML format that Bottlerocket knows: {error}") from error
    return "\n".join(_tables("", own))


def _merge(into: Document, more: Document) -> None:
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def _tables(name: str, table: Document) -> list[str]:
    """TOML of a table: its values, then its tables. EKS does not keep the format either."""
    lines = [f"[{name}]"] if name else []
    lines += [f"{_key(key)} = {_value(value)}" for key, value in table.items() if not isinstance(value, dict)]
    for key, value in table.items():
        if isinstance(value, dict) and value:
            lines += _tables(f"{name}.{_key(key)}" if name else _key(key), value)
    return lines


def _key(key: str) -> str:
    return key if key.replace("-", "").replace("_", "").isalnum() else f'"{key}"'


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, int | float):
        return str(value)
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _refused(message: str) -> AwsError:
    return AwsError("InvalidRequestException", message)
