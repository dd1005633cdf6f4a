"""The dependencies of the steps that send notices."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from lamplighter import clock
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.notices import Notices
from lamplighter.data.texts import Texts
from lamplighter.values import zones

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab


@dataclass
class NoticeServices:
    """The lab, its ledger, its topic and the cluster function."""

    lab: "Lab"
    ledger: Ledger
    notices: Notices
    ask_cluster: Callable[[Mapping[str, object]], Mapping[str, object]] = field(default=lambda _: {})
    """Asks the cluster function for one step. A caller without an answer goes on without it."""

    @property
    def zone(self) -> ZoneInfo:
        """The lab's own clock."""
        return zones.zone(self.lab.time_zone)

    @property
    def texts(self) -> Texts:
        """The lab's language."""
        return Texts(self.lab.notify.language)

    def now(self) -> datetime:
        """The present instant, in UTC."""
        return clock.now()
