"""DynamoDB streams, which moto leaves out: each change of a table becomes a record for a listener.

A write that changes nothing makes no record, and neither does a refused transaction. Records are not kept; the listener
gets them here. event_sources.py knows the functions.
"""

import itertools
import threading
import uuid
from collections.abc import Callable
from typing import Any

import moto.dynamodb.models as moto_dynamodb
from moto.dynamodb.models.table import StreamRecord, StreamShard, Table

from local.aws.api import dynamodb_transactions
from local.aws.api.own_services import Document
from local.clock import VirtualClock

#: Called with a record on the writer's thread, with the stream's ARN. It must not call AWS there.
Listener = Callable[[str, Document], None]


class Streams:
    """All streams of one embedded cloud."""

    def __init__(self, clock: VirtualClock, listener: Listener) -> None:
        self._clock = clock
        self._listener = listener
        self._numbers = itertools.count(100000000000000000001)
        self._transaction = threading.local()

    def install(self) -> None:
        """Replaces two parts of moto: the handling of a change, and transactions."""

        def add(shard: Any, old: Any, new: Any) -> None:
            self._changed(shard, old, new)

        def transact(backend: Any, transact_items: list[dict[str, Any]]) -> None:
            records: list[tuple[str, Document]] = []
            self._transaction.records = records
            try:
                dynamodb_transactions.transact(backend, transact_items)
            finally:
                self._transaction.records = None
            for stream, record in records:
                self._listener(stream, record)

        def specified(table: Any, streams: dict[str, Any] | None) -> None:
            _PLAIN_SPECIFICATION(table, streams)
            if not table.stream_specification.get("StreamEnabled"):
                # moto would continue to record, and would refuse to enable it again.
                table.latest_stream_label = table.stream_shard = None

        dynamodb_transactions.copy_named_items()
        StreamShard.add = add  # type: ignore[method-assign,assignment]
        Table.set_stream_specification = specified  # type: ignore[method-assign,assignment]
        moto_dynamodb.DynamoDBBackend.transact_write_items = transact  # type: ignore[method-assign,assignment]

    def _changed(self, shard: Any, old: Any, new: Any) -> None:
        if old is not None and new is not None and old.to_json() == new.to_json():
            return
        stream, record = self._record(shard, old, new)
        records = getattr(self._transaction, "records", None)
        if records is not None:
            records.append((stream, record))
        else:
            self._listener(stream, record)

    def _record(self, shard: Any, old: Any, new: Any) -> tuple[str, Document]:
        table = shard.table
        view = table.stream_specification["StreamViewType"]
        kind = "INSERT" if old is None else "REMOVE" if new is None else "MODIFY"
        stream = f"{table.table_arn}/stream/{table.latest_stream_label}"
        record: Document = StreamRecord(table, view, kind, old, new, next(self._numbers)).record
        record |= {
            "eventID": uuid.uuid4().hex,
            "eventVersion": "1.1",
            "awsRegion": stream.split(":")[3],
            "eventSourceARN": stream,
        }
        record["dynamodb"]["ApproximateCreationDateTime"] = float(int(self._clock.time()))
        return stream, record


_PLAIN_SPECIFICATION = Table.set_stream_specification
