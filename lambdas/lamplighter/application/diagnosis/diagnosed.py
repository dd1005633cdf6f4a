"""Step Diagnose: reads AWS and Kubernetes, and finds why a pool does not work.

It only reads. Later steps of the workflow announce and keep the findings.
"""

from lamplighter import clock
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.diagnosis import collect
from lamplighter.adapters.kubernetes.connection import Connection, connect
from lamplighter.application.diagnosis.subject import subject_of
from lamplighter.application.environment import ENVIRONMENT, as_kept, lab
from lamplighter.application.logs import logger
from lamplighter.domain.diagnosis import Snapshot, diagnose
from lamplighter.domain.diagnosis.brief import in_brief
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.document import document
from lamplighter.values import instant

SECONDS = 30.0
"""For reading. The time-out of this function is two minutes."""

ACCESS_SECONDS = 10.0
"""For a new access entry to become active. A diagnosis is not worth a longer wait."""


def diagnosed(pool: str) -> dict[str, object]:
    """The findings about the pool now, in brief."""
    ledger = Ledger(ENVIRONMENT.ledger_table)
    kept_lab, now = as_kept(lab(), ledger), clock.now()
    try:
        snapshot = collect(subject_of(kept_lab, ledger, pool, now), _connection, now, SECONDS)
    except OutsideFailed as error:
        # The opening continues and announces its result without a cause.
        logger().warning("nothing was read for a diagnosis of pool %s: %s", pool, error)
        return {
            "at": instant.written(now),
            "findings": [],
            "in_progress": [],
            "not_read": {"aws": document(error.said)},
        }
    result = in_brief(diagnose(Snapshot.read(snapshot)))
    causes = [finding["cause"] for finding in result["findings"]]
    logger().info("diagnosed", extra={"pool": pool, "causes": causes})
    return {"at": instant.written(now), **result, "not_read": snapshot["not_read"]}


def _connection() -> Connection:
    connection = connect(ENVIRONMENT.cluster_name)
    connection.patience = ACCESS_SECONDS
    return connection
