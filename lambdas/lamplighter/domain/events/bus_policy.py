"""The resource policy of the lab's bus: who may put which events.

In its own account a principal needs no word of the bus: its own policy may allow `events:PutEvents`. So what an entry
allows to its principals is denied to everybody else, and nobody but the lab's functions tells events of the lab.
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lamplighter.domain.events.lab_event import source
from lamplighter.lab.model import Lab

PUT = "events:PutEvents"
SOURCE, DETAIL_TYPE, PRINCIPAL = "events:source", "events:detail-type", "aws:PrincipalArn"
MOST_CHARACTERS = 10_240
"""Of a bus's policy (https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutPermission.html, 2026-11)."""
_BUS = "arn:aws:events:ap-northeast-2:123456789012:event-bus/"
_TELLER = "arn:aws:iam::123456789012:role/"

Statement = Mapping[str, Any]


def statements(lab: Lab, bus: str, tellers: Sequence[str]) -> list[Statement]:
    """The statements, denials first, each with a `Sid` of its own; `tellers` are the roles of the lab's functions."""
    own, entries = source(lab.name), lab.events.allow if lab.events else {}

    def deny(sid: str, **conditions: Mapping[str, object]) -> Statement:
        # A denial for everybody grants nothing.
        return {
            "Sid": sid,
            "Effect": "Deny",
            "Principal": "*",
            "Action": PUT,
            "Resource": bus,
            "Condition": conditions,
        }

    made = [
        deny("KnownSources", StringNotEquals={SOURCE: [own, *(entry.source for entry in entries.values())]}),
        deny("LabItself", StringEquals={SOURCE: own}, ArnNotEquals={PRINCIPAL: list(tellers)}),
    ]
    for number, entry in enumerate(entries.values(), 1):
        mine = {SOURCE: entry.source}
        made += [
            deny(f"Others{number}", StringEquals=mine, ArnNotEquals={PRINCIPAL: list(entry.principals)}),
            deny(f"Types{number}", StringEquals=mine, StringNotEquals={DETAIL_TYPE: list(entry.may)}),
            {
                "Sid": f"Entry{number}",
                "Effect": "Allow",
                "Principal": {"AWS": list(entry.principals)},
                "Action": PUT,
                "Resource": bus,
                "Condition": {"StringEquals": {SOURCE: entry.source, DETAIL_TYPE: list(entry.may)}},
            },
        ]
    return made


def characters(lab: Lab) -> int:
    """How long the policy is, in characters, with ARNs of the usual length."""
    tellers = [f"{_TELLER}{lab.name}-{lab.region}-{name}" for name in ("events", "lifecycle")]
    document = {"Version": "2012-10-17", "Statement": statements(lab, _BUS + lab.name, tellers)}
    return len(json.dumps(document, separators=(",", ":")))
