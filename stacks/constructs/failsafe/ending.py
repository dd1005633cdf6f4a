"""How the machine ends the instances of a page: each by a call of its own, and none that is newer than the run.

A pool that gets a lease while a run still looks gets new instances: the run leaves them alone. No opening should come
to that, since it waits for the runs (application/leases/services.py); but AWS may list a run that has just begun late.
What starts without a lease in these minutes is left to the next start, or pages.
"""

from collections.abc import Mapping

from stacks.constructs.failsafe.ended_pool import FILTERS
from stacks.constructs.failsafe.states import State, both, call, choice, is_there, past_errors


def each_one(following: str, at_once: int) -> State:
    """The Map over the instances of `$.page`, with so many calls at the same time."""
    # Intrinsic functions are documented for the parameters of a Pass, not for an ItemSelector.
    launched = "States.ArrayGetItem($.launched, $.number)"
    given = {"number.$": "$$.Map.Item.Index", "launched.$": "$.page.launched"}
    return _each(following, at_once, given, "Age", _older(launched))


def each_tagged(following: str, at_once: int) -> State:
    """The Map over the ids of `$.page`, of which nothing else is known yet: EC2 describes each by itself.

    One that has ended has its tags for a while, and may be of another cluster.
    """
    known = [{"Name.$": f"$.filters[{n}].Name", "Values.$": f"$.filters[{n}].Values"} for n in range(FILTERS)]
    described = call(
        "aws-sdk:ec2:describeInstances",
        {"Filters": [{"Name": "instance-id", "Values.$": "States.Array($.id)"}, *known]},
        "There",
        "Whether it is still one of the pool's, and how old it is",
        result="$.found",
    )
    described |= {"ResultSelector": {"launched.$": "$..Instances[*].LaunchTime"}}
    states = {
        # One that alone is too long has not ended: EC2 describes no interfaces of an ended one.
        "One": past_errors(described, "Ended", States_DataLimitExceeded="EndOne"),
        "There": choice([is_there("$.found.launched[0]") | {"Next": "Age"}], "Ended"),
        **_older("$.found.launched[0]"),
    }
    return _each(following, at_once, {"filters.$": "$.of.filters"}, "One", states)


def _each(
    following: str, at_once: int, given: Mapping[str, object], first: str, states: Mapping[str, State]
) -> State:
    return {
        "Type": "Map",
        "ItemsPath": "$.page.ids",
        "ItemSelector": {"id.$": "$$.Map.Item.Value", **given},
        "MaxConcurrency": at_once,
        "ItemProcessor": {
            "ProcessorConfig": {"Mode": "INLINE"},
            "StartAt": first,
            "States": dict(states),
        },
        "ResultPath": None,
        "Next": following,
    }


def _older(launched: str) -> dict[str, State]:
    """The states that end `$.id` unless it is newer than the run, from `Age` on. `launched` says since when it runs."""
    end = call(
        "aws-sdk:ec2:terminateInstances",
        {"InstanceIds.$": "States.Array($.id)"},
        "Ended",
        "An instance that has ended already is no error, and one that EC2 keeps does not keep the others",
    )
    return {
        "Age": {
            "Type": "Pass",
            "Parameters": {"id.$": "$.id", "launched.$": launched, "began.$": "$$.Execution.StartTime"},
            "Next": "Newer",
        },
        "Newer": choice([_newer() | {"Next": "Ended"}], "EndOne", "Only what ran when the run began"),
        "EndOne": past_errors(end, "Ended"),
        "Ended": {"Type": "Succeed"},
    }


def _newer() -> dict[str, object]:
    """A value that is no instant spares nothing."""
    return both(
        {"Variable": "$.launched", "IsTimestamp": True},
        {"Variable": "$.launched", "TimestampGreaterThanPath": "$.began"},
    )
