"""The diagnosis function: step Diagnose reads AWS and Kubernetes and names the causes of what is not well.

It only reads. What it finds is told, kept and shown by whoever comes after it in the workflow.
"""

from lamplighter import clock
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.diagnosis import Subject, collect
from lamplighter.adapters.kubernetes.connection import Connection, connect
from lamplighter.application.environment import ENVIRONMENT, as_kept, lab
from lamplighter.application.logs import logger
from lamplighter.domain.diagnosis import Snapshot, diagnose
from lamplighter.domain.diagnosis.brief import in_brief
from lamplighter.domain.diagnosis.expected import expected
from lamplighter.errors import OutsideFailed
from lamplighter.values import instant

SECONDS = 30.0
"""For reading; Lambda gives this function two minutes."""


ACCESS_SECONDS = 10.0
"""For a new access entry to act: a diagnosis is not worth a longer wait."""


def diagnosed(pool: str) -> dict[str, object]:
    """What is wrong with the pool now."""
    ledger = Ledger(ENVIRONMENT.ledger_table)
    found, now = as_kept(lab(), ledger), clock.now()
    wanted = expected(
        pool,
        ledger.leases(pool),
        now,
        max_nodes=found.pools[pool].max_nodes,
        instance_type=found.pools[pool].instance_type,
    )
    subject = Subject(found.cluster_name, found.nodegroup_name(pool), wanted)
    try:
        document = collect(subject, _connection, now, SECONDS)
    except OutsideFailed as error:
        # The opening goes on, and says what it knows without a cause.
        logger().warning("nothing was read for a diagnosis of pool %s: %s", pool, error)
        return {
            "at": instant.written(now),
            "findings": [],
            "in_progress": [],
            "not_read": {"aws": str(error)},
        }
    result = in_brief(diagnose(Snapshot.read(document)))
    logger().info("diagnosed", extra={"pool": pool, "causes": [each["cause"] for each in result["findings"]]})
    return {"at": instant.written(now), **result, "not_read": document["not_read"]}


def _connection() -> Connection:
    connection = connect(ENVIRONMENT.cluster_name)
    connection.patience = ACCESS_SECONDS
    return connection
