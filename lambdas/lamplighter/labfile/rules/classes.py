"""Whether the classes of windows fit: seats, namespaces that are nobody else's, people and quotas.

Kubernetes would refuse most of it while a class waits for its window; these rules report it at once.
"""

import re
from collections.abc import Iterator

from lamplighter.domain.capacity.node_pool import controller
from lamplighter.domain.checks.ladder import NAMESPACE as OURS
from lamplighter.domain.classes.objects import TWICE
from lamplighter.lab.classes import ClassPeople, WindowClass
from lamplighter.lab.keys import Path, hint
from lamplighter.lab.model import Lab
from lamplighter.lab.types import shown
from lamplighter.labfile.rules.parts import Misfit

AMOUNTS = ("requests.storage", "requests.ephemeral-storage", "limits.ephemeral-storage")
COUNTS = (
    "pods",
    "configmaps",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
)
_COUNTED = re.compile(r"count/[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")
OURS_TOO = tuple(
    f"count/{what}" for what in ("rolebindings.rbac.authorization.k8s.io", "limitranges", "resourcequotas")
)
_BYTES, _CORES = re.compile(r"[0-9.]+[KMGT]i?"), re.compile(r"[0-9.]+m?")
_WHOLE = re.compile(r"[0-9]{1,9}")
_ZERO = re.compile(r"[0.]+[a-zA-Z]*")
# EKS gives an IAM user's ARN as a user name by default. A role's user name has `sts` and the name of its session.
_ROLE_ARN = re.compile(r"arn:aws[a-z-]*:(iam|sts)::[0-9]{12}:(assumed-)?role/.*")


def misfits(lab: Lab) -> Iterator[Misfit]:
    """The mistakes in the classes."""
    before: dict[str, tuple[int, WindowClass]] = {}
    for index, window in enumerate(lab.windows):
        terms = window.class_
        if terms is None:
            continue
        path: Path = ("windows", index, "class")
        if window.seats is None:
            yield Misfit(
                path, "is for seats; write seats beside it, such as seats: 24", ((*path[:2], "seats"),)
            )
        if taken := _taken(lab, terms.namespace):
            text = f"is {shown(terms.namespace)}, {taken}; write a namespace of the class's own"
            yield Misfit((*path, "namespace"), text)
        first, known = before.setdefault(terms.namespace, (index, terms))
        for key in ("people", "quota_per_seat", "keep"):
            if getattr(known, key) != getattr(terms, key):
                text = (
                    f"differs from that of window {lab.windows[first].name}, which has the same namespace"
                    f" {terms.namespace}; write the same, or another namespace"
                )
                yield Misfit((*path, key), text, ((*path, "namespace"), ("windows", first, "class")))
        for place, people in enumerate(terms.people):
            yield from _people(people, (*path, "people", place))
        yield from _quota(terms, (*path, "quota_per_seat"))


def _taken(lab: Lab, namespace: str) -> str | None:
    """Whose a namespace is, if not a class's."""
    charts = {lab.gpu_operator.namespace, lab.device_plugin.namespace, lab.dcgm_exporter.namespace}
    if namespace == "default" or namespace.startswith("kube-"):
        return "which is Kubernetes' own"
    if namespace in charts:
        return "in which the GPU software of this lab runs"
    if namespace in {controller.NAMESPACE, "karpenter"}:
        return "in which Karpenter runs"
    return "which is Lamplighter's own" if namespace == OURS or namespace.startswith(f"{OURS}-") else None


def _people(people: ClassPeople, path: Path) -> Iterator[Misfit]:
    names = [(key, name) for key in ("group", "user") if (name := getattr(people, key)) is not None]
    if len(names) != 1:
        text = "has not exactly one of group and user; write group: NAME or user: NAME"
        yield Misfit(path, text, ((*path, "group"), (*path, "user")))
    for key, name in names:
        if name.startswith(("system:", "lamplighter:")):
            whose = "Kubernetes keeps system:" if name.startswith("system:") else "a lab keeps lamplighter:"
            text = f"is {shown(name)}, and {whose} for its own; name a {key} of your people"
            yield Misfit((*path, key), text)
        elif name != name.strip() or not name.isprintable():
            yield Misfit((*path, key), f"is {shown(name)}, write a name without blanks around it")
        elif _ROLE_ARN.fullmatch(name) or (key == "group" and name.startswith("arn:")):
            text = (
                f"is {shown(name)}, and Kubernetes knows no {key} by that name; give the role's access entry a"
                " Kubernetes group, and write group: with its name"
            )
            yield Misfit((*path, key), text)


def _quota(terms: WindowClass, path: Path) -> Iterator[Misfit]:
    quota = terms.quota_per_seat
    for key in TWICE:
        if key not in quota:
            yield Misfit(path, f"has no {key}; write what a seat may use of it", ((*path, key),))
    for key, amount in quota.items():
        wrong = _key(key) or _amount(key, amount)
        if wrong:
            yield Misfit((*path, key), wrong)


def _key(key: str) -> str | None:
    """What is wrong with a key of the quota."""
    if "nvidia.com/" in key:
        return "counts GPUs, which the seats of the window do; leave it out"
    if key in OURS_TOO:
        return "counts what the lab writes there itself; leave it out"
    known = (*TWICE, *AMOUNTS, *COUNTS)
    if key in known or _COUNTED.fullmatch(key):
        return None
    otherwise = "; write cpu, memory, pods, requests.storage or count/jobs.batch"
    return f"is no key of a ResourceQuota{hint(key, known, otherwise)}"


def _amount(key: str, amount: str) -> str | None:
    """What is wrong with the amount of a key that is right."""
    if (key in COUNTS or _COUNTED.fullmatch(key)) and not _WHOLE.fullmatch(amount):
        return f"is {shown(amount)}, write a whole number"
    if key in {*TWICE, "pods", "count/pods"} and _ZERO.fullmatch(amount):
        return f"is {shown(amount)}, with which no pod starts; write more"
    if key == "memory" and not _BYTES.fullmatch(amount):
        return f"is {shown(amount)}, write memory such as 12Gi or 512Mi"
    if key == "cpu" and not _CORES.fullmatch(amount):
        return f"is {shown(amount)}, write processors such as 3 or 500m"
    return None
