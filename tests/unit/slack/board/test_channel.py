"""Posts in the channel that belong to no lease: the calendar changes, a window will not open."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pytest

from handlers.leases import STEPS
from lamplighter.adapters.aws.ledger.slack.slack import LedgerSlack
from lamplighter.adapters.aws.notices import Notices
from lamplighter.application.board.services import Board
from lamplighter.application.planner.plan import PlannerServices, plan_all
from lamplighter.lab.model import Lab
from tests.unit.lab_on_moto import LEDGER, LabOnMoto, lab_on_moto
from tests.unit.slack.recording import CHANNEL, INSTRUCTOR, RecordingSlack, event, show

# It is eight in the evening (UTC) of Friday 2026-11-20.
EVENING = {"name": "evening", "nodes": 2, "days": "fri", "start": "21:00", "end": "23:00"}
TODAY = "2026-11-20"
POOL = {"price_per_hour": "1.237"}
LAB = {
    "name": "lab",
    "time_zone": "UTC",
    "windows": [EVENING],
    "pools": {"gpu": POOL},
    "slack": {
        "channel": CHANNEL,
        "roles": {"instructors": {"members": [INSTRUCTOR], "may": ["open", "skip", "pause"]}},
    },
}
NO_MONEY = {"guard": {"budget": {"amount": 1, "warn_at": []}}}


@dataclass
class Town:
    """A lab whose people change the calendar, its planner, and its board in Slack."""

    world: LabOnMoto
    slack: RecordingSlack = field(default_factory=RecordingSlack)

    def deploy(self, **more: object) -> PlannerServices:
        """The lab as a deploy leaves it: planned."""
        self.world.capacity.lab = Lab.model_validate({**LAB, **more})
        topic = boto3.client("sns").create_topic(Name="notices")["TopicArn"]
        lease_services = self.world.guard_services.lease_services
        office = PlannerServices(
            lease_services,
            self.world.guard_services.workflows,
            Notices(topic),
            extend_lease=self.world.close_lab,
        )
        plan_all(office)
        return office

    def change(self, verb: str, number: int = 1, **more: object) -> dict[str, Any]:
        command = self.world.command(verb, lease=None)
        asked = {**command, "pool": "*", "id": f"{verb}-{number}", **more}
        return STEPS["Change"]({"command": asked}, self.world.guard_services.lease_services)

    def tell(self, *pools: str) -> None:
        """Something moved in these pools, and the board hears that it did."""
        board = Board(self.world.capacity.lab, self.world.capacity.ledger, LedgerSlack(LEDGER), self.slack)
        show(event([(f"POOL#{pool}", "STATE") for pool in pools or ("gpu",)]), board)

    @property
    def said(self) -> list[str]:
        return [each.words for each in self.slack.messages]


@pytest.fixture
def town(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Town]:
    with lab_on_moto(monkeypatch, tmp_path) as world:
        made = Town(world)
        made.deploy()
        yield made


def test_a_skip_and_its_end_are_told_once_each_and_ping_nobody(town: Town) -> None:
    town.change("skip", window="evening", because="of the holiday")
    town.tell()
    town.tell()
    town.change("unskip", window="evening")
    town.tell()
    town.tell()

    skipped, back = town.said
    assert "*A window is skipped*" in skipped
    assert "alice skipped it because of the holiday" in skipped
    assert "*A skipped window opens after all*" in back
    assert not town.slack.pings


def test_a_pause_of_the_whole_lab_is_told_once_whatever_pools_it_has(town: Town) -> None:
    town.deploy(pools={"gpu": POOL, "big": POOL})
    town.change("pause", for_seconds=7200, because="of the exams")
    town.tell("big", "gpu")
    town.tell("gpu")
    town.change("resume")
    town.tell("gpu")
    town.tell("gpu", "big")

    paused, resumed = town.said
    assert "*The lab is paused*" in paused
    assert "Alice paused the lab until 22:00 (UTC) because of the exams" in paused
    assert "*The lab is resumed*" in resumed
    assert not town.slack.pings


def test_it_is_told_in_the_channel_though_a_lease_has_a_thread(town: Town) -> None:
    town.world.lease()
    town.tell()
    town.change("pause")
    town.tell()

    lease, paused = town.slack.messages
    assert "cli-1" not in paused.words
    assert "The lab is paused" in paused.words
    assert (lease.thread, paused.thread) == (None, None)


def test_what_changes_nothing_is_not_told(town: Town) -> None:
    assert town.change("resume")["outcome"] == "unchanged"
    assert town.change("skip", window="evening", date="2026-11-21")["outcome"] == "refused"
    town.tell()
    assert not town.said


def test_the_next_event_makes_up_for_one_that_was_lost_for_a_quarter_of_an_hour(town: Town) -> None:
    town.change("skip", window="evening")
    town.world.at(10)
    town.change("pause")
    town.world.at(20)
    town.tell()

    [said] = town.said
    assert "The lab is paused" in said


def test_a_window_that_the_lab_leaves_out_is_told_of_in_its_language(town: Town) -> None:
    town.deploy(windows=[{**EVENING, "except": [TODAY]}], notify={"language": "ko"})
    town.tell()
    town.deploy(windows=[{**EVENING, "except": [TODAY]}], notify={"language": "ko"})
    town.tell()

    [said] = town.said
    assert f"*evening 일정이 {TODAY}에는 열리지 않습니다*" in said
    assert not town.slack.pings


def test_a_window_that_will_be_refused_pings_once_when_it_is_planned(town: Town) -> None:
    town.deploy(**NO_MONEY)
    town.tell()
    town.deploy(**NO_MONEY)
    town.tell()

    [said] = town.said
    assert f"<@{INSTRUCTOR}>" in said
    assert "The evening lease *will not open* at 21:00 (UTC), as things stand" in said
    assert "more than is left of the 1.00 USD" in said


def test_that_it_opens_after_all_pings_nobody_and_that_it_does_not_pings_again(town: Town) -> None:
    for more in (NO_MONEY, {}, NO_MONEY):
        town.deploy(**more)
        town.tell()
        town.tell()

    first, after_all, again = town.said
    assert "The evening lease *opens* at 21:00 (UTC) after all" in after_all
    assert town.slack.pings == [first, again]


def test_that_it_will_be_refused_is_told_however_late_and_not_once_its_time_has_come(town: Town) -> None:
    town.deploy(**NO_MONEY)
    town.world.at(60)
    town.tell()
    assert not town.said

    town.world.at(59)
    town.tell()
    assert len(town.slack.pings) == 1
