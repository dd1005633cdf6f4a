"""A shortage that is announced at once: one notice with AWS's words and what comes next, and one event with values."""

from typing import Any

import pytest

from lamplighter.adapters.aws.notices import Notices
from lamplighter.application.notices.services import NoticeServices
from lamplighter.application.notices.steps import announce, announce_shortage
from lamplighter.data.texts import ENGLISH
from lamplighter.domain.capacity.launch_cause import LaunchCause, LaunchRefusal
from lamplighter.domain.capacity.shortage import short_of_refusal
from lamplighter.domain.events.telling import Known, of_trail
from lamplighter.lab.model import Lab
from lamplighter.reasons.document import one_line
from lamplighter.values.clock_time import clock_time
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.notices.test_notices import Mailbox
from tests.unit.notices.test_unfilled import WORDS

SHORT = short_of_refusal(LaunchRefusal(LaunchCause.NO_CAPACITY, WORDS), 1, 2)
AWAITED = {
    "wanted": 2,
    "shortage": one_line(SHORT.reason),
    "cause": "no-capacity",
    "refusal": SHORT.details(),
}
AVAILABLE = {"zones": ["ap-northeast-2b", "ap-northeast-2c"], "instance_types": ["g5.xlarge"]}


@pytest.fixture(autouse=True)
def _leased(lab: LabOnMoto) -> None:
    lab.lease(nodes=2)
    lab.at(1)


def told(lab: LabOnMoto, run: dict[str, Any], step: Any) -> list[dict[str, Any]]:
    """What a step sends."""
    mailbox = Mailbox()
    step(run, NoticeServices(lab.lab, lab.capacity.ledger, Notices(mailbox.topic)))
    return mailbox.letters()


def early(lab: LabOnMoto) -> dict[str, Any]:
    return {"command": lab.command(), "lease": "cli-1", "results": {"AwaitNodes": AWAITED}}


def degraded(lab: LabOnMoto) -> list[dict[str, Any]]:
    """The events of what was announced."""
    entries = [(str(number), entry) for number, entry in enumerate(lab.entries("announced"))]
    known = Known("lab", ENGLISH, clock_time, {"cli-1": lab.kept()})
    return [event.detail() for one in of_trail(entries, known) for event in one.events]


def test_it_says_what_aws_has_and_what_comes_next_once(lab: LabOnMoto) -> None:
    [letter] = told(lab, early(lab), announce_shortage)

    assert letter["Subject"] == "lab: Pool gpu: AWS refuses nodes of alice's lease"
    assert letter["Message"] == (
        "1 of 2 nodes: AWS has no g5.xlarge capacity left in ap-northeast-2a; AWS has it now in ap-northeast-2b and "
        "ap-northeast-2c. The lease opens with the nodes that came. The lab tries again every five minutes until the "
        "lease ends."
    )
    assert told(lab, early(lab), announce_shortage) == []
    [event] = degraded(lab)
    assert (event["cause"], event["available"], event["nodes"]) == ("no-capacity", AVAILABLE, 2)


@pytest.mark.parametrize(
    ("asks", "follows"),
    [(False, "the lease moves to pool big"), (True, "whether the lease moves to pool big")],
)
def test_without_any_node_it_says_what_the_fallback_is(lab: LabOnMoto, asks: bool, follows: str) -> None:
    pools = {"gpu": {"fallback": "big", "fallback_ask": asks}, "big": {}}
    lab.lab = Lab.model_validate({"name": lab.lab.name, "pools": pools})
    run = early(lab)
    run["results"]["AwaitNodes"] = AWAITED | {"falls_back": True}

    [letter] = told(lab, run, announce_shortage)

    assert follows in letter["Message"]
    assert "tries again" not in letter["Message"]


def test_a_lease_that_is_over_is_told_nothing(lab: LabOnMoto) -> None:
    lab.at(121)
    assert told(lab, early(lab), announce_shortage) == []


def test_the_opening_that_follows_has_the_same_values(lab: LabOnMoto) -> None:
    admit = {"outcome": "granted", "later": False, "lease": lab.kept().to_json()}
    run = lab.run(Admit=admit, AwaitNodes=AWAITED)

    [letter] = told(lab, run, announce)

    assert "is open with 0 of 2 nodes" in letter["Subject"]
    [event] = degraded(lab)
    assert (event["cause"], event["available"]) == ("no-capacity", AVAILABLE)


def test_gpus_that_are_not_proven_are_no_shortage(lab: LabOnMoto) -> None:
    admit = {"outcome": "granted", "later": False, "lease": lab.kept().to_json()}
    told(lab, lab.run(Admit=admit, AwaitNodes={"wanted": 2, "shortage": None, "refusal": {}}), announce)
    [event] = degraded(lab)
    assert (event["cause"], event["available"]) == (None, None)
