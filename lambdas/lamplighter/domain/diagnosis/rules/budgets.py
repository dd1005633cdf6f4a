"""PodDisruptionBudgets: which pods each selects, and whether it allows an eviction.

Sources: kubernetes, pkg/registry/core/pod/storage/eviction.go and pkg/apis/policy. A selector that is not valid selects
no pod. Where redaction took out a value that decides, the budget is left out: what it selects is not known.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lamplighter.domain.diagnosis.document import Doc, at, condition, doc, number, text
from lamplighter.domain.diagnosis.scrubbing import TAKEN_OUT
from lamplighter.domain.diagnosis.snapshot import Snapshot

OPERATORS = {"In": True, "NotIn": True, "Exists": False, "DoesNotExist": False}
"""Those of a label selector, and whether each needs values."""


@dataclass(frozen=True)
class Expression:
    """A term of `matchExpressions`."""

    key: str
    operator: str
    values: frozenset[str]

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet it. NotIn is met without the label, too."""
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case _:
                return self.key not in labels


@dataclass(frozen=True)
class Budget:
    """A budget whose selector is valid."""

    item: Doc
    labels: Mapping[str, str]
    expressions: tuple[Expression, ...]

    @property
    def name(self) -> str:
        return text(self.item, "metadata", "name")

    @property
    def called(self) -> str:
        return f"{namespace_of(self.item)}/{self.name}"

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether it selects a pod of its namespace with these labels."""
        keys = {*self.labels, *(term.key for term in self.expressions)}
        if any(TAKEN_OUT in labels.get(key, "") for key in keys):
            return False
        return self.labels.items() <= labels.items() and all(term.holds(labels) for term in self.expressions)

    def allows_none(self) -> bool:
        """Whether it is used up, or its controller has not looked at it since it was changed."""
        allowed, seen = (
            number(self.item, "status", key) for key in ("disruptionsAllowed", "observedGeneration")
        )
        stale = seen is not None and seen < (number(self.item, "metadata", "generation") or 0)
        return allowed is not None and (allowed <= 0 or stale)

    def counts(self, pod: Doc) -> bool:
        """Whether it says something of the pod's eviction. Of a pod that is not Ready it may say nothing."""
        if text(condition(pod, "Ready"), "status") == "True":
            return True
        if text(self.item, "spec", "unhealthyPodEvictionPolicy") == "AlwaysAllow":
            return False
        wanted, healthy = (
            number(self.item, "status", key) or 0 for key in ("desiredHealthy", "currentHealthy")
        )
        return not wanted or healthy < wanted


class Budgets:
    """The budgets of a snapshot. Each is found by one of its labels, so that many pods and budgets take no time."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._found: dict[tuple[str, tuple[str, str] | None], list[Budget]] = {}
        for item in snapshot.listed("kubernetes", "poddisruptionbudgets"):
            budget = _read(item)
            if budget is not None:
                first = next(iter(budget.labels.items()), None)
                self._found.setdefault((namespace_of(item), first), []).append(budget)

    def of(self, pod: Doc) -> list[Budget]:
        """Those that select the pod."""
        labels = {
            key: value for key, value in doc(pod, "metadata", "labels").items() if isinstance(value, str)
        }
        space = namespace_of(pod)
        return [
            budget
            for label in (None, *labels.items())
            for budget in self._found.get((space, label), ())
            if budget.selects(labels)
        ]


def namespace_of(item: Doc) -> str:
    """The namespace of an object; `default` where its document has none."""
    return text(item, "metadata", "namespace") or "default"


def _read(item: Doc) -> Budget | None:
    """The budget; None without a valid selector, which selects no pod. An empty selector selects every pod."""
    selector = at(item, "spec", "selector")
    if not isinstance(selector, Mapping):
        return None
    labels, terms = selector.get("matchLabels") or {}, selector.get("matchExpressions") or []
    if not isinstance(labels, Mapping) or not isinstance(terms, list):
        return None
    expressions = [_expression(term) for term in terms]
    known = [term for term in expressions if term is not None]
    values = [*labels.values(), *(value for term in known for value in term.values)]
    if len(known) < len(expressions) or any(
        not isinstance(each, str) or TAKEN_OUT in each for each in values
    ):
        return None
    return Budget(item, {str(key): str(value) for key, value in labels.items()}, tuple(known))


def _expression(term: object) -> Expression | None:
    key, operator, values = text(term, "key"), text(term, "operator"), at(term, "values") or []
    if not key or operator not in OPERATORS or not isinstance(values, list):
        return None
    if bool(values) is not OPERATORS[operator] or not all(isinstance(value, str) for value in values):
        return None
    return Expression(key, operator, frozenset(values))
