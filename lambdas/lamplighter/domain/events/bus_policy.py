"""The resource policy of the lab's bus: who may put which events.

In its own account a principal needs no word of the bus: its own policy may allow `events:PutEvents`. So what an entry
allows to its principals is denied to everybody else, and nobody but the lab's functions tells events of the lab.
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html

A call may have events of several sources and types, and AWS documents no answer for them. So a denial holds if any of
the call's events is denied, and an allowance only if all are allowed, whether AWS judges them one by one or together.
Judged together, a call with events of two entries may be refused. EventBridge itself refuses an event without a source.
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-single-vs-multi-valued-context-keys.html

An entry's principals are named by a condition. As principals of the statement AWS would keep the ids of the roles: a
role that is made again would lose its permission. So they need a permission of their own account as well.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from lamplighter.domain.events.lab_event import source
from lamplighter.lab.model import Lab

PUT = "events:PutEvents"
SOURCE, DETAIL_TYPE, PRINCIPAL = "events:source", "events:detail-type", "aws:PrincipalArn"
ANY, ANY_OTHER, ALL = "ForAnyValue:StringEquals", "ForAnyValue:StringNotEquals", "ForAllValues:StringEquals"
MOST_CHARACTERS = 10_240
"""Of a bus's policy (https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutPermission.html, 2026-11)."""
_BUS = "arn:aws:events:ap-northeast-2:123456789012:event-bus/"
_TELLER = "arn:aws:iam::123456789012:role/"

Statement = Mapping[str, Any]


def statements(lab: Lab, bus: str, tellers: Sequence[str]) -> list[Statement]:
    """The statements in the order in which they may be written; `tellers` are the roles of the lab's functions.

    A source is known to the bus only after everybody but its principals is denied it. Each `Sid` follows from the lab
    and the source, so that a change of one entry touches no statement of another, and no two labs share one.
    """
    own, entries = source(lab.name), lab.events.allow if lab.events else {}

    def deny(sid: str, conditions: Mapping[str, Mapping[str, object]]) -> Statement:
        # A denial for everybody grants nothing.
        return {
            "Sid": sid,
            "Effect": "Deny",
            "Principal": "*",
            "Action": PUT,
            "Resource": bus,
            "Condition": conditions,
        }

    denied = [
        deny(f"LabItself{_name(lab)}", {ANY: {SOURCE: own}, "ArnNotEquals": {PRINCIPAL: list(tellers)}})
    ]
    allowed: list[Statement] = []
    for entry in entries.values():
        name, mine = _name(lab, entry.source), {SOURCE: entry.source}
        denied += [
            deny(f"Others{name}", {ANY: mine, "ArnNotEquals": {PRINCIPAL: list(entry.principals)}}),
            deny(f"Types{name}", {ANY: mine, ANY_OTHER: {DETAIL_TYPE: list(entry.may)}}),
        ]
        accounts = dict.fromkeys(principal.split(":")[4] for principal in entry.principals)
        partition = entry.principals[0].split(":")[1]
        allowed.append(
            {
                "Sid": f"Entry{name}",
                "Effect": "Allow",
                "Principal": {"AWS": [f"arn:{partition}:iam::{account}:root" for account in accounts]},
                "Action": PUT,
                "Resource": bus,
                # Which types, a denial says.
                "Condition": {
                    ALL: {SOURCE: entry.source},
                    "Null": {SOURCE: "false"},
                    "ArnEquals": {PRINCIPAL: list(entry.principals)},
                },
            }
        )
    known = [own, *(entry.source for entry in entries.values())]
    return [*denied, deny(f"KnownSources{_name(lab)}", {ANY_OTHER: {SOURCE: known}}), *allowed]


def _name(lab: Lab, of_source: str = "") -> str:
    return hashlib.sha256(f"{lab.name} {of_source}".encode()).hexdigest()[:6]


def characters(lab: Lab) -> int:
    """How long the policy is, in characters, with ARNs of the usual length."""
    tellers = [f"{_TELLER}{lab.name}-{lab.region}-{name}" for name in ("events", "lifecycle")]
    document = {"Version": "2012-10-17", "Statement": statements(lab, _BUS + lab.name, tellers)}
    return len(json.dumps(document, separators=(",", ":")))
