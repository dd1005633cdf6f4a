"""nodeadm's configuration on Amazon Linux 2023: NodeConfig documents, bare or as parts of a MIME archive.

Several documents are merged in their order: a later value wins, and flags are appended
(https://awslabs.github.io/amazon-eks-ami/nodeadm/).
"""

import shlex
from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from local.fleet.boot.mime import parts
from local.fleet.boot.settings import BadUserData, NodeSettings, kubelet_flags, taint
from local.kubernetes.api import Object

CONTENT_TYPE = "application/node.eks.aws"
API_VERSION, KIND = "node.eks.aws/v1alpha1", "NodeConfig"
#: nodeadm refuses to start without these.
_REQUIRED = ("cluster", "endpoint", "authority", "service_cidr")


def read(text: str) -> NodeSettings:
    """The settings of all NodeConfigs in the data. Raises BadUserData for a document that nodeadm refuses."""
    spec: Object = {}
    for document in _documents(text):
        _merge(spec, document.get("spec") or {})
    cluster, kubelet = spec.get("cluster") or {}, spec.get("kubelet") or {}
    config = kubelet.get("config") or {}
    labels, taints, pods = kubelet_flags(_words(kubelet.get("flags") or []))
    return NodeSettings(
        cluster=cluster.get("name", ""),
        endpoint=cluster.get("apiServerEndpoint", ""),
        authority=cluster.get("certificateAuthority", ""),
        service_cidr=cluster.get("cidr", ""),
        labels=labels,
        taints=[*taints, *(_taint(each) for each in config.get("registerWithTaints") or [])],
        max_pods=pods or config.get("maxPods"),
        required=_REQUIRED,
    )


def _documents(text: str) -> Iterator[Object]:
    bodies = [body for kind, body in parts(text) if kind == CONTENT_TYPE]
    for body in bodies or ([] if parts(text) else [text]):
        try:
            documents = list(yaml.safe_load_all(body))
        except yaml.YAMLError as error:
            raise BadUserData(f"a NodeConfig is not YAML: {error}") from error
        for document in documents:
            if document is None:
                continue
            if not isinstance(document, dict) or document.get("kind") != KIND:
                raise BadUserData("a document of the user data is not a NodeConfig")
            if document.get("apiVersion") != API_VERSION:
                raise BadUserData(f"unknown apiVersion {document.get('apiVersion')} of a NodeConfig")
            yield document


def _merge(into: Object, more: Object) -> None:
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        elif key == "flags":
            into[key] = [*(into.get(key) or []), *value]
        else:
            into[key] = value


def _words(flags: Iterable[str]) -> list[str]:
    """The flags without quotes, which systemd takes off nodeadm's environment file. Karpenter quotes values."""
    return [word for flag in flags for word in shlex.split(flag)]


def _taint(written: Any) -> Object:
    """A taint of the kubelet's configuration, which is an object; the flag has it as text."""
    return taint(written) if isinstance(written, str) else {"value": "", **written}
