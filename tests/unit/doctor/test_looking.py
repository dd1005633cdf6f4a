"""A check before a window, from the doctor's function through the ledger to the notice."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.sns.models import sns_backends

from lamplighter.adapters.aws.functions import Functions
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.notices import Notices
from lamplighter.application.doctor import looking
from lamplighter.application.notices.readiness import announce_readiness
from lamplighter.application.notices.services import NoticeServices
from lamplighter.domain.doctor.readiness import Grade, Readiness, ReadinessFinding
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.errors import BadInput
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import reason
from tests.builders.leases import EIGHT, HOUR, MINUTE
from tests.builders.leases import lease as any_lease
from tests.stopped_clock import stop_at
from tests.unit.lab_on_moto import LEDGER, REGION, LabOnMoto, lab_on_moto

LEASE = any_lease("evening-2026-11-20", state=LeaseState.PLANNED, window="evening", date="2026-11-20")
HEALTH = ReadinessFinding(
    "health",
    Grade.IN_DOUBT,
    reason("doctor.readiness.health", group="gpus", issue="x"),
    reason("doctor.readiness.add-ons.advice"),
)
LAB = Lab.model_validate({"name": "lab", "time_zone": "Asia/Seoul", "guard": {"look_again": ["24h", "30m"]}})


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as found:
        monkeypatch.setenv("NOTICES_FUNCTION_ARN", "arn:aws:lambda:::function:lab-notices")
        yield found


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the notices function is asked for."""
    events: list[Any] = []
    monkeypatch.setattr(Functions, "start", lambda _self, _arn, event: events.append(event))
    return events


def found(at: int, *findings: ReadinessFinding) -> Readiness:
    """What a check so many minutes before eight found."""
    return Readiness(LEASE.id, "gpu", "evening", "2026-11-20", LEASE.opens, EIGHT - at * MINUTE, findings)


def test_the_function_keeps_what_it_found_and_lets_the_notices_function_tell_it(
    lab: LabOnMoto, asked: list[Any]
) -> None:
    now, ledger = lab.at(-120), Ledger(LEDGER)
    ledger.plan(LEASE)

    done = looking.look_again({"pool": "gpu", "lease": LEASE.id}, lab.capacity.lab, ledger, now)

    kept = ledger.readinesses()[LEASE.id]
    assert (kept.at, kept.opens, kept.window, kept.pool) == (now, LEASE.opens, "evening", "gpu")
    assert done == {
        "lease": LEASE.id,
        "grade": kept.grade.value,
        "not_ok": [finding.check for finding in kept.findings],
        "not_known": list(kept.unread),
    }
    assert ("authentication", Grade.NOT_READY) in {(one.check, one.grade) for one in kept.findings}
    assert asked == [{"step": "AnnounceReadiness", "run": {"pool": "gpu", "lease": LEASE.id}}]


@pytest.mark.parametrize("lease", [
    None,
    replace(LEASE, opens=EIGHT - 2 * HOUR),
    replace(LEASE, state=LeaseState.REFUSED),
])  # fmt: skip
def test_a_window_that_is_open_over_or_taken_back_is_not_checked(
    lab: LabOnMoto, asked: list[Any], lease: Lease | None
) -> None:
    now, ledger = lab.at(-120), Ledger(LEDGER)
    if lease is not None:
        ledger.plan(lease)
    looked = looking.look_again({"pool": "gpu", "lease": LEASE.id}, lab.capacity.lab, ledger, now)
    assert looked == {"lease": LEASE.id, "grade": None}
    assert (ledger.readinesses(), asked) == ({}, [])


@pytest.mark.parametrize("event", [None, {}, {"pool": "other", "lease": "x"}, {"pool": "gpu"}])
def test_an_event_that_names_no_window_is_refused(lab: LabOnMoto, event: object) -> None:
    with pytest.raises(BadInput):
        looking.look_again(event, lab.capacity.lab, Ledger(LEDGER), EIGHT)


def test_an_older_check_never_replaces_a_newer_one(lab: LabOnMoto) -> None:
    ledger = Ledger(LEDGER)
    for minutes in (120, 1440, 30, 30, 120):
        ledger.keep_readiness(found(minutes))
    assert ledger.readiness(LEASE.id) == found(30)


