"""Rules that start the guard when an instance of a NodePool may have started or ended, through a queue.

EC2's own event has no tags, so the first rule hears of every instance of the account and region. About the instances of
EKS Auto Mode EC2 sends it only where the account shows them
(https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/amazon-ec2-managed-instances.html). The second one needs a
CloudTrail trail. The controller's own launches count too: it launches whatever a NodePool asks for, with a lease or
without one. Without events the sweep finds the same within five minutes.

AWS documents no form of CreateFleet in CloudTrail. The pattern has the form of records that users of Karpenter
published (https://github.com/aws/karpenter-provider-aws/issues/5850,
https://github.com/kubernetes-sigs/karpenter/issues/2813). No record of Auto Mode is known.
"""

from collections.abc import Mapping, Sequence

from aws_cdk import aws_events as events
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lamplighter.domain.capacity.kinds import identity
from lamplighter.lab.model import Lab
from stacks.constructs.functions.functions import Function
from stacks.constructs.functions.instance_events import InstanceEvents
from stacks.constructs.functions.trail_rules import named_parts
from stacks.names import Names


class NodePoolRules(Construct):
    """Rules with one target: instances that start or ended, and launches by the tags of each kind."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        lab: Lab,
        names: Names,
        guard: Function,
        at_once: int,
        dead_letters: sqs.IQueue,
    ) -> None:
        super().__init__(scope, construct_id)
        waiting = InstanceEvents(
            self, "Events", names=names, guard=guard, at_once=at_once, dead_letters=dead_letters
        )
        states = events.Rule(
            self,
            "States",
            rule_name=f"{names.lab}-instance-states",
            description="EC2 starts or ended an instance, which may be one of a NodePool",
            event_pattern=events.EventPattern(
                source=["aws.ec2"],
                detail_type=["EC2 Instance State-change Notification"],
                detail={"state": ["pending", "terminated"]},
            ),
            targets=[waiting.target],
        )
        tagged = [(key, part) for key, names_of in _tags(lab).items() for _, part in named_parts(names_of)]
        launches = [
            events.Rule(
                self,
                f"Launches{number or ''}",
                rule_name=f"{names.lab}-fleet-calls{number or ''}",
                description="A launch with a NodePool's tags (needs a CloudTrail trail)",
                event_pattern=events.EventPattern(
                    source=["aws.ec2"],
                    detail_type=["AWS API Call via CloudTrail"],
                    detail={
                        "eventName": ["CreateFleet"],
                        "requestParameters": {
                            "CreateFleetRequest": {
                                "TagSpecification": {"Tag": {"Key": [key], "Value": node_pools}}
                            }
                        },
                    },
                ),
                targets=[waiting.target],
            )
            for number, (key, node_pools) in enumerate(tagged)
        ]
        waiting.only([states, *launches])


def _tags(lab: Lab) -> Mapping[str, Sequence[str]]:
    """The names of the NodePools, by the tag that has them: the kinds have different tags."""
    found: dict[str, list[str]] = {}
    for pool in lab.pools_with("node pool"):
        of_pool = identity(lab, pool)
        for key, value in of_pool.tags.items():
            if value == of_pool.name:
                found.setdefault(key, []).append(value)
    return found
