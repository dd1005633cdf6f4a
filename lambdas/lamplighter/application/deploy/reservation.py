"""Refuses the reservation of a pool if AWS says that it is another one than the template is made for.

EC2 would refuse every launch: a template for a Capacity Block has a market that no other reservation takes.
"""

from collections.abc import Mapping

from lamplighter.adapters.aws.capacity.reservations import Reservations
from lamplighter.application.deploy.zones import tried
from lamplighter.domain.capacity.reservation import ReservationType, WantedReservation, misfits
from lamplighter.errors import Refused
from lamplighter.reasons.reason import reason


def refuse_reservation(properties: Mapping[str, str]) -> None:
    """Raises Refused for one that does not fit. One that EC2 does not know, or no answer, is left to the doctor.

    So a rollback to a reservation that is over by now is not refused.
    """
    named = properties["Reservation"]
    found = tried(lambda: Reservations().read(named))
    if found is None:
        return
    needed = WantedReservation(
        properties["Pool"],
        named,
        ReservationType(properties["ReservationType"]),
        properties["InstanceType"],
        properties["Zone"],
    )
    wrong = tuple(misfits(needed, found))
    if wrong:
        raise Refused(reason("deploy.reservation", why=wrong))
