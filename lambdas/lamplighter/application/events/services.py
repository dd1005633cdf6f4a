"""The dependencies of the functions of the lab's bus."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from lamplighter import clock
from lamplighter.adapters.aws.event_bus import EventBus
from lamplighter.adapters.aws.functions import Functions
from lamplighter.adapters.aws.ledger.events import LedgerEvents
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.application.environment import ENVIRONMENT, lab
from lamplighter.data.texts import Texts
from lamplighter.domain.commands import orders
from lamplighter.domain.commands.command import Command
from lamplighter.domain.events.telling import Known
from lamplighter.domain.notices.phrases import clock_and_date
from lamplighter.domain.schedules.schedule import Start, Starts
from lamplighter.values import zones

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

PATIENCE_SECONDS = 4


@dataclass
class EventServices:
    """One lab's bus."""

    lab: "Lab"
    ledger: LedgerEvents
    bus: EventBus
    workflows: Starts
    arns: Mapping[str, str] = field(default_factory=dict)
    """The workflows' ARNs, as orders.WORKFLOWS calls them."""
    wake: Callable[[str], None] = lambda _: None
    """Lets the function `lifecycle` look at a pool, without waiting for it."""

    def now(self) -> datetime:
        """The present instant, in UTC."""
        return clock.now()

    def known(self) -> Known:
        """What every event of the lab is made with."""
        texts = Texts(self.lab.notify.language)
        return Known(self.lab.name, texts, clock_and_date(texts, zones.zone(self.lab.time_zone)))

    def start(self, command: Command) -> None:
        """Starts the command's workflow; the same command starts it once."""
        self.workflows.start(Start(self.arns[orders.workflow(command.verb)], command.id, command))


@cache
def event_services() -> EventServices:
    """The dependencies of the function `events`."""
    return EventServices(
        lab(),
        LedgerEvents(ENVIRONMENT.ledger_table),
        EventBus(ENVIRONMENT.event_bus),
        Workflows(),
        {
            "OpenLab": ENVIRONMENT.open_lab,
            "CloseLab": ENVIRONMENT.close_lab,
            "ExtendLease": ENVIRONMENT.extend_lease,
        },
        _wake,
    )


@cache
def lifecycle_services() -> EventServices:
    """The dependencies of the function `lifecycle`, which starts nothing."""
    return EventServices(
        lab(), LedgerEvents(ENVIRONMENT.ledger_table), EventBus(ENVIRONMENT.event_bus), Workflows()
    )


def _wake(pool: str) -> None:
    Functions(patience_seconds=PATIENCE_SECONDS).start(ENVIRONMENT.lifecycle_function, {"pools": [pool]})
