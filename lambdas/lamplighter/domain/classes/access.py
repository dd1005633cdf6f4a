"""What the function of classes may do in Kubernetes: its group's rights, and the policy that narrows them.

RBAC cannot name the namespaces of a right that the whole cluster has, and the namespaces do not exist yet. So the
rights name the objects, and an admission policy the namespaces: those of the lab's classes with the lab's label.
"""

from collections.abc import Sequence

from lamplighter.domain.classes.objects import BASELINE, CRITICAL, LAB_LABEL, NAME, POD_SECURITY, ROLE
from lamplighter.domain.classes.target import classes
from lamplighter.lab.model import Lab
from lamplighter.values.kubernetes_rights import OURS, RBAC, Document, granted, rule

_ADMISSION = "admissionregistration.k8s.io/v1"
_WRITES = ("create", "patch")


def group(lab: Lab) -> str:
    """The Kubernetes group of the function; it carries the lab's name, since two labs may share a cluster."""
    return f"lamplighter:{lab.name}:classes"


def documents(lab: Lab) -> list[Document]:
    """What is applied for the lab; nothing without a class."""
    namespaces = list(classes(lab))
    if not namespaces:
        return []
    name = f"{lab.name}-classes"
    rules = [
        rule(["namespaces"], ["get", *_WRITES], group="", names=namespaces),
        rule(["resourcequotas", "limitranges"], _WRITES, group="", names=[NAME, CRITICAL]),
        rule(["rolebindings"], _WRITES, group=RBAC, names=[NAME]),
        # The right to give people this one role, without having it.
        rule(["clusterroles"], ["bind"], group=RBAC, names=[ROLE]),
    ]
    return [
        *granted(name, None, group(lab), rules),
        _object("ValidatingAdmissionPolicy", name, _policy(lab, namespaces)),
        _object(
            "ValidatingAdmissionPolicyBinding", name, {"policyName": name, "validationActions": ["Deny"]}
        ),
    ]


def _policy(lab: Lab, namespaces: Sequence[str]) -> Document:
    """Our group writes in namespaces of this lab alone, and takes over none that somebody else made."""
    listed = "[" + ", ".join(f"'{name}'" for name in namespaces) + "]"
    ours = f"metadata.?labels[?'{LAB_LABEL}'].orValue('') == '{lab.name}'"
    # Without the label, pods in a namespace that it may give people to could take over their node.
    baseline = f"object.metadata.?labels[?'{POD_SECURITY}'].orValue('') == '{BASELINE}'"
    of_namespace = f"{baseline} && object.{ours} && (oldObject == null || oldObject.{ours})"
    inside = f"request.namespace in {listed} && namespaceObject.{ours}"
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                _written("", ["namespaces", "resourcequotas", "limitranges"]),
                _written(RBAC, ["rolebindings"]),
            ]
        },
        "matchConditions": [{"name": "ours", "expression": f"'{group(lab)}' in request.userInfo.groups"}],
        "validations": [
            {
                "expression": f"request.resource.resource == 'namespaces' ? ({of_namespace}) : ({inside})",
                "message": f"lamplighter: only the namespaces of this lab's classes with the label"
                f" {LAB_LABEL}={lab.name}",
                "reason": "Forbidden",
            }
        ],
    }


def _written(api: str, resources: Sequence[str]) -> Document:
    operations = ["CREATE", "UPDATE"]
    return {"apiGroups": [api], "apiVersions": ["*"], "operations": operations, "resources": list(resources)}


def _object(kind: str, name: str, spec: Document) -> Document:
    return {"apiVersion": _ADMISSION, "kind": kind, "metadata": {"name": name, "labels": OURS}, "spec": spec}
