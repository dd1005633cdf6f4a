"""The function that keeps the namespaces of classes. Only a lab with a class has it.

It may read the ledger, and write the few objects of these namespaces; it deletes nothing.
"""

from collections.abc import Mapping
from functools import cache

from handlers import at_init_kubernetes
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.kubernetes.connection import Connection, connect
from lamplighter.application import logs
from lamplighter.application.classes.keep import keep_classes
from lamplighter.application.environment import ENVIRONMENT, as_kept, lab
from lamplighter.application.run import step_of

STEPS = {"KeepClasses": keep_classes}


def handler(event: Mapping[str, object], context: object) -> dict[str, object]:
    """`{"step": NAME, "run": {...}}` -> the result of that step."""
    logs.begin(event, context)
    step, _ = step_of(event, STEPS)
    done = step(as_kept(lab(), _ledger()), _ledger(), _connection())
    logs.done(event, done)
    return done


@cache
def _ledger() -> Ledger:
    """The worker's one ledger client."""
    return Ledger(ENVIRONMENT.ledger_table)


@cache
def _connection() -> Connection:
    """The worker's one connection."""
    return connect(ENVIRONMENT.cluster_name)


at_init_kubernetes.make(lab, _ledger)
