"""The shape of the conversation's items in the ledger: values to and from what DynamoDB keeps.

Owns encodings only; which items there are and who writes them when is ledger/slack.py's.
"""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TypeAlias

from lamplighter.adapters.aws.ledger.items import Value, sortable
from lamplighter.domain.slack.asked.person import Person
from lamplighter.domain.slack.kept import ApprovalRequest, Reply, Shown, WaitingPlace

Values: TypeAlias = dict[str, Value]
Kept: TypeAlias = Mapping[str, Value]


def reply_values(reply: Reply) -> Values:
    return {
        "command": reply.command,
        "pool": reply.pool,
        "user": reply.user,
        "url": reply.url,
        "channel": reply.channel,
        "understood": reply.understood,
        "until": sortable(reply.until),
        "thread": reply.thread,
        "ordered": json.dumps(reply.ordered) if reply.ordered else None,
        "zone": reply.zone,
    }


def reply(kept: Kept) -> Reply:
    return Reply(
        command=str(kept["command"]),
        pool=str(kept["pool"]),
        user=str(kept["user"]),
        url=_text(kept, "url"),
        channel=str(kept["channel"]),
        understood=str(kept["understood"]),
        until=_at(kept, "until"),
        thread=_text(kept, "thread"),
        ordered=json.loads(str(kept["ordered"])) if kept.get("ordered") else None,
        zone=_text(kept, "zone"),
    )


def ask_values(ask: ApprovalRequest) -> Values:
    return {
        "id": ask.id,
        "pool": ask.pool,
        "user": ask.user,
        "owner": ask.owner,
        "channel": ask.channel,
        "understood": ask.understood,
        "command": json.dumps(ask.command),
        "at": sortable(ask.at),
        "until": sortable(ask.until),
        "zone": ask.zone,
        "state": ask.state,
        "by": ask.by,
        "request": ask.request,
        "url": ask.url,
        "channel_ts": ask.channel_ts,
    }


def ask(kept: Kept) -> ApprovalRequest:
    return ApprovalRequest(
        id=str(kept["id"]),
        pool=str(kept["pool"]),
        user=str(kept["user"]),
        owner=str(kept["owner"]),
        channel=str(kept["channel"]),
        understood=str(kept["understood"]),
        command=json.loads(str(kept["command"])),
        at=_at(kept, "at"),
        until=_at(kept, "until"),
        zone=str(kept["zone"]),
        state=str(kept["state"]),
        by=_text(kept, "by"),
        request=_text(kept, "request"),
        url=_text(kept, "url"),
        channel_ts=_text(kept, "channel_ts"),
    )


def wish_values(wish: WaitingPlace) -> Values:
    return {
        "at": sortable(wish.at),
        "user": wish.user,
        "owner": wish.owner,
        "channel": wish.channel,
        "nodes": wish.nodes,
        "lasting": None if wish.lasting is None else int(wish.lasting.total_seconds()),
        "until": sortable(wish.until),
        "zone": wish.zone,
        "because": wish.because,
        "earliest": sortable(wish.earliest) if wish.earliest else None,
        "offered": sortable(wish.offered) if wish.offered else None,
        "heard": sortable(wish.heard) if wish.heard else None,
    }


def wish(pool: str, kept: Kept) -> WaitingPlace:
    lasting = kept.get("lasting")
    return WaitingPlace(
        pool=pool,
        at=_at(kept, "at"),
        user=str(kept["user"]),
        owner=str(kept["owner"]),
        channel=str(kept["channel"]),
        nodes=int(str(kept["nodes"])),
        lasting=None if lasting is None else timedelta(seconds=int(str(lasting))),
        until=_at(kept, "until"),
        zone=str(kept["zone"]),
        because=_text(kept, "because"),
        earliest=_maybe_at(kept, "earliest"),
        offered=_maybe_at(kept, "offered"),
        heard=_maybe_at(kept, "heard"),
    )


def shown_values(shown: Shown) -> Values:
    return {
        "channel": shown.channel,
        "ts": shown.ts,
        "digest": shown.digest,
        "told": sortable(shown.told) if shown.told else None,
        "version": shown.version,
        "said": [*shown.said],
        "posting": shown.posting,
        "posting_since": sortable(shown.posting_since) if shown.posting_since else None,
        "tries": shown.tries,
    }


def shown(pool: str, lease: str, kept: Kept) -> Shown:
    said = kept.get("said")
    return Shown(
        pool=pool,
        lease=lease,
        channel=str(kept["channel"]),
        ts=str(kept["ts"]),
        digest=str(kept["digest"]),
        told=_maybe_at(kept, "told"),
        version=int(str(kept["version"])),
        said=tuple(map(str, said)) if isinstance(said, list) else (),
        posting=_text(kept, "posting"),
        posting_since=_maybe_at(kept, "posting_since"),
        tries=int(str(kept.get("tries") or 0)),
    )


def person_values(person: Person, at: datetime) -> Values:
    return {
        "name": person.name,
        "groups": [*sorted(person.groups)],
        "zone": person.zone,
        "at": sortable(at),
    }


def person(user: str, kept: Kept) -> tuple[Person, datetime]:
    groups = kept.get("groups")
    named = frozenset(map(str, groups)) if isinstance(groups, list) else frozenset()
    return Person(user, str(kept.get("name") or ""), named, _text(kept, "zone")), _at(kept, "at")


def _text(kept: Kept, name: str) -> str | None:
    value = kept.get(name)
    return None if value is None else str(value)


def _at(kept: Kept, name: str) -> datetime:
    return datetime.fromisoformat(str(kept[name]))


def _maybe_at(kept: Kept, name: str) -> datetime | None:
    return None if kept.get(name) is None else _at(kept, name)
