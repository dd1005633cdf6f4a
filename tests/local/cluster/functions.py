"""The functions' own way into the test cluster: their groups, the rights of rbac.yaml, and nothing more."""

from collections.abc import Iterator
from importlib.resources import files

import yaml

from local.kubernetes.api import KubernetesApi, Object
from local.kubernetes.token_webhook import User
from tests.local.cluster.lab import await_true

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
    """Returns when the rights act: the API server notices each role and binding a moment after it took them."""
    text = files("lamplighter.data").joinpath("rbac.yaml").read_text("utf-8")
    documents = list(yaml.safe_load_all(text))
    for document in documents:
        kubernetes.apply(KINDS[document["kind"]].format(**document["metadata"]), document, "cdk")
    for group, namespace, rule in _granted(documents):
        await_true(lambda: may(kubernetes, group, namespace, rule), f"{group} may {rule}")  # noqa: B023


def may(kubernetes: KubernetesApi, group: str, namespace: str, rule: Object) -> bool:
    """Whether the group has the right that a rule names first; no namespace is all of them."""
    resource, _, part = rule["resources"][0].partition("/")
    attributes = {
        "group": rule["apiGroups"][0],
        "resource": resource,
        "subresource": part,
        "verb": rule["verbs"][0],
        "namespace": namespace,
        "name": rule.get("resourceNames", [""])[0],
    }
    review = {"spec": {"user": group, "groups": [group], "resourceAttributes": attributes}}
    answer = kubernetes.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    return bool(answer["status"]["allowed"])


def _granted(documents: list[Object]) -> Iterator[tuple[str, str, Object]]:
    """Group, namespace and rule of every right that the documents give."""
    rules = {(each["kind"], each["metadata"]["name"]): each["rules"] for each in documents if "rules" in each}
    for binding in (each for each in documents if "roleRef" in each):
        role = binding["roleRef"]["kind"], binding["roleRef"]["name"]
        for subject in binding["subjects"]:
            for rule in rules[role]:
                yield subject["name"], binding["metadata"].get("namespace", ""), rule
