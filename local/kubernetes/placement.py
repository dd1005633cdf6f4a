"""Whether a pod could be placed on a node, by the rules of Kubernetes' scheduler and DaemonSet controller.

Only the fields that pods of a lab use: selectors, required node affinity, taints, resources. A pod with other fields
never counts as fitting (`placeable`), so that nobody waits for a placement that does not come.
"""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

Object = dict[str, Any]

_UNSCHEDULABLE = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
#: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
_QUANTITY = re.compile(r"([+-]?[0-9.]+)(?:[eE]([+-]?[0-9]+)|([num]|[kKMGTPE]i?|))")
_POWERS = {"n": -3, "u": -2, "m": -1, "": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}


def placeable(pod: Object) -> bool:
    """Whether this file knows all fields that the pod uses for its placement."""
    spec = pod["spec"]
    affinity = spec.get("affinity") or {}
    claims = any("persistentVolumeClaim" in volume for volume in spec.get("volumes") or [])
    others = any(
        (affinity.get(kind) or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
        for kind in ("podAffinity", "podAntiAffinity")
    )
    return not (claims or others or spec.get("topologySpreadConstraints") or spec.get("schedulingGates"))


def matches(selector: Object, labels: Mapping[str, str]) -> bool:
    """Whether a label selector, as in a PodDisruptionBudget, matches these labels."""
    wanted = selector.get("matchLabels") or {}
    return wanted.items() <= labels.items() and all(
        _holds(each, labels) for each in selector.get("matchExpressions") or []
    )


def selects(spec: Object, node: Object) -> bool:
    """Whether selector and required node affinity of a pod's spec match the node."""
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    terms = (required or {}).get("nodeSelectorTerms")
    return terms is None or any(_matches(term, node, labels) for term in terms)


def tolerates(spec: Object, node: Object, effects: Iterable[str], more: Iterable[Object] = ()) -> bool:
    """Whether a pod's spec, with `more` tolerations, tolerates every taint of these effects."""
    taints = list(node["spec"].get("taints") or [])
    if node["spec"].get("unschedulable") and not any(t["key"] == _UNSCHEDULABLE["key"] for t in taints):
        taints.append(_UNSCHEDULABLE)
    tolerations = [*(spec.get("tolerations") or []), *more]
    return all(
        any(_tolerated(toleration, taint) for toleration in tolerations)
        for taint in taints
        if taint["effect"] in set(effects)
    )


def has_room(pod: Object, node: Object, others: Iterable[Object]) -> bool:
    """Whether the node has the resources that the pod requests, beside the pods on it."""
    free = {name: quantity(value) for name, value in (node["status"].get("allocatable") or {}).items()}
    for other in others:
        for name, amount in requests(other).items():
            free[name] = free.get(name, Fraction(0)) - amount
    return all(free.get(name, Fraction(0)) >= amount for name, amount in requests(pod).items())


def requests(pod: Object) -> Mapping[str, Fraction]:
    """The requests that the scheduler counts for a pod: its containers together, or its largest init container."""
    total: dict[str, Fraction] = {"pods": Fraction(1)}
    for container in pod["spec"]["containers"]:
        for name, amount in _of(container).items():
            total[name] = total.get(name, Fraction(0)) + amount
    for container in pod["spec"].get("initContainers") or []:
        for name, amount in _of(container).items():
            total[name] = max(total.get(name, Fraction(0)), amount)
    return total


def quantity(text: str) -> Fraction:
    """A quantity of Kubernetes' as a number."""
    found = _QUANTITY.fullmatch(str(text))
    if found is None:
        raise ValueError(f"{text} is no quantity")
    number, exponent, unit = Fraction(found[1]), found[2], found[3]
    if exponent is not None:
        return number * Fraction(10) ** int(exponent)
    return number * Fraction(1024 if unit.endswith("i") else 1000) ** _POWERS[unit.rstrip("i")]


def _of(container: Object) -> dict[str, Fraction]:
    resources = container.get("resources") or {}
    asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {name: quantity(value) for name, value in asked.items()}


def _matches(term: Object, node: Object, labels: Mapping[str, str]) -> bool:
    fields = {"metadata.name": node["metadata"]["name"]}
    return all(_holds(each, labels) for each in term.get("matchExpressions") or []) and all(
        _holds(each, fields) for each in term.get("matchFields") or []
    )


def _holds(expression: Object, values: Mapping[str, str]) -> bool:
    key, among = expression["key"], expression.get("values") or []
    match expression["operator"]:
        case "In":
            return values.get(key) in among
        case "NotIn":
            return values.get(key) not in among
        case "Exists":
            return key in values
        case "DoesNotExist":
            return key not in values
        case _:  # Gt, Lt: no lab uses them
            return False


def _tolerated(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return toleration.get("key") in (None, "", taint["key"])
    same = toleration.get("key") == taint["key"]
    return same and (toleration.get("value") or "") == (taint.get("value") or "")
