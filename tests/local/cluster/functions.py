"""The functions' own way into the test cluster: their groups, the rights of rbac.yaml, and nothing more."""

from importlib.resources import files

import yaml

from local.kubernetes.api import KubernetesApi
from local.kubernetes.token_webhook import User

KINDS = {
    "Namespace": "/api/v1/namespaces/{name}",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{name}",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/{name}",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/{name}",
}


class Functions:
    """Whom our tokens stand for, as the access entries say: the function's name is its token."""

    def user(self, token: str) -> User | None:
        return User(token, (f"lamplighter:{token}",)) if token in {"cluster", "guard"} else None


class Token:
    def __init__(self, value: str) -> None:
        self._value = value

    def value(self) -> str:
        return self._value

    def forget(self) -> None:
        """It stays what it is."""


def apply_rbac(kubernetes: KubernetesApi) -> None:
    text = files("lamplighter.data").joinpath("rbac.yaml").read_text("utf-8")
    for document in yaml.safe_load_all(text):
        kubernetes.apply(KINDS[document["kind"]].format(**document["metadata"]), document, "cdk")
