"""`status` shows what the guard last did or said about GPU instances that belong to no pool."""

from datetime import timedelta
from typing import Any

import pytest

from cli.understand.status_outside import outside
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.guard.breach import GuardAction, Rule
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT
from tests.unit.lab_on_moto import LEDGER, LabOnMoto

MINUTE = timedelta(minutes=1)
NODE_POOLS = Lab.model_validate(
    {"name": "lab", "cluster": {"karpenter": {}}, "pools": {"gpu": {"kind": "karpenter"}}}
)


def said(subject: str, action: GuardAction, ago: int, rule: Rule = Rule.GPU_OUTSIDE_POOLS) -> None:
    details: dict[str, Any] = {"rule": rule.value, "action": action.value, "subject": subject}
    at = EIGHT - ago * MINUTE
    entry = Entry(at, "gpu", "breach", "guard", "what it did", f"{action.value} {subject}", details=details)
    Ledger(LEDGER).append_audit(entry)


def shown(lab: Lab = NODE_POOLS) -> list[str]:
    return [str(entry.why) for entry in outside(Ledger(LEDGER), lab, EIGHT)]


@pytest.mark.usefixtures("lab")
def test_the_newest_word_about_each_is_shown() -> None:
    said("theirs", GuardAction.PAGE, 10)
    said("theirs", GuardAction.END_CLAIMS, 5)
    said("i-1", GuardAction.SAY, 23 * 60)
    said("", GuardAction.CLOSE, 1, Rule.NODE_WITHOUT_LEASE)
    assert set(shown()) == {"end-claims theirs", "say i-1"}


@pytest.mark.usefixtures("lab")
def test_one_that_was_ended_is_no_longer_shown_after_an_hour() -> None:
    said("theirs", GuardAction.END_CLAIMS, 61)
    said("i-1", GuardAction.SAY, 25 * 60)
    assert shown() == []


def test_a_lab_without_node_pools_has_none(lab: LabOnMoto) -> None:
    said("theirs", GuardAction.PAGE, 1)
    assert shown(lab.lab) == []
