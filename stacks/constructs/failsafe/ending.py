"""How the machine ends the instances of a page: each by a call of its own, and none that is newer than the run.

A pool that gets a lease while a run still looks gets new instances: the run leaves them alone. No opening should come
to that, since it waits for the runs (application/leases/services.py); but AWS may list a run that has just begun late.
What starts without a lease in these minutes is left to the next start, or pages.
"""

from stacks.constructs.failsafe.states import State, both, call, choice, past_errors


def each_one(following: str, at_once: int) -> State:
    """The Map over `$.page`, with so many calls at the same time."""
    end = past_errors(
        call(
            "aws-sdk:ec2:terminateInstances",
            {"InstanceIds.$": "States.Array($.id)"},
            "Ended",
            "An instance that has ended already is no error, and one that EC2 keeps does not keep the others",
        ),
        "Ended",
    )
    return {
        "Type": "Map",
        "ItemsPath": "$.page.ids",
        # Intrinsic functions are documented for the parameters of a Pass, not for an ItemSelector.
        "ItemSelector": {
            "id.$": "$$.Map.Item.Value",
            "number.$": "$$.Map.Item.Index",
            "launched.$": "$.page.launched",
        },
        "MaxConcurrency": at_once,
        "ItemProcessor": {
            "ProcessorConfig": {"Mode": "INLINE"},
            "StartAt": "Age",
            "States": {
                "Age": {
                    "Type": "Pass",
                    "Parameters": {
                        "id.$": "$.id",
                        "launched.$": "States.ArrayGetItem($.launched, $.number)",
                        "began.$": "$$.Execution.StartTime",
                    },
                    "Next": "Newer",
                },
                "Newer": choice([_newer() | {"Next": "Ended"}], "EndOne", "Only what ran when the run began"),
                "EndOne": end,
                "Ended": {"Type": "Succeed"},
            },
        },
        "ResultPath": None,
        "Next": following,
    }


def _newer() -> dict[str, object]:
    """A value that is no instant spares nothing."""
    return both(
        {"Variable": "$.launched", "IsTimestamp": True},
        {"Variable": "$.launched", "TimestampGreaterThanPath": "$.began"},
    )
