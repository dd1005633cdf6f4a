"""Scheduled actions and warm pools of Auto Scaling groups, as adopt and doctor read them."""

from datetime import timedelta

import pytest
from botocore.exceptions import ClientError

from lamplighter.adapters.capacity.adoption import Adoption
from tests.local.aws.eks_lab import Lab

MORNING = {"ScheduledActionName": "morning", "MinSize": 1, "MaxSize": 2, "DesiredCapacity": 1}


@pytest.fixture
def lab(aws):
    return Lab(aws).ready()


def put(lab, **action):
    named = {"AutoScalingGroupName": lab.group()["AutoScalingGroupName"]}
    return lab.aws.call("autoscaling", "put_scheduled_update_group_action", **named, **MORNING, **action)


def actions(lab):
    return lab.aws.call("autoscaling", "describe_scheduled_actions")["ScheduledUpdateGroupActions"]


def test_a_scheduled_action_changes_the_size_of_its_group_each_time(lab):
    put(lab, Recurrence="0 8 * * MON-FRI", TimeZone="Etc/UTC")
    lab.until(lambda: len(lab.members()) == 1, seconds=4 * 86400)
    first = lab.clock.now()
    assert (first.hour, first.weekday() < 5) == (8, True)
    name = lab.group()["AutoScalingGroupName"]
    lab.aws.call(
        "autoscaling", "update_auto_scaling_group", AutoScalingGroupName=name, MinSize=0, DesiredCapacity=0
    )
    lab.until(lambda: lab.group()["DesiredCapacity"] == 1, seconds=4 * 86400)
    assert lab.clock.now() - first > timedelta(hours=23)


def test_an_action_that_happens_once_is_gone_afterwards(lab):
    put(lab, StartTime=lab.clock.now() + timedelta(hours=1))
    assert [action["ScheduledActionName"] for action in actions(lab)] == ["morning"]
    lab.until(lambda: lab.group()["DesiredCapacity"] == 1)
    assert actions(lab) == []


@pytest.mark.parametrize("recurrence", ["0 8 * *", "0 8 * * FRY", "every day"])
def test_a_recurrence_that_is_none_of_cron_is_refused(lab, recurrence):
    with pytest.raises(ClientError, match="recurrence string"):
        put(lab, Recurrence=recurrence)


def test_adopt_reads_what_is_beside_the_bounds_of_a_group(lab, monkeypatch):
    for name, value in lab.aws.environment().items():
        monkeypatch.setenv(name, value)
    group = lab.group()["AutoScalingGroupName"]
    assert (read().scheduled_actions, read().warm_pool) == ((), False)
    put(lab, Recurrence="0 8 * * 1-5")
    lab.aws.call("autoscaling", "put_warm_pool", AutoScalingGroupName=group, MinSize=1)
    assert (read().scheduled_actions, read().warm_pool) == (("morning",), True)
    lab.aws.call(
        "autoscaling", "delete_scheduled_action", AutoScalingGroupName=group, ScheduledActionName="morning"
    )
    lab.aws.call("autoscaling", "delete_warm_pool", AutoScalingGroupName=group)
    assert (read().scheduled_actions, read().warm_pool) == ((), False)


def read():
    return Adoption().group("lab", "lab-ng-gpu")
