"""The parameter of a pool's launch bar: a ConfigMap in our namespace that says until when its nodes may start."""

import re
from datetime import datetime

from lamplighter.adapters.border import border
from lamplighter.adapters.kubernetes.connection import MERGE_PATCH, NOT_FOUND, Connection
from lamplighter.domain.capacity.evidence import Bar
from lamplighter.domain.capacity.node_pool.launch_bar import FORM, KEY, NAMESPACE
from lamplighter.values import instant

PATH = f"/api/v1/namespaces/{NAMESPACE}/configmaps"


@border
class LaunchBar:
    """The bar of one pool, by the name of its ConfigMap."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection, self._name = connection, name
        self._path = f"{PATH}/{name}"

    def read(self) -> Bar:
        """The bar as it stands. Without its ConfigMap or its instant the policy lets nothing start.

        The policy of an earlier release takes other forms of an instant as well.
        """
        text = (self._connection.get(self._path).get("data") or {}).get(KEY)
        if text is None:
            return Bar()
        until = instant.foreign(text) if re.search(FORM, text) else None
        return Bar(until, unreadable=until is None)

    def write(self, until: datetime) -> None:
        """Move the bar. A lost ConfigMap is made again."""
        data = {KEY: instant.written(until.replace(microsecond=0))}
        answer = self._connection.ask("PATCH", self._path, body={"data": data}, content_type=MERGE_PATCH)
        if answer.status == NOT_FOUND:
            made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": self._name}, "data": data}
            self._connection.expect(self._connection.ask("POST", PATH, body=made), "POST", PATH)
            return
        self._connection.expect(answer, "PATCH", self._path)