def test_an_item_that_cannot_be_read_is_not_known_and_hides_no_other(lab: LabOnMoto) -> None:
    ledger = Ledger(LEDGER)
    ledger.keep_readiness(found(30))
    strange = {"pk": {"S": "LAB"}, "sk": {"S": "LOOK#later"}, "findings": {"S": "of a later release"}}
    boto3.client("dynamodb").put_item(TableName=LEDGER, Item=strange)
    assert list(ledger.readinesses()) == [LEASE.id]
    assert ledger.readiness("later") is None
    # Nor does it lie among the skips and pauses.
    assert ledger.skips_and_pauses() == ([], [])


class Telling:
    """The notices function of a lab, and what it sent."""

    def __init__(self, lab: LabOnMoto) -> None:
        self._lab, self._topic = lab, boto3.client("sns").create_topic(Name="lab-notices")["TopicArn"]
        self._services = NoticeServices(LAB, Ledger(LEDGER), Notices(self._topic))
        self._services.ledger.plan(LEASE)

    def only(self, lease: Lease | None) -> None:
        """The ledger has this planned lease in the place of the one before."""
        self._services.ledger.unplan(LEASE.pool, LEASE.id)
        if lease is not None:
            self._services.ledger.plan(lease)

    def after(self, minutes: int, *findings: ReadinessFinding, unread: tuple[str, ...] = ()) -> list[str]:
        """The subjects of all notices after a check at that many minutes before eight."""
        self._lab.at(-minutes)
        self._services.ledger.keep_readiness(replace(found(minutes, *findings), unread=unread))
        for _ in range(2):  # an event may come twice
            announce_readiness({"pool": "gpu", "lease": LEASE.id}, self._services)
        return [str(one[2]) for one in self._sent]

    @property
    def texts(self) -> list[str]:
        return [str(one[1]) for one in self._sent]

    @property
    def _sent(self) -> list[Any]:
        return list(sns_backends["123456789012"][REGION].topics[self._topic].sent_notifications)


DOUBT = "lab: window evening on 2026-11-20 may not open as planned"
OVER = "lab: window evening on 2026-11-20: the earlier findings are gone"


def test_people_are_told_once_when_it_got_worse_or_better(lab: LabOnMoto) -> None:
    telling = Telling(lab)

    assert telling.after(1440, HEALTH) == [DOUBT]
    assert telling.after(120, HEALTH) == [DOUBT]
    assert telling.after(60) == [DOUBT, OVER]
    assert telling.after(50) == [DOUBT, OVER]
    assert telling.after(30, HEALTH) == [DOUBT, OVER, DOUBT]

    assert "What to do: " in telling.texts[0]
    entries = [entry for entry in Ledger(LEDGER).audit("gpu", EIGHT - 25 * HOUR) if entry.kind == "readiness"]
    assert [entry.details["grade"] for entry in entries] == ["in-doubt", "ready", "in-doubt"]
    assert json.loads(json.dumps(entries[0].details))["findings"] == "in-doubt:health:doctor.readiness.health"


def test_a_first_check_that_found_nothing_says_nothing(lab: LabOnMoto) -> None:
    assert Telling(lab).after(1440) == []


def test_nothing_is_told_of_a_date_that_is_skipped_or_opens_at_another_time(lab: LabOnMoto) -> None:
    telling = Telling(lab)
    moved = replace(LEASE, opens=LEASE.opens + HOUR)
    for lease in (moved, None):
        telling.only(lease)
        assert telling.after(60, HEALTH) == []


def test_what_cannot_be_read_now_is_not_over(lab: LabOnMoto) -> None:
    telling = Telling(lab)
    assert telling.after(1440, HEALTH) == [DOUBT]
    assert telling.after(60, unread=("health",)) == [DOUBT]
    assert telling.after(50) == [DOUBT, OVER]


def test_nothing_is_told_after_the_opening(lab: LabOnMoto) -> None:
    telling = Telling(lab)
    Ledger(LEDGER).keep_readiness(found(1, HEALTH))
    stop_at(lab.clock, EIGHT)
    assert telling.after(0, HEALTH) == []
