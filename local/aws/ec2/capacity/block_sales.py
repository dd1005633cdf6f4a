"""Capacity Blocks for ML that EC2 sells, as tests offer them. moto sells none.

Every search gives an offering another id (hashicorp/terraform-provider-aws, its acceptance test of capacity blocks),
and shows at most six (EC2 user guide, capacity-blocks-purchase). A purchase has no client token, so it sells again
while there is an offering [est]. The payment takes a while: a minute here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses import EC2Response
from moto.ec2.utils import random_id

from local.aws.api.own_services import Document
from local.aws.ec2.capacity.reservations import BLOCK, CapacityReservation, Reservations
from local.aws.timers import Timers
from local.clock import VirtualClock

DAY, WEEK = 24, 7 * 24
PAID_SECONDS = 60
MOST_SHOWN = 6
ASKED = ("InstanceType", "InstanceCount", "CapacityDurationHours", "StartDateRange", "EndDateRange")


@dataclass(frozen=True)
class Offering:
    """A block that is sold: `fee` is paid whole. It is found by whole days, and may be a little shorter or longer."""

    name: str
    instance_type: str
    zone: str
    count: int
    begins: datetime
    ends: datetime
    fee: str
    segments: int = 1

    @property
    def days(self) -> int:
        return round((self.ends - self.begins) / timedelta(days=1))

    def document(self, id_: str) -> Document:
        """As DescribeCapacityBlockOfferings has it."""
        part = {
            "InstanceType": self.instance_type,
            "AvailabilityZone": self.zone,
            "InstanceCount": self.count,
            "StartDate": self.begins,
            "EndDate": self.ends,
            "UpfrontFee": self.fee,
            "CurrencyCode": "USD",
        }
        segments = [part] * self.segments
        return {
            "CapacityBlockOfferingId": id_,
            "Tenancy": "default",
            **part,
            "CapacityBlockOfferingSegments": segments,
        }


class BlockSales:
    """What can be bought now; `install` puts EC2's calls about it into moto."""

    def __init__(self, clock: VirtualClock, timers: Timers, reservations: Reservations) -> None:
        self._clock, self._timers, self._reservations = clock, timers, reservations
        self.offerings: list[Offering] = []
        self._quotes: dict[str, Offering] = {}

    def install(self) -> Self:
        """Itself, with its calls in moto. A process has one at a time; the latest counts."""
        sales = self

        def offered(response: EC2Response) -> ActionResult:
            response.error_on_dryrun()
            asked = {name: response._get_param(name) for name in ASKED}  # noqa: SLF001 (moto's own)
            return ActionResult({"CapacityBlockOfferings": sales.search(asked)})

        def purchase(response: EC2Response) -> ActionResult:
            response.error_on_dryrun()
            tags = response._parse_tag_specification().get("capacity-reservation", {})  # noqa: SLF001
            sold = sales.sell(response._get_param("CapacityBlockOfferingId"), tags)  # noqa: SLF001
            return ActionResult({"CapacityReservation": sold.document(sales._clock.now())})

        names: Any = EC2Response
        names.describe_capacity_block_offerings = offered
        names.purchase_capacity_block = purchase
        return self

    def search(self, asked: Mapping[str, Any]) -> list[Document]:
        """The offerings of the type, size and length within the range. Raises for a length that is not sold."""
        hours = int(asked["CapacityDurationHours"])
        step = DAY if hours <= 14 * DAY else WEEK
        if hours % step or not DAY <= hours <= 26 * WEEK:
            raise EC2ClientError(
                "InvalidParameterValue", f"Invalid value '{hours}' for CapacityDurationHours"
            )
        wanted = (asked["InstanceType"], int(asked["InstanceCount"]), hours // DAY)
        first, last = (_instant(asked[name]) for name in ("StartDateRange", "EndDateRange"))
        matching = [
            one
            for one in self.offerings
            if (one.instance_type, one.count, one.days) == wanted
            if (first is None or first <= one.begins) and (last is None or one.ends <= last)
        ]
        quotes = {random_id("cb"): one for one in matching[:MOST_SHOWN]}
        self._quotes |= quotes
        return [one.document(id_) for id_, one in quotes.items()]

    def sell(self, id_: str, tags: Mapping[str, str]) -> CapacityReservation:
        """Makes the reservation of an offering, and has it paid later."""
        found = self._quotes.get(id_)
        if found not in self.offerings:
            code = "NotFound" if found is None else "Expired"
            text = f"The Capacity Block offering ID '{id_}' is no longer available"
            raise EC2ClientError(f"InvalidCapacityBlockOfferingId{code}", text)
        kind = (found.instance_type, found.zone, found.count)
        made = CapacityReservation(random_id("cr"), BLOCK, *kind, found.begins, found.ends)
        made.state = "payment-pending"
        made.tags = [{"Key": key, "Value": value} for key, value in tags.items()]
        self._timers.at(self._clock.time() + PAID_SECONDS, lambda: setattr(made, "state", ""))
        self._reservations.add(made)
        return made


def _instant(asked: datetime | str | None) -> datetime | None:
    """An instant of a request; moto reads one without its zone."""
    read = datetime.fromisoformat(asked) if isinstance(asked, str) else asked
    return read.replace(tzinfo=UTC) if read and read.tzinfo is None else read
