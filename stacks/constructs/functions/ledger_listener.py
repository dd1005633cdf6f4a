"""A function that is told which items of the ledger moved, and reads them then.

What cannot be dealt with is tried again for a while and then left in the dead-letter queue, which an alarm
watches: whoever only shows what happened never holds up what happens. The leave to listen is the function's
own (Permissions.listening).
"""

import json
from collections.abc import Mapping, Sequence

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

# Records at once; a batch is read again as a whole, and reading it twice changes nothing.
BATCH = 100
RETRIES = 5
# What is older is shown by a later record anyway.
OLDEST = Duration.minutes(15)

# Partition prefix -> sort key prefixes: what people see of a pool. Its lock is none of it.
POOLS = {
    "POOL#": ("AUDIT#", "COMMAND#", "LEASE#", "PROOF#", "RECEIPT#", "SETTINGS#", "VERDICTS#"),
    "PROGRESS#": ("",),
}
# The pool's own item, which every sweep writes: who waits, what is late and what it has cost move by the clock.
STATES = {"POOL#": ("STATE",)}
# And what people said in Slack that the board answers; the messages it keeps itself wake nobody.
SLACK = {"SLACK": ("ASK#", "REPLY#")}
# A new place in line. What the board notes of one wakes nobody: it takes back an offer that Slack refuses.
LINE = {"SLACK#": ("WAIT#",)}
# Decisions about the whole lab: skips, pauses, what they were answered.
LAB = {"LAB": ("COMMAND#", "PAUSE#", "SKIP#")}


class LedgerListener(Construct):
    """An event source mapping from the ledger's stream to one function."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        function: lambda_.IFunction,
        stream_arn: str,
        dead_letters_arn: str,
        items: Sequence[Mapping[str, Sequence[str]]],
        made: Sequence[Mapping[str, Sequence[str]]] = (),
        window: Duration,
        partial_failures: bool = False,
    ) -> None:
        """`items` are told of whenever they change, `made` only when they are new.

        With `partial_failures` the function answers which records failed; else a failure is all of a batch's.
        """
        super().__init__(scope, construct_id)
        self.mapping = lambda_.CfnEventSourceMapping(
            self,
            "Mapping",
            event_source_arn=stream_arn,
            function_name=function.function_name,
            starting_position="LATEST",
            batch_size=BATCH,
            maximum_batching_window_in_seconds=int(window.to_seconds()),
            maximum_retry_attempts=RETRIES,
            function_response_types=["ReportBatchItemFailures"] if partial_failures else None,
            maximum_record_age_in_seconds=int(OLDEST.to_seconds()),
            destination_config=lambda_.CfnEventSourceMapping.DestinationConfigProperty(
                on_failure=lambda_.CfnEventSourceMapping.OnFailureProperty(destination=dead_letters_arn)
            ),
            filter_criteria=lambda_.CfnEventSourceMapping.FilterCriteriaProperty(
                filters=[
                    lambda_.CfnEventSourceMapping.FilterProperty(pattern=_pattern(pk, sks, events))
                    for kinds, events in ((items, ("INSERT", "MODIFY")), (made, ("INSERT",)))
                    for pk, sks in _together(kinds).items()
                ]
            ),
        )
        self.mapping.node.add_dependency(function)


def _together(kinds: Sequence[Mapping[str, Sequence[str]]]) -> dict[str, tuple[str, ...]]:
    """By partition prefix: Lambda takes five filters a mapping."""
    found: dict[str, tuple[str, ...]] = {}
    for kind in kinds:
        for pk, sks in kind.items():
            found[pk] = (*found.get(pk, ()), *sks)
    return found


def _pattern(pk: str, sks: Sequence[str], events: Sequence[str]) -> str:
    """What the keys begin with; an item that only lapsed is not told."""
    keys: dict[str, object] = {"pk": {"S": [{"prefix": pk}]}}
    if any(sks):
        keys["sk"] = {"S": [{"prefix": sk} for sk in sks]}
    pattern = {"eventName": [*events], "dynamodb": {"Keys": keys}}
    return json.dumps(pattern, separators=(",", ":"))
