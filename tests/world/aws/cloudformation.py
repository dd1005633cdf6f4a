"""CloudFormation for a pool: the steps before the write, the write, and the cleaning up.

The steps call our real function, as the cluster stack's template does (stacks/constructs/pool/gpu_pool.py).
"""

import json
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from email.message import Message
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError

from botocore.exceptions import ClientError

from lamplighter.values import instant

if TYPE_CHECKING:
    from tests.world.world import World

Json = dict[str, Any]
MARKED = timedelta(minutes=15)
"""How long a pool stays blocked if a deploy dies and nothing ends its mark."""
BAD = 400
"""Statuses from here on are errors."""
DIES = 40
"""A deploy of a history that takes this many minutes dies so."""


class CloudFormation:
    """One stack's deploys, one after the other. The answer of a step is None if it did not answer."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.writing = False
        self.reason = ""
        """Why the last step refused."""
        self._answers: dict[str, Json] = {}
        self._digests: dict[str, int] = {}
        self._outdated: list[tuple[str, str, Json]] = []

    def read(self, pool: str) -> int | None:
        """A deploy reaches a pool that it changes. Returns the size that it may write; None if it may not."""
        before = self._digests.get(pool, 0)
        step = self._world.supply.size_step(pool)
        gate = {"Pool": pool, "Digest": str(before + 1), **(step.names if step else {})}
        known = f"gate-{pool}-{before}"
        answer = self.ask("Update", "Gate", known, gate, {**gate, "Digest": str(before)})
        if answer is None:
            return None
        self._outdated.append(("Gate", known, {**gate, "Digest": str(before)}))
        self._digests[pool] = before + 1
        return self.read_again(pool)

    def read_again(self, pool: str) -> int | None:
        """Reads only the size, as on the way back from a deploy that failed late."""
        step = self._world.supply.size_step(pool)
        if step is None:
            return None
        now = self._digests.get(pool, 0)
        size = {"Pool": pool, "Digest": str(now), **step.names}
        answer = self.ask("Update", step.kind, "size-of-any", size, {**size, "Digest": str(now - 1)})
        return None if answer is None else int(answer["Data"][step.answer])

    def write(self, pool: str, size: int) -> None:
        """Writes all sizes of a pool that a deploy changes."""
        most = self._world.lab.pools[pool].max_nodes
        self.writing = True
        try:
            self._world.supply.rewrite(pool, size, most)
        except ClientError as busy:
            # Then the deploy fails and rolls back, which changes nothing of the node group.
            self.reason = str(busy)
        finally:
            self.writing = False

    def finish(self) -> None:
        """Everything is written, or rolled back: the replaced resources are deleted."""
        for kind, known, properties in self._outdated:
            self.ask("Delete", kind, known, properties)
        self._outdated.clear()

    def changes_currency(self, before: str, after: str) -> bool:
        """Whether a deploy may change the budget's currency, by the answer of its first step."""
        budget = self._world.lab.guard.budget
        asked = {"Period": budget.period, "TimeZone": self._world.lab.time_zone}
        new, old = {"Currency": after, **asked}, {"Currency": before, **asked}
        return self.ask("Update", "Currency", "currency", new, old) is not None

    def is_told(self, request: Any, **_settings: Any) -> AbstractContextManager[None]:
        """Replaces urlopen: takes the answer of a step."""

        def put() -> tuple[int, Json]:
            self._answers[request.full_url] = json.loads(request.data)
            return 200, {}

        status, _ = self._world.functions.cross("https", "PUT", put)
        if status >= BAD:
            raise HTTPError(request.full_url, status, "refused for a test", Message(), None)
        return nullcontext()

    def ask(
        self, request: str, kind: str, known: str, properties: Json, old: Json | None = None
    ) -> Json | None:
        url = f"https://cloudformation-custom-resource-response-apnortheast2.s3.amazonaws.com/{len(self._answers)}"
        event = {
            "RequestType": request,
            "ResponseURL": url,
            "StackId": "cluster",
            "RequestId": url,
            "LogicalResourceId": kind,
            "PhysicalResourceId": known,
            "ResourceProperties": {"Kind": kind, **properties},
            **({"OldResourceProperties": {"Kind": kind, **old}} if old else {}),
        }
        return self._sent(event, event)

    def ends(self, asked: datetime) -> Json | None:
        """The last close, begun at an instant, has our function answer the destroy."""
        url = f"https://cloudformation-custom-resource-response-apnortheast2.s3.amazonaws.com/{len(self._answers)}"
        event = {"RequestType": "Delete", "ResponseURL": url, "StackId": "controller", "RequestId": url,
                 "LogicalResourceId": "LastClose", "PhysicalResourceId": "last-close"}  # fmt: skip
        return self._sent(
            event, {"step": "Respond", "run": {"event": event, "asked": instant.written(asked)}}
        )

    def _sent(self, event: Json, sent: Json) -> Json | None:
        """The answer to an event of CloudFormation, after our function got what is sent."""
        self._world.functions.now(self._world.arn("lambda", f"function:{self._world.lab.name}-deploy"), sent)
        answer = self._answers.get(event["ResponseURL"])
        if answer is None or answer["Status"] != "SUCCESS":
            self.reason = answer["Reason"] if answer else "no answer"
            return None
        return answer
