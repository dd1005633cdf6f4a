"""What Slack knows of a person, kept for a while by the worker and in the ledger, since people wait for answers.

It never raises. Where Slack does not answer in time, the person has no groups and no zone, and is marked as unknown.
"""

import logging
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Protocol

from lamplighter import clock
from lamplighter.adapters.slack.web_api import WebApi
from lamplighter.domain.people.person import Person
from lamplighter.errors import LamplighterError

GOOD_FOR = timedelta(minutes=10)
"""A person who leaves a group loses its permissions within this time."""
STALE_GOOD_FOR = timedelta(hours=12)
"""Where Slack does not answer, name and zone may be so old. Groups may not."""

_logger = logging.getLogger(__name__)


class Memory(Protocol):
    """What the ledger keeps of people."""

    def know(self, person: Person, at: datetime) -> None: ...

    def known(self, user: str) -> tuple[Person, datetime] | None: ...


class SlackPeople:
    """The people of one workspace; `person.People`."""

    def __init__(self, api: WebApi, memory: Memory) -> None:
        self._api, self._memory = api, memory
        self._met: dict[str, tuple[Person, datetime, frozenset[str]]] = {}

    def person(self, user: str, name: str, groups: Collection[str], patience_seconds: float) -> Person:
        """The person, and which of these groups they are in, within about so many seconds."""
        now, asked = clock.now(), frozenset(groups)
        met = self._met.get(user)
        if met is not None and now - met[1] < GOOD_FOR and asked <= met[2]:
            return met[0]
        kept = self._remembered(user)
        if kept is not None and timedelta() <= now - kept[1] < GOOD_FOR:
            self._met[user] = (kept[0], kept[1], asked)
            return kept[0]
        try:
            found = self._asked(user, name, groups, patience_seconds)
        except LamplighterError as error:
            _logger.warning("Slack does not say who %s is: %s", user, error)
            if kept is not None and now - kept[1] < STALE_GOOD_FOR:
                return Person(user, kept[0].name or name, zone=kept[0].zone, known=False)
            return Person(user, name, known=False)
        self._met[user] = (found, now, asked)
        try:
            self._memory.know(found, now)
        except LamplighterError as error:
            _logger.warning("who %s is, is not kept: %s", user, error)
        return found

    def _asked(self, user: str, name: str, groups: Collection[str], patience_seconds: float) -> Person:
        over = clock.monotonic() + patience_seconds
        said = self._api.profile(user, patience_seconds)
        inside = [
            group
            for group in sorted(groups)
            if user in self._api.members(group, max(0.05, over - clock.monotonic()))
        ]
        zone = said.get("tz")
        shown = said.get("profile")
        chosen = shown.get("display_name") if isinstance(shown, dict) else None
        called = str(chosen or said.get("real_name") or said.get("name") or name)
        return Person(user, called, frozenset(inside), str(zone) if zone else None)

    def _remembered(self, user: str) -> tuple[Person, datetime] | None:
        try:
            return self._memory.known(user)
        except LamplighterError as error:
            _logger.warning("who %s is, cannot be read: %s", user, error)
            return None
