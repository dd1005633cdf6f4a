"""Collects a pool's snapshot: AWS first, then Kubernetes and its logs, within a bounded time.

A key that cannot be read is absent, and `not_read` has the reason. The snapshot contains no secret.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from lamplighter.adapters.border import border
from lamplighter.adapters.diagnosis.aws import read_node_group, read_node_pool
from lamplighter.adapters.diagnosis.kubernetes import NODE_CLASSES, ClusterReads
from lamplighter.adapters.diagnosis.logs import read_logs
from lamplighter.adapters.diagnosis.reading import Reading
from lamplighter.adapters.diagnosis.subject import Subject
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.domain.capacity.kinds import NODE_GROUP
from lamplighter.domain.capacity.node_pool.kind import AUTO_MODE, KARPENTER
from lamplighter.domain.diagnosis.redaction import redacted
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.document import document as kept_as_json
from lamplighter.reasons.reason import Sentences
from lamplighter.values import instant

Json = dict[str, Any]
SECONDS = 45.0
"""For all reads together. A snapshot takes 3 to 6 seconds [est] where everything answers."""


AWS = {NODE_GROUP: read_node_group, KARPENTER.code: read_node_pool, AUTO_MODE.code: read_node_pool}
"""What reads the snapshot's `aws` part, by kind of capacity."""


@border
def collect(
    subject: Subject, connect: Callable[[], Connection], now: datetime, seconds: float = SECONDS
) -> Json:
    """The contract's snapshot of the pool as it is at `now`, by the AWS endpoint's clock.

    Raises OutsideFailed where neither AWS nor Kubernetes gave anything.
    """
    reading = Reading(seconds)
    wanted = subject.expected
    aws = AWS[subject.kind](reading, subject)
    kubernetes, logs = _cluster(reading, subject, connect)
    if not aws and not kubernetes:
        raise OutsideFailed(Sentences(tuple(dict.fromkeys(reading.not_read.values()))))
    document: Json = {"now": instant.written(now), "expected": wanted.to_json(), "aws": aws}
    not_read = {key: kept_as_json(why) for key, why in reading.not_read.items()}
    document |= {"kubernetes": kubernetes, **logs, "not_read": not_read}
    return redacted(document)


def _cluster(reading: Reading, subject: Subject, connect: Callable[[], Connection]) -> tuple[Json, Json]:
    connection = reading.read("kubernetes", connect)
    if connection is None:
        return {}, {}
    reads = ClusterReads(connection, reading, subject.names.selector)
    objects = reads.read()
    if subject.kind in NODE_CLASSES:
        objects = reads.read_node_pool(NODE_CLASSES[subject.kind], subject.launch_bar)
    return objects, read_logs(reads.ask, reading, objects["pods"]) if "pods" in objects else {}
