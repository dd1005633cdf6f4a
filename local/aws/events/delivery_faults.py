"""Faults of deliveries: an event or a message that comes twice, late or out of order, and an event that never comes.

EventBridge and SQS deliver at least once, and guarantee no order (EventBridge user guide, "How Amazon EventBridge
retries delivering events"; SQS developer guide, "Amazon SQS standard queues"). A script decides which deliveries have a
fault.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from local.aws.api.own_services import Document

#: The delays in seconds of one delivery without a fault.
ONCE = (0.0,)
#: The event does not reach the target.
LOST: tuple[float, ...] = ()


@dataclass(frozen=True)
class Delivery:
    """One event of one rule for one target. `target` is an ARN."""

    bus: str
    rule: str
    target: str
    event: Document


@dataclass(frozen=True)
class QueueDelivery:
    """One message of a queue. `queue` is an ARN."""

    queue: str
    body: str


Delivered = TypeVar("Delivered")


class DeliveryFaults(Generic[Delivered]):
    """`judge` gives the delays in seconds of all copies of a delivery. None, the first value, means no fault.

    Two delays double the event or message. A long delay lets later ones pass it. No delay loses it, which SQS never
    does.
    """

    def __init__(self) -> None:
        self.judge: Callable[[Delivered], Sequence[float]] | None = None

    def delays(self, delivery: Delivered) -> Sequence[float]:
        """The delays of one delivery, asked for once."""
        return ONCE if self.judge is None else self.judge(delivery)
