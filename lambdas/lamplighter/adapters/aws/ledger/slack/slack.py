"""What the ledger keeps of the conversation in Slack: answers owed, asks, the waiting list, messages, people.

Everything here is in partitions that begin with SLACK: the functions that talk to Slack may write nothing
else. All of it lapses by itself.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.reads import LedgerReads
from lamplighter.adapters.aws.ledger.slack import items as forms
from lamplighter.adapters.aws.ledger.table import Conflict
from lamplighter.adapters.border import border
from lamplighter.domain.people.person import Person
from lamplighter.domain.slack.kept import (
    SEEN_KEPT,
    SENDING_TAKES,
    ApprovalRequest,
    Reply,
    Seen,
    Shown,
    WaitingPlace,
)
from lamplighter.reasons.reason import reason

SLACK = "SLACK"
REPLY, ASK, PERSON, SEEN = "REPLY#", "ASK#", "PERSON#", "SEEN#"
MESSAGE, WAIT = "MESSAGE#", "WAIT#"
KEEP_PERSON = timedelta(days=7)
_AFTER_ALL = "\U0010ffff"
_TRIES = 3


def _of(pool: str) -> str:
    return f"{SLACK}#{pool}"


@border
class LedgerSlack(LedgerReads):
    """The conversation's part of the ledger."""

    def order(self, reply: Reply, request: str, at: datetime) -> bool:
        """Note together that a request gave a command, and where its answer goes.

        False where the request did that before, or where another request gave the same command. Conflict where
        somebody else wrote at the same time.
        """
        seen = {"ordered": json.dumps(reply.ordered)}
        owed = items.item(SLACK, REPLY + reply.command, forms.reply_values(reply), until=reply.until)
        writes = [
            self._table.put_in_transaction(item, "attribute_not_exists(pk)")
            for item in (owed, _seen(request, seen, at))
        ]
        for _ in range(_TRIES):
            with suppress(Conflict):
                self._table.transact(writes)
                return True
            if self.owed(reply.command) is not None or self.seen(request) is not None:
                return False
            # Another transaction on one of them was at work, and nothing is written.
        raise Conflict(reason("aws.ledger.conflict"))

    def owed(self, command: str) -> Reply | None:
        """Where the answer on a command goes, if one is owed."""
        found = self._table.get(SLACK, REPLY + command)
        return None if found is None else forms.reply(items.values(found))

    def all_owed(self) -> list[str]:
        """The commands on which an answer is owed."""
        found = self._table.query(SLACK, REPLY, REPLY + _AFTER_ALL)
        return [item["sk"]["S"].removeprefix(REPLY) for item in found]

    def begin_answer(self, command: str, at: datetime) -> bool:
        """True for the one who may give the answer on a command now. Who dies with it leaves it to another later."""
        try:
            self._table.update(
                SLACK,
                REPLY + command,
                "SET #sending = :at",
                "attribute_exists(pk) AND (attribute_not_exists(#sending) OR #sending <= :over)",
                at=items.milliseconds(at),
                over=items.milliseconds(at - SENDING_TAKES),
            )
        except Conflict:
            return False
        return True

    def end_answer(self, command: str, *, given: bool) -> None:
        """An answer was given, and is owed no more; or it was not, and another may give it now."""
        if given:
            self._table.delete(SLACK, REPLY + command)
            return
        with suppress(Conflict):
            self._table.update(SLACK, REPLY + command, "REMOVE #sending", "attribute_exists(pk)")

    def file_ask(self, ask: ApprovalRequest) -> bool:
        """Keep what somebody asks for; False where this very ask was filed before."""
        try:
            self._table.put(
                items.item(SLACK, ASK + ask.id, forms.ask_values(ask), until=ask.until),
                "attribute_not_exists(pk)",
            )
        except Conflict:
            return False
        return True

    def ask(self, ask_id: str) -> ApprovalRequest | None:
        """One ask, or None where it has lapsed."""
        found = self._table.get(SLACK, ASK + ask_id)
        return None if found is None else forms.ask(items.values(found))

    def settle_ask(self, ask: ApprovalRequest, state: str, by: str, request: str) -> ApprovalRequest:
        """Approve or decline an ask; gives it as it stands, which is another's word where they were first."""
        with suppress(Conflict):
            self._table.update(
                SLACK,
                ASK + ask.id,
                "SET #state = :state, #by = :by, #request = :request",
                "#state = :asked",
                state=state,
                by=by,
                request=request,
                asked="asked",
            )
            return replace(ask, state=state, by=by, request=request)
        return self.ask(ask.id) or ask

    def show_ask(self, ask_id: str, ts: str) -> None:
        """Note the board's message about an ask; nothing where it has lapsed."""
        with suppress(Conflict):
            self._table.update(SLACK, ASK + ask_id, "SET #channel_ts = :ts", "attribute_exists(pk)", ts=ts)

    def wish(self, wish: WaitingPlace) -> None:
        """Put somebody at the end of a pool's waiting list; asking again at the same instant is the same."""
        self._table.put(
            items.item(_of(wish.pool), _place(wish), forms.waiting_place_values(wish), until=wish.until)
        )

    def wishes(self, pool: str, now: datetime) -> list[WaitingPlace]:
        """Who waits for a pool, in the order of asking; what has lapsed is not among them."""
        found = self._table.query(_of(pool), WAIT, WAIT + _AFTER_ALL)
        known = [forms.waiting_place(pool, items.values(item)) for item in found]
        return sorted((wish for wish in known if wish.until > now), key=lambda each: each.turn)

    def offer(self, wish: WaitingPlace, at: datetime) -> bool:
        """Note that a place was offered; False where it was before, or the wish is gone."""
        try:
            self._table.update(
                _of(wish.pool),
                _place(wish),
                "SET #offered = :at",
                "attribute_exists(pk) AND attribute_not_exists(#offered)",
                at=items.sortable(at),
            )
        except Conflict:
            return False
        return True

    def take_back(self, wish: WaitingPlace, at: datetime) -> None:
        """Undo the offer of this instant; one of another run stays, and so does a place that was given up."""
        with suppress(Conflict):
            self._table.update(
                _of(wish.pool), _place(wish), "REMOVE #offered", "#offered = :at", at=items.sortable(at)
            )

    def unwish(self, wish: WaitingPlace) -> None:
        """Take somebody off a waiting list."""
        self._table.delete(_of(wish.pool), _place(wish))

    def shown(self, pool: str, lease: str) -> Shown | None:
        """The message of a lease, if it has one."""
        found = self._table.get(_of(pool), MESSAGE + lease)
        return None if found is None else forms.shown(pool, lease, items.values(found))

    def show(self, shown: Shown, until: datetime | None = None) -> Shown:
        """Keep what a lease's message shows; gives it with its next version.

        Conflict where somebody else changed it since it was read (version 0: where there is one already).
        """
        after = replace(shown, version=shown.version + 1)
        condition = "#version = :version" if shown.version else "attribute_not_exists(pk)"
        given = {"version": shown.version} if shown.version else {}
        self._table.put(
            items.item(_of(shown.pool), MESSAGE + shown.lease, forms.shown_values(after), until=until),
            condition,
            **given,
        )
        return after

    def know(self, person: Person, at: datetime) -> None:
        """Keep who somebody is, and when Slack said so."""
        self._table.put(
            items.item(SLACK, PERSON + person.id, forms.person_values(person, at), until=at + KEEP_PERSON)
        )

    def known(self, user: str) -> tuple[Person, datetime] | None:
        """Who somebody is and when Slack said so, if they were here lately."""
        found = self._table.get(SLACK, PERSON + user)
        return None if found is None else forms.person(user, items.values(found))

    def note_seen(self, request: str, at: datetime) -> None:
        """Keep that a request was answered, so that it does nothing when it comes again."""
        with suppress(Conflict):
            self._table.put(_seen(request, {}, at), "attribute_not_exists(pk)")

    def seen(self, request: str) -> Seen | None:
        """What this very request came to, if it was here before."""
        found = self._table.get(SLACK, SEEN + request)
        if found is None:
            return None
        ordered = items.values(found).get("ordered")
        return Seen(json.loads(str(ordered)) if ordered else None)


def _seen(request: str, values: Mapping[str, items.Value], at: datetime) -> items.Item:
    return items.item(SLACK, SEEN + request, values, until=at + SEEN_KEPT)


def _place(wish: WaitingPlace) -> str:
    return f"{WAIT}{items.sortable(wish.at)}#{wish.user}"
