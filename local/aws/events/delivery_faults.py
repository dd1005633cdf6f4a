"""What EventBridge may do to a delivery, put in on purpose: twice, late, out of order, or never.

EventBridge delivers at least once and in no order; what it lost is nobody's to see (user guide, "How Amazon
EventBridge retries delivering events", and API reference, PutEvents). Which delivery it hits is up to whoever scripts
the fault.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from local.aws.api.own_services import Document

#: In how many seconds the event is handed to the target: once, at once.
ONCE = (0.0,)
#: Never.
LOST: tuple[float, ...] = ()


@dataclass(frozen=True)
class Delivery:
    """One event on its way from a rule of a bus to one target, which is an ARN."""

    bus: str
    rule: str
    target: str
    event: Document


class DeliveryFaults:
    """`judge` says after how many seconds each copy of a delivery leaves; None, as at first: once, at once.

    Two delays double the event, a long one delays it and lets later events pass it, no delay at all loses it.
    """

    def __init__(self) -> None:
        self.judge: Callable[[Delivery], Sequence[float]] | None = None

    def delays(self, delivery: Delivery) -> Sequence[float]:
        """Asked once for each delivery."""
        return ONCE if self.judge is None else self.judge(delivery)
