"""The dependencies of a request from Slack: the lab and its ledger, and the person."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, cached_property
from typing import TYPE_CHECKING

from lamplighter import clock
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.adapters.slack import reply
from lamplighter.adapters.slack.people import SlackPeople
from lamplighter.adapters.slack.secret import shared
from lamplighter.adapters.slack.web_api import WebApi
from lamplighter.application.environment import ENVIRONMENT, as_kept, lab
from lamplighter.data.texts import Texts
from lamplighter.domain.commands import orders
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.people.person import People, Person
from lamplighter.domain.schedules.schedule import Start, Starts
from lamplighter.domain.slack.answers import Speech
from lamplighter.domain.slack.asked.request import Press, SlashCommand
from lamplighter.errors import LamplighterError

if TYPE_CHECKING:
    from lamplighter.lab.channels import Role
    from lamplighter.lab.model import Lab


class NotStarted(Exception):
    """A command's workflow could not be started, as far as is known: its message comes again and starts it once."""

    def __init__(self, said: LamplighterError) -> None:
        super().__init__(str(said))
        self.said = said


@dataclass
class SlackServices:
    """The dependencies of requests from Slack to one lab."""

    deployed: "Lab"
    ledger: Ledger
    workflows: Starts
    people: People
    arns: Mapping[str, str]
    """The workflows' ARNs, as orders.WORKFLOWS calls them."""
    reply: Callable[[str, Mapping[str, object]], None] = reply.send

    @cached_property
    def lab(self) -> "Lab":
        """The lab; what adopted pools leave out is as the planner read it last."""
        return as_kept(self.deployed, self.ledger)

    @property
    def texts(self) -> Texts:
        return Texts(self.lab.notify.language)

    @property
    def word(self) -> str:
        """The slash command, without its slash."""
        return self.lab.slack.command if self.lab.slack else "gpu"

    @property
    def roles(self) -> Mapping[str, "Role"]:
        return self.lab.slack.roles if self.lab.slack else {}

    def now(self) -> datetime:
        """The present instant, in UTC."""
        return clock.now()

    def start(self, command: Command) -> None:
        """Start the command's workflow; a second start of the same command changes nothing. May raise NotStarted."""
        workflow = self.arns[orders.workflow(command.verb)]
        try:
            self.workflows.start(Start(workflow, command.id, command))
        except LamplighterError as error:
            raise NotStarted(error) from error


@dataclass
class RequestContext:
    """One signed request of a person."""

    slack_services: SlackServices
    request: SlashCommand | Press
    key: str
    """Names this very request."""
    made: datetime
    """When it was made, by its stamp. Words such as `until` count from it."""
    person: Person
    speech: Speech
    _leases: dict[str, list[Lease]] = field(default_factory=dict)

    def order(self, verb: Verb, pool: str) -> Command:
        """A command of the asker; the same request gives the same command.

        One request has one command for each verb: a word that changes several leases needs an id for each lease.
        """
        return orders.order(
            verb,
            pool,
            command_id=f"slack-{verb.value}-{self.key}",
            by=self.person.written,
            source="slack",
            now=self.made,
        )

    def leases(self, pool: str) -> list[Lease]:
        """All leases of a pool in the ledger."""
        if pool not in self._leases:
            self._leases[pool] = self.slack_services.ledger.leases(pool)
        return self._leases[pool]

    def all_leases(self) -> list[Lease]:
        """All leases in the ledger."""
        return [lease for pool in self.slack_services.lab.pools for lease in self.leases(pool)]


@cache
def slack_services() -> SlackServices:
    """The services for the lab that this function belongs to."""
    ledger = Ledger(ENVIRONMENT.ledger_table)
    people = SlackPeople(WebApi(shared(ENVIRONMENT.slack_secret)), ledger)
    arns = {
        "OpenLab": ENVIRONMENT.open_lab,
        "CloseLab": ENVIRONMENT.close_lab,
        "ExtendLease": ENVIRONMENT.extend_lease,
        orders.CHANGES: ENVIRONMENT.change_lab,
    }
    return SlackServices(lab(), ledger, Workflows(), people, arns)
