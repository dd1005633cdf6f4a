"""How the machine looks for what is left: in EC2, by the pool's tags, page by page, and again every minute.

`$.look.then` says what follows if something is there: `act`, on the rail; `end`, the instances found; `watch`, nothing.
"""

from collections.abc import Mapping

from stacks.constructs.failsafe.ending import each_one, each_tagged
from stacks.constructs.failsafe.states import (
    State,
    both,
    call,
    choice,
    is_text,
    is_there,
    is_true,
    past_errors,
    too_long,
    values,
)

ROUNDS = 6
"""How often the machine looks again, every `EVERY` seconds, before it gives up or leaves it to the next start."""
EVERY = 60
# EC2 takes no fewer. It describes an instance in 3 KB and each address of an interface in 150 bytes, so one with 15
# interfaces of 50 addresses in 105 KiB [est]. A page can be longer than the 256 KiB that a task may answer. A
# ResultSelector comes too late: https://docs.aws.amazon.com/step-functions/latest/apireference/API_TaskSucceededEventDetails.html
PAGE = 5
LOOK, WATCH, END = "Look", "Watch", "End"
"""The three ways in: look once and act, watch what another one ends, end it here."""
LOCKED = "$.locked"
"""Where a run notes that it is past Kubernetes, whether it could lock or not."""
ACT, EACH, ENOUGH = "Act", "EndEach", "Enough"
MOST_TAGS = 1000
TOO_LONG, TAGGED = "TooLong", "Tagged"


def looking(*, hidden: bool) -> dict[str, State]:
    """The states of a look. They go on to `Act`, and end in `Zero`, `LeftToTheNext` or `Leaked`.

    `hidden` says that instances of EKS Auto Mode may be among the pools'. EC2 leaves them out of a list that does not
    ask for them (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/amazon-ec2-managed-instances.html), which would
    end every look in `Zero`. Without such pools the parameter is left out: it is younger than the others.
    """
    every: dict[str, object] = {"IncludeManagedResources": True} if hidden else {}
    more = {**every, "NextToken.$": "$.page.next[0]"}
    return {
        LOOK: values({"then": "act", "round": 0, "some": False}, "$.look", "Instances"),
        WATCH: values({"then": "watch", "round": 0, "some": False}, "$.look", "Wait"),
        END: values({"then": "end", "round": 0, "some": False}, "$.look", "Instances"),
        "Wait": {"Type": "Wait", "Seconds": EVERY, "Next": "Round"},
        "Round": {
            "Type": "Pass",
            "Parameters": {
                "then.$": "$.look.then",
                "round.$": "States.MathAdd($.look.round, 1)",
                "some": False,
            },
            "ResultPath": "$.look",
            "Next": "Instances",
        },
        "Instances": _described(every, "What is left of the pool, by its tags"),
        "MoreInstances": _described(more, "The next page of it"),
        "Found": choice([is_there("$.page.ids[0]") | {"Next": "Some"}], "Pages"),
        "Some": values(True, "$.look.some", "Then"),
        "Then": choice(
            [
                is_text("$.look.then", "act") | {"Next": ACT},
                is_text("$.look.then", "end") | {"Next": EACH},
            ],
            ENOUGH,
        ),
        EACH: each_one("Pages", PAGE),
        # So instances are there, whatever else is known.
        TOO_LONG: values(True, "$.look.some", "TooLongThen"),
        "TooLongThen": choice(
            [
                is_text("$.look.then", "act") | {"Next": ACT},
                is_text("$.look.then", "end") | {"Next": TAGGED},
            ],
            ENOUGH,
        ),
        TAGGED: _tagged(),
        "EndEachTagged": each_tagged(ENOUGH, PAGE),
        # A page may be empty although others follow.
        "Pages": choice(
            [
                both(is_there("$.page.next[0]"), {"Variable": "$.page.next[0]", "IsString": True})
                | {"Next": "MoreInstances"}
            ],
            "AnyLeft",
        ),
        "AnyLeft": choice([is_true("$.look.some") | {"Next": ENOUGH}], "Zero"),
        ENOUGH: choice(
            [
                {"Variable": "$.look.round", "NumericLessThan": ROUNDS, "Next": "Wait"},
                both(is_text("$.look.then", "watch"), is_text("$.rail", "kubernetes"), _not_locked())
                | {"Next": "LeftToTheNext"},
            ],
            "Leaked",
            "The next start takes over what drains; what the other rails leave needs a person",
        ),
        "Zero": {"Type": "Succeed", "Comment": "EC2 has no instance with the pool's tags"},
        "LeftToTheNext": {"Type": "Succeed", "Comment": "Kubernetes is still ending them"},
        "Leaked": {
            "Type": "Fail",
            "Error": "Leaked",
            "CausePath": "States.Format('The NodePool {} still has instances in EC2', $.of.nodePool)",
        },
    }


def _not_locked() -> dict[str, object]:
    return {"Not": is_there(LOCKED)}


def _described(more: Mapping[str, object], comment: str) -> State:
    asked = {"Filters.$": "$.of.filters", "MaxResults": PAGE, **more}
    # A path with `..` gives a list, empty where nothing is found; a plain one fails without a token.
    picked = {
        "ids.$": "$..Instances[*].InstanceId",
        "launched.$": "$..Instances[*].LaunchTime",
        "next.$": "$..NextToken",
    }
    state = call("aws-sdk:ec2:describeInstances", asked, "Found", comment, result="$.page", retries=5)
    return too_long(state | {"ResultSelector": picked}, TOO_LONG)


def _tagged() -> State:
    """The ids of what has the pool's tag. A pool has 100 nodes at most, and 1,000 tags fit into an answer."""
    filters = [
        {"Name": "resource-type", "Values": ["instance"]},
        {"Name": "key", "Values.$": "States.Array($.of.poolTag)"},
        {"Name": "value", "Values.$": "States.Array($.of.nodePool)"},
    ]
    comment = "EC2 describes them one by one: a page of them is longer than a state may carry"
    asked = {"Filters": filters, "MaxResults": MOST_TAGS}
    state = call("aws-sdk:ec2:describeTags", asked, "EndEachTagged", comment, result="$.page", retries=5)
    return past_errors(state | {"ResultSelector": {"ids.$": "$..Tags[*].ResourceId"}}, ENOUGH)
