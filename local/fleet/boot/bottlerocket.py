"""Bottlerocket's settings in TOML (https://bottlerocket.dev/en/os/latest/, settings.kubernetes)."""

import tomllib

from local.fleet.boot.settings import BadUserData, NodeSettings
from local.kubernetes.api import Object

#: Bottlerocket starts no kubelet without these; it finds the address of the cluster's DNS by itself.
_REQUIRED = ("cluster", "endpoint", "authority")


def settings_in(text: str) -> Object:
    """The whole document. Raises BadUserData if it is not TOML, or has anything outside `settings`."""
    try:
        document: Object = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadUserData(f"the user data is not TOML: {error}") from error
    if set(document) - {"settings"}:
        raise BadUserData("Bottlerocket knows only the table `settings`")
    return document


def read(text: str) -> NodeSettings:
    """The settings for Kubernetes."""
    kubernetes = (settings_in(text).get("settings") or {}).get("kubernetes") or {}
    pods = kubernetes.get("max-pods")
    return NodeSettings(
        cluster=kubernetes.get("cluster-name", ""),
        endpoint=kubernetes.get("api-server", ""),
        authority=kubernetes.get("cluster-certificate", ""),
        labels=dict(kubernetes.get("node-labels") or {}),
        taints=[
            _taint(key, written)
            for key, values in (kubernetes.get("node-taints") or {}).items()
            for written in ([values] if isinstance(values, str) else values)
        ],
        max_pods=int(pods) if pods is not None else None,
        required=_REQUIRED,
    )


def _taint(key: str, written: str) -> Object:
    """Bottlerocket writes value:effect."""
    value, _, effect = written.rpartition(":")
    return {"key": key, "value": value, "effect": effect}
