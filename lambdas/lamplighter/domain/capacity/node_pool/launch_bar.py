"""The launch bar of a lab's NodePools: admission policies, by which the API server itself refuses a NodeClaim.

A pool's ConfigMap says until when its nodes may start. CEL has no clock: the API server sets `creationTimestamp` before
it asks a policy, and overwrites one that the request has. Whoever installs the lab applies these documents; the
functions of the lab only change `notAfter`.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from lamplighter.domain.capacity.node_pool.groups import Group
from lamplighter.domain.capacity.node_pool.kind import LABEL
from lamplighter.domain.capacity.node_pool.probe import TYPE
from lamplighter.values.kubernetes_rights import OURS, Document

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

NAMESPACE = "lamplighter"
KEY = "notAfter"
DRY_RUN_GROUPS = (Group.BAR, Group.DOCTOR, Group.GATEKEEPER)
"""The Kubernetes groups that read the bar back with a NodeClaim which the API server does not keep."""

FORM = (
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]+)?"
    "(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
)
"""RFC 3339, the only form that opens.

CEL's `timestamp` takes texts that are no RFC 3339, such as an hour of one digit: the API server would follow a bar that
our code cannot read (https://github.com/cel-expr/cel-go/issues/1108).
"""

_API = "admissionregistration.k8s.io/v1"
_MAY_START = (
    f"has(params.data) && '{KEY}' in params.data && params.data.{KEY}.matches('{FORM}')"
    f" && timestamp(object.metadata.creationTimestamp) < timestamp(params.data.{KEY})"
)
_REFUSAL = (
    f"has(params.data) && '{KEY}' in params.data"
    f" ? 'lamplighter: no lease for NodePool ' + object.metadata.labels['{LABEL}'] + ' since ' + params.data.{KEY}"
    f" : 'lamplighter: no lease for NodePool ' + object.metadata.labels['{LABEL}']"
)
_ENDS = "has(object.spec.terminationGracePeriod)"
_SAME_POOL = f"object.metadata.?labels[?'{LABEL}'] == oldObject.metadata.?labels[?'{LABEL}']"


LAUNCH_BAR, CLAIMS_STAY, DRY_RUNS_ONLY = POLICIES = ("launch-bar", "claims-stay", "dry-runs-only")
"""The names of the lab's policies, after its own. No pool that the lab creates ends so: its binding would have one."""
_LAST_WORDS = {name.rpartition("-")[2] for name in POLICIES}


def policy_name(lab: "Lab") -> str:
    """The name of the policy that has the bar of every pool."""
    return f"{lab.name}-{LAUNCH_BAR}"


def parameter_name(lab: "Lab", pool: str) -> str:
    """The name of a pool's ConfigMap and binding: an adopted NodePool has a name of its own, these are the lab's.

    It has a dot, which no lab and no pool has in its name, where another lab could make the same name with a hyphen:
    lab `a` of pool `b-c`, and lab `a-b` of pool `c`. A cluster has one lab that creates it, and any number that adopt.
    """
    owner = lab.cluster.existing
    if owner is None:
        return earlier_name(lab, pool)
    ambiguous = "-" in pool or pool in _LAST_WORDS or lab.name.startswith(f"{owner}-")
    return f"{lab.name}.{pool}" if ambiguous else earlier_name(lab, pool)


def earlier_name(lab: "Lab", pool: str) -> str:
    """The name that earlier releases gave them in every lab."""
    return f"{lab.name}-{pool}"


def documents(lab: "Lab") -> list[Document]:
    """What is applied for the lab, in this order; nothing without NodePools."""
    if not lab.pools_with("node pool"):
        return []
    return [
        *(_parameter(lab, pool) for pool in lab.pools_with("node pool")),
        _launch_bar(lab),
        _claims_stay(lab),
        _dry_runs_only(lab),
        *(_binding(lab, pool) for pool in lab.pools_with("node pool")),
        _always(f"{lab.name}-{CLAIMS_STAY}"),
        _always(f"{lab.name}-{DRY_RUNS_ONLY}"),
    ]


def _parameter(lab: "Lab", pool: str) -> Document:
    """Without `notAfter`, so that applying it again leaves the value of a running lease in place."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": parameter_name(lab, pool), "namespace": NAMESPACE, "labels": OURS},
    }


def _launch_bar(lab: "Lab") -> Document:
    """No lease, no NodeClaim; and none of our own pools that would wait for ever at its end."""
    validations: list[Document] = [
        {"expression": _MAY_START, "messageExpression": _REFUSAL, "reason": "Forbidden"}
    ]
    adopted = [lab.node_pool_name(pool) for pool in lab.pools_with("node pool") if lab.pools[pool].existing]
    theirs = f"object.metadata.labels['{LABEL}'] in {_list(adopted)} || " if adopted else ""
    validations.append(
        {
            "expression": f"{theirs}{_ENDS}",
            "message": "lamplighter: a node of this pool needs a terminationGracePeriod, or its end may never come",
        }
    )
    validations += [_of_types(lab, pool) for pool in lab.pools_with("node pool") if lab.pools[pool].types]
    return _policy(
        policy_name(lab),
        operation="CREATE",
        # A matchCondition is read after the parameter: a lost ConfigMap would refuse the claims of every NodePool.
        selector=_of_any(lab),
        parameter={"apiVersion": "v1", "kind": "ConfigMap"},
        validations=validations,
    )


def _of_types(lab: "Lab", pool: str) -> Document:
    """A claim of the pool may become a node of the types that the lab names alone.

    Karpenter writes into the claims of a dynamic NodePool all types that fit, and into those of a static one the
    NodePool's own requirements
    (https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go).
    """
    types, name = lab.pools[pool].types, lab.node_pool_name(pool)
    only = (
        f"object.spec.requirements.exists(each, each.key == '{TYPE}' && each.operator == 'In'"
        f" && each.values.all(value, value in {_list(types)}))"
    )
    return {
        "expression": f"object.metadata.labels['{LABEL}'] != '{name}' || {only}",
        "message": f"lamplighter: the lab allows NodePool {name} only nodes of type {' or '.join(types)}",
    }


def _claims_stay(lab: "Lab") -> Document:
    """A claim of another NodePool does not become one of ours by its label, nor the other way round.

    It has no parameter: a lost one would also refuse the removal of finalizers.
    """
    return _policy(
        f"{lab.name}-{CLAIMS_STAY}",
        operation="UPDATE",
        selector=_of_any(lab),
        validations=[
            {"expression": _SAME_POOL, "message": "lamplighter: a NodeClaim stays in its NodePool"},
        ],
    )


def _dry_runs_only(lab: "Lab") -> Document:
    """RBAC cannot tell a dry run: this keeps our functions from making a NodeClaim of any NodePool."""
    groups = _list([group.of(lab.name) for group in DRY_RUN_GROUPS])
    return _policy(
        f"{lab.name}-{DRY_RUNS_ONLY}",
        operation="CREATE",
        selector={},
        conditions=[
            {"name": "ours", "expression": f"request.userInfo.groups.exists(group, group in {groups})"}
        ],
        validations=[
            {
                "expression": "has(request.dryRun) && request.dryRun",
                "message": "lamplighter: its functions only try a NodeClaim, and make none",
            },
        ],
    )


def _policy(
    name: str,
    *,
    operation: str,
    selector: Mapping[str, object],
    validations: list[Document],
    parameter: Mapping[str, object] | None = None,
    conditions: list[Document] | None = None,
) -> Document:
    rule = {
        "apiGroups": ["karpenter.sh"],
        "apiVersions": ["*"],
        "operations": [operation],
        "resources": ["nodeclaims"],
    }
    return {
        "apiVersion": _API,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name, "labels": OURS},
        "spec": {
            "failurePolicy": "Fail",
            **({"paramKind": parameter} if parameter else {}),
            "matchConstraints": {
                **({"objectSelector": selector} if selector else {}),
                "resourceRules": [rule],
            },
            **({"matchConditions": conditions} if conditions else {}),
            "validations": validations,
        },
    }


def _binding(lab: "Lab", pool: str) -> Document:
    """A pool that is only watched is not shut: the API server writes in its audit log what it would refuse."""
    acts = lab.mode(pool) == "enforce"
    return {
        "apiVersion": _API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": parameter_name(lab, pool), "labels": OURS},
        "spec": {
            "policyName": policy_name(lab),
            "validationActions": ["Deny" if acts else "Audit"],
            "matchResources": {"objectSelector": {"matchLabels": {LABEL: lab.node_pool_name(pool)}}},
            "paramRef": {
                "name": parameter_name(lab, pool),
                "namespace": NAMESPACE,
                # A parameter that is not there is denied whatever the actions are.
                "parameterNotFoundAction": "Deny" if acts else "Allow",
            },
        },
    }


def _always(name: str) -> Document:
    return {
        "apiVersion": _API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name, "labels": OURS},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }


def _of_any(lab: "Lab") -> Document:
    names = [lab.node_pool_name(pool) for pool in lab.pools_with("node pool")]
    return {"matchExpressions": [{"key": LABEL, "operator": "In", "values": names}]}


def _list(names: Iterable[str]) -> str:
    """Names as a list in CEL; none of them has a quote."""
    return "[" + ", ".join(f"'{name}'" for name in names) + "]"
