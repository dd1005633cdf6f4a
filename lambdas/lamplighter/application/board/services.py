"""The dependencies of the board: the lab, its ledger, and Slack."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from typing import TYPE_CHECKING

from lamplighter import clock
from lamplighter.adapters.aws.functions import Functions
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.ledger.slack.slack import LedgerSlack
from lamplighter.adapters.aws.page_store import PageStore, receipt_key
from lamplighter.adapters.slack import reply
from lamplighter.adapters.slack.secret import SlackSecret
from lamplighter.adapters.slack.web_api import WebApi
from lamplighter.application.board.posting import MessageApi, MessagePoster
from lamplighter.application.environment import ENVIRONMENT, as_kept, lab
from lamplighter.data.texts import Texts
from lamplighter.domain.slack.style import SlackStyle
from lamplighter.errors import BadInput
from lamplighter.values import zones

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from lamplighter.lab.model import Lab

PATIENCE_SECONDS = 2
"""The bus's sweep tells what could not be handed over."""

Page = Callable[[str, str], str | None]
"""The address of a receipt's page, by pool and lease; None where no pages are kept."""


@dataclass
class Board:
    """One lab's board in Slack."""

    deployed: "Lab"
    ledger: Ledger
    conversation: LedgerSlack
    api: MessageApi
    page: Page = lambda _pool, _lease: None
    answer: "Callable[[str, Mapping[str, object]], None]" = reply.send
    """Answers at a response_url."""
    wake: "Callable[[Collection[str]], None]" = lambda _: None
    """Lets the lab's bus tell what is new of pools, where the lab has one."""

    @cached_property
    def lab(self) -> "Lab":
        """The lab; what adopted pools leave out is as the planner read it last."""
        return as_kept(self.deployed, self.ledger)

    @property
    def channel(self) -> str | None:
        """The lab's channel; None where it has none."""
        return self.lab.slack.channel if self.lab.slack else None

    def now(self) -> datetime:
        """The present instant, in UTC."""
        return clock.now()

    def style(self, zone: str | None = None) -> SlackStyle:
        """The style of messages now: by the clock of a zone that is known, else by the lab's."""
        command = self.lab.slack.command if self.lab.slack else "gpu"
        there = zones.zone(self.lab.time_zone)
        if zone:
            with suppress(BadInput):
                there = zones.zone(zone)
        return SlackStyle(Texts(self.lab.notify.language), there, self.now(), command)

    def poster(self, pool: str, thing: str, channel: str, until: datetime) -> MessagePoster:
        """The message and the posts of one topic."""
        return MessagePoster.of(self.api, self.conversation, pool, thing, channel, self.now(), until)


@cache
def board() -> Board:
    """The board of the lab that this function belongs to."""

    table = ENVIRONMENT.ledger_table
    return Board(
        lab(),
        Ledger(table),
        LedgerSlack(table),
        WebApi(SlackSecret(ENVIRONMENT.slack_secret)),
        page=_page,
        wake=_wake if lab().events else lambda _: None,
    )


def _wake(pools: "Collection[str]") -> None:
    Functions(patience_seconds=PATIENCE_SECONDS).start(ENVIRONMENT.lifecycle_function, {"pools": [*pools]})


def _page(pool: str, lease: str) -> str | None:
    return PageStore(ENVIRONMENT.pages_bucket).link(receipt_key({"pool": pool, "lease": lease}))
