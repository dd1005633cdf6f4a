"""An event source mapping from the ledger's stream to a function, which then reads the changed items.

A failed record is retried for a while and then goes to the dead-letter queue, which an alarm watches. So a function
that only shows changes never blocks others. The permission to read the stream is Permissions.listening.
"""

import json
from collections.abc import Mapping, Sequence

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

# Records in a batch. A failed batch is delivered again as a whole, and processing it twice changes nothing.
BATCH = 100
RETRIES = 5
# A later record shows an older change as well.
OLDEST = Duration.minutes(15)

# Partition prefix -> sort key prefixes of the items that people see of a pool, without its lock.
POOLS = {
    "POOL#": ("AUDIT#", "COMMAND#", "LEASE#", "PROOF#", "RECEIPT#", "SETTINGS#", "VERDICTS#"),
    "PROGRESS#": ("",),
}
# The pool's own item, which every sweep writes: waiting people, delays and costs change with time.
STATES = {"POOL#": ("STATE",)}
# Requests for approval that the board shows; the items of its own messages start no function.
SLACK = {"SLACK": ("ASK#",)}
# A new answer that is owed, and a new place on the waiting list. The board's own changes of them start no function.
NEW = {"SLACK": ("REPLY#", "WAIT#")}
# Decisions about the whole lab: skips, pauses and the answers to their commands.
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
        """The function gets changes of `items`, and of `made` only new ones.

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
    """A filter for each partition prefix: a mapping takes five filters."""
    found: dict[str, tuple[str, ...]] = {}
    for kind in kinds:
        for pk, sks in kind.items():
            found[pk] = (*found.get(pk, ()), *sks)
    return found


def _pattern(pk: str, sks: Sequence[str], events: Sequence[str]) -> str:
    """A filter on the prefixes of the keys; it leaves out items that only expired."""
    keys: dict[str, object] = {"pk": {"S": [{"prefix": pk}]}}
    if any(sks):
        keys["sk"] = {"S": [{"prefix": sk} for sk in sks]}
    pattern = {"eventName": [*events], "dynamodb": {"Keys": keys}}
    return json.dumps(pattern, separators=(",", ":"))
