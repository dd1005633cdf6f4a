"""The page when a run of a state machine fails: AWS publishes it, without any function of ours."""

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

# A later page is useless: the guard has paged by then as well.
PAGE = Duration.hours(1)
ATTEMPTS = 20


def page_failed_runs(
    scope: Construct,
    construct_id: str,
    *,
    rule_name: str,
    description: str,
    machine_arn: str,
    pages: sns.ITopic,
    dead_letters: sqs.IQueue,
) -> None:
    """A rule that publishes each failed run of the machine to the topic of pages."""
    events.Rule(
        scope,
        construct_id,
        rule_name=rule_name,
        description=description,
        event_pattern=events.EventPattern(
            source=["aws.states"],
            detail_type=["Step Functions Execution Status Change"],
            detail={"stateMachineArn": [machine_arn], "status": ["FAILED", "TIMED_OUT", "ABORTED"]},
        ),
        targets=[
            targets.SnsTopic(
                pages, dead_letter_queue=dead_letters, max_event_age=PAGE, retry_attempts=ATTEMPTS
            )
        ],
    )
