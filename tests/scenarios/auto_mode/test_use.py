"""People use a NodePool as they use a node group: a window, Slack, a lease of their own, extensions and experiments."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
import yaml

from lamplighter.domain.leases.lease import LeaseState
from tests.scenarios.auto_mode.auto_mode_day import AutoModeDay
from tests.scenarios.deployed_lab import deployed_lab
from tests.scenarios.slack.test_shortage import play_shortage
from tests.scenarios.slack.test_slack_day import BEGINS, LAB, play_evening

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AutoModeDay]:
    """The lab of the evening in Slack, with EKS Auto Mode in place of the node group and the operator."""
    lab = yaml.safe_load(LAB.read_text("utf-8"))
    lab |= {"cluster": {"auto_mode": {"enabled": True}}, "gpu_operator": {"enabled": False}}
    lab["pools"]["gpu"] |= {"kind": "auto-mode"}
    with deployed_lab(tmp_path_factory, yaml.safe_dump(lab, sort_keys=False), start=BEGINS) as cloud:
        yield AutoModeDay(cloud)


def test_an_evening_from_the_first_question_to_the_receipts(day: AutoModeDay) -> None:
    play_evening(day)

    assert day.instances() == []
    assert day.claims() == []


def test_a_shortage_is_told_within_a_minute_of_the_first_refusal(day: AutoModeDay) -> None:
    def refused(since: datetime) -> datetime:
        events = day.kubernetes.get("/api/v1/events")["items"]
        told = [each for each in events if each["reason"] == "InsufficientCapacityError"]
        at = [datetime.fromisoformat(each["firstTimestamp"] or each["eventTime"]) for each in told]
        # The API server writes whole seconds.
        return min(each for each in at if each >= since - timedelta(seconds=1))

    # after the window of the evening
    day.pass_until(max(day.now, BEGINS + timedelta(hours=2)))
    play_shortage(day, refused)


def test_experiments_run_where_they_apply_and_the_others_say_why_not(day: AutoModeDay) -> None:
    lease = day.opened(2, "2h")

    refused = day.command("experiment", "run", "device-plugin-off", "gpu", "--yes")
    ran = day.command("experiment", "run", "nccl-blocked", "gpu", "--yes", "--json")

    assert refused.code == 1
    assert "GPU Operator" in refused.stdout + refused.stderr
    assert ran.code == 0, ran
    assert ran.document["as_expected"] is True
    assert day.until_state(lease.id, LeaseState.OPEN).id == lease.id
    assert len(day.instances()) == 2
