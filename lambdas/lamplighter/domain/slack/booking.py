"""The buttons that book free times: under a refused `open`, and under the letter about a lease without its nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

from lamplighter.data.texts import Texts
from lamplighter.domain.granting.free_times import FreeTime
from lamplighter.domain.slack.asked.buttons import ButtonAction, Carried
from lamplighter.domain.slack.blocks import Button
from lamplighter.domain.slack.times import Times


@dataclass(frozen=True, slots=True)
class Offer:
    """What the buttons make good: the refused command, or the lease without its nodes."""

    id: str
    """A person books each time of one offer once."""
    nodes: int | None
    because: str | None = None


def book(free: Sequence[FreeTime], offer: Offer, times: Times, texts: Texts) -> list[Button]:
    """A button for each free time, which opens a lease at exactly that time."""
    return [
        Button(
            ButtonAction.BOOK if number == 1 else f"{ButtonAction.BOOK}:{number}",
            texts.say("slack.button.book", time=times.span(one.begins, one.ends)),
            Carried(
                pool=one.pool,
                nodes=offer.nodes,
                opens=one.begins,
                closes=one.ends,
                because=offer.because,
                ask=offer.id,
            ).written(),
        )
        for number, one in enumerate(free, 1)
    ]
