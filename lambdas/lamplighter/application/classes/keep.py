"""Step KeepClasses: writes into the namespaces of the lab's classes what the running leases justify.

Every opening and close writes all classes of the lab, so that the next one makes up for one that failed. It looks at
the ledger again after it has written: of two runs at once, the last one to write has read the ledger last.
"""

from typing import TYPE_CHECKING, Protocol

from lamplighter import clock
from lamplighter.adapters.kubernetes import class_namespaces
from lamplighter.domain.classes.objects import LAB_LABEL, documents
from lamplighter.domain.classes.target import ClassTarget, targets
from lamplighter.errors import OutsideFailed, TryLater
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import Reason, reason

if TYPE_CHECKING:
    from lamplighter.adapters.kubernetes.connection import Connection
    from lamplighter.domain.leases.lease import Lease
    from lamplighter.lab.model import Lab


class KnownLeases(Protocol):
    """The part of the ledger that classes need."""

    def leases(self, pool: str) -> "list[Lease]":
        """Every lease of a pool."""
        ...


def keep_classes(lab: "Lab", ledger: KnownLeases, connection: "Connection") -> dict[str, object]:
    """The seats of each namespace, and why one was left alone. May be repeated, and run late.

    Raises OutsideFailed at the end where Kubernetes did not take a part, and TryLater where leases changed meanwhile.
    """
    wanted, failures = _targets(lab, ledger), list[str]()
    refusals: dict[str, Reason] = {}
    for target in wanted:
        name = target.terms.namespace
        try:
            if refusal := _keep(lab, target, connection):
                refusals[name] = refusal
        except OutsideFailed as error:
            failures.append(f"namespace {name}: {error}")
            # A server that does not answer for one namespace would be waited for by each of the others.
            if not error.answered:
                break
    if failures:
        raise OutsideFailed("; ".join(failures))
    if _targets(lab, ledger) != wanted:
        raise TryLater(reason("notice.class.changed"))
    return {
        "seats": {target.terms.namespace: target.seats for target in wanted},
        "refused": [{"namespace": name, "why": document(why)} for name, why in refusals.items()],
    }


def _targets(lab: "Lab", ledger: KnownLeases) -> list[ClassTarget]:
    leases = [lease for pool in lab.pools for lease in ledger.leases(pool)]
    return targets(lab, leases, clock.now())


def _keep(lab: "Lab", target: ClassTarget, connection: "Connection") -> Reason | None:
    """Write the target; why not, where a running class has a namespace that is not the lab's."""
    name = target.terms.namespace
    live = class_namespaces.namespace(connection, name)
    if live is None and not target.seats:
        return None
    if live is not None and (live.lab != lab.name or live.ends):
        code = "notice.class.ends" if live.ends else "notice.class.not-ours"
        return reason(code, namespace=name, label=f"{LAB_LABEL}={lab.name}") if target.seats else None
    for path, body in documents(lab.name, target):
        class_namespaces.apply(connection, path, body)
    return None
