"""Rights in Kubernetes as documents for kubectl: a rule, and a role with the group that has it."""

from collections.abc import Sequence

Document = dict[str, object]

RBAC = "rbac.authorization.k8s.io"
OURS = {"app.kubernetes.io/part-of": "lamplighter"}
"""The label of what the lab makes in a cluster."""


def rule(
    resources: Sequence[str], verbs: Sequence[str], *, group: str, names: Sequence[str] = ()
) -> Document:
    """What may be done with resources of an API group; `names` narrow it to these objects."""
    made: Document = {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
    return {**made, "resourceNames": list(names)} if names else made


def granted(name: str, namespace: str | None, group: str, rules: Sequence[Document]) -> list[Document]:
    """A role and its binding to a group; without a namespace they are the cluster's."""
    kind = "Role" if namespace else "ClusterRole"
    metadata = {"name": name, "labels": OURS, **({"namespace": namespace} if namespace else {})}
    role: Document = {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": list(rules)}
    binding: Document = {
        "apiVersion": f"{RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
        "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": group}],
    }
    return [role, binding]
