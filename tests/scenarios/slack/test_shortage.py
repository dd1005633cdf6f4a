"""AWS refuses nodes of an opening: Slack and the bus have the cause within a minute of the first refusal."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import pytest

from local.cloud import Cloud
from tests.scenarios.events.bus import Listener
from tests.scenarios.lab_day import LabDay
from tests.scenarios.slack.slack_channel import Channel
from tests.scenarios.slack.test_slack_day import BEGINS, LAB

pytestmark = pytest.mark.long
EARLIER = BEGINS - timedelta(hours=3)
WITHIN, LOOK_EVERY = timedelta(minutes=1), timedelta(seconds=5)


@pytest.fixture(scope="module")
def day() -> Iterator[LabDay]:
    with Cloud(LAB, start=EARLIER, progress=print) as cloud:
        cloud.up()
        yield LabDay(cloud)


def test_a_shortage_is_told_within_a_minute_of_the_first_refusal(day: LabDay) -> None:
    def refused(since: datetime) -> datetime:
        found = day.api("eks").describe_nodegroup(
            clusterName=day.pool.cluster, nodegroupName=day.pool.nodegroup
        )["nodegroup"]
        [group] = found["resources"]["autoScalingGroups"]
        activities = day.api("autoscaling").describe_scaling_activities(AutoScalingGroupName=group["name"])
        failed = [each for each in activities["Activities"] if each["StatusCode"] == "Failed"]
        return min(each["StartTime"] for each in failed if each["StartTime"] >= since)

    play_shortage(day, refused)


def play_shortage(day: LabDay, refused: Callable[[datetime], datetime]) -> None:
    """Two openings of two nodes, of which EC2 has one, and then none; `refused` is the first refusal since then."""
    listener, channel, faults = Listener(day), Channel(day), day.cloud.aws.moto_additions.faults
    for nodes in (1, 0):
        # given EC2 with so many of the two nodes
        faults.few("g5.xlarge", nodes)
        asked = day.now

        # when a lease of two opens
        lease = day.open(2, "40m")
        day.until(
            "the bus has the shortage",
            lambda _, lease=lease: bool(listener.told("pool-degraded", lease=lease.id)),  # type: ignore[misc]
            timedelta(minutes=10),
            LOOK_EVERY,
        )

        # then the bus has the cause's code within a minute of EC2's refusal, and Slack what comes next
        [event] = [each["detail"] for each in listener.told("pool-degraded", lease=lease.id)]
        assert day.now - refused(asked) <= WITHIN
        assert (event["cause"], event["nodes"]) == ("no-capacity", 2)
        words = f"{nodes} of 2 nodes: AWS has no g5.xlarge capacity left"
        day.until(
            "Slack shows it",
            lambda _, words=words: bool(channel.showing(words)),  # type: ignore[misc]
            WITHIN,
            LOOK_EVERY,
        )
        assert channel.showing("The lab tries again every five minutes")

        assert day.command("close", lease.id, "--yes").code == 0
        faults.clear("g5.xlarge")
        day.until_quiet(timedelta(hours=2))
