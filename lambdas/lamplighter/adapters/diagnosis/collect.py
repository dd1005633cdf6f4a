"""Collects a pool's snapshot: AWS first, then Kubernetes and its logs, within a bounded time.

A key that cannot be read is absent, and `not_read` has the reason. The snapshot contains no secret.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lamplighter.adapters.diagnosis.aws import read_aws
from lamplighter.adapters.diagnosis.kubernetes import ClusterReads
from lamplighter.adapters.diagnosis.logs import read_logs
from lamplighter.adapters.diagnosis.reading import Reading
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.domain.capacity.identity import Identity
from lamplighter.domain.capacity.kinds import NODE_GROUP
from lamplighter.domain.diagnosis.expected import Expected
from lamplighter.domain.diagnosis.redaction import redacted
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.document import document as kept_as_json
from lamplighter.reasons.reason import Sentences
from lamplighter.values import instant

Json = dict[str, Any]
SECONDS = 45.0
"""For all reads together. A snapshot takes 3 to 6 seconds [est] where everything answers."""


AWS = {NODE_GROUP: read_aws}
"""What reads the snapshot's `aws` part, by kind of capacity. A part that nothing reads is absent."""


@dataclass(frozen=True)
class Subject:
    """The pool that the snapshot is about, and the kind of its capacity."""

    kind: str
    names: Identity
    expected: Expected


def collect(
    subject: Subject, connect: Callable[[], Connection], now: datetime, seconds: float = SECONDS
) -> Json:
    """The contract's snapshot of the pool as it is at `now`, by the AWS endpoint's clock.

    Raises OutsideFailed where neither AWS nor Kubernetes gave anything.
    """
    reading = Reading(seconds)
    wanted = subject.expected
    read = AWS.get(subject.kind)
    aws = read(reading, subject.names, wanted.instance_type, wanted.since) if read else {}
    kubernetes, logs = _cluster(reading, subject.names.selector, connect)
    if not aws and not kubernetes:
        raise OutsideFailed(Sentences(tuple(dict.fromkeys(reading.not_read.values()))))
    document: Json = {"now": instant.written(now), "expected": wanted.to_json(), "aws": aws}
    not_read = {key: kept_as_json(why) for key, why in reading.not_read.items()}
    document |= {"kubernetes": kubernetes, **logs, "not_read": not_read}
    return redacted(document)


def _cluster(reading: Reading, selector: str, connect: Callable[[], Connection]) -> tuple[Json, Json]:
    connection = reading.read("kubernetes", connect)
    if connection is None:
        return {}, {}
    reads = ClusterReads(connection, reading, selector)
    objects = reads.read()
    return objects, read_logs(reads.ask, reading, objects["pods"]) if "pods" in objects else {}
