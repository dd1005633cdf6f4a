"""Faults of EventBridge's deliveries: an event that comes twice, late, out of order, or never.

EventBridge delivers at least once, and guarantees no order (user guide, "How Amazon EventBridge retries delivering
events"). A script decides which deliveries have a fault.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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


class DeliveryFaults:
    """`judge` gives the delays in seconds of all copies of a delivery. None, the first value, means no fault.

    Two delays double the event. A long delay lets later events pass it. No delay loses it.
    """

    def __init__(self) -> None:
        self.judge: Callable[[Delivery], Sequence[float]] | None = None

    def delays(self, delivery: Delivery) -> Sequence[float]:
        """The delays of one delivery. EventBridge calls this once for each."""
        return ONCE if self.judge is None else self.judge(delivery)
