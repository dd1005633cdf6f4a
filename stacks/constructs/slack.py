"""The address that Slack posts to, its queue, the function that takes from it, and the one that writes to Slack.

Only a lab with a `slack` key has them.
"""

from aws_cdk import Duration, RemovalPolicy, SecretValue
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lamplighter.application.slack.receiving import AT_ONCE, SIGNATURE, STAMP, TRIES
from lamplighter.lab.channels import Slack as SlackSettings
from lamplighter.lab.model import Lab
from stacks.constructs.accepted import accept
from stacks.constructs.alarms import waiting_alarm
from stacks.constructs.channels import Channels
from stacks.constructs.functions.functions import Function, FunctionCode
from stacks.constructs.functions.ledger_listener import LAB, NEW, POOLS, SLACK, STATES, LedgerListener
from stacks.constructs.functions.permissions import Permissions, on_pages
from stacks.constructs.functions.queue_listener import listen
from stacks.constructs.http.queue_address import QueueAddress
from stacks.constructs.http.throttle import SLACK_AT_ONCE, SLACK_BESIDE_NODE_POOLS
from stacks.names import Names

PATH = "slack"
HEADERS = {STAMP: "X-Slack-Request-Timestamp", SIGNATURE: "X-Slack-Signature"}
# Somebody waits, cold start included. More memory means more processor, and the function runs rarely.
DOOR_MIB = 1024
DOOR_TIMEOUT = Duration.seconds(30)
# Six times the time-out, as Lambda asks
# (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html).
VISIBLE_AFTER = Duration.minutes(3)
# Longer than a command is good for: one that nobody took in time is refused in words, and not forgotten without any.
KEPT = Duration.hours(1)
SIGNED = "Slack signs what it posts; the function checks that before anything else."
BOARD_MIB = 512
BOARD_TIMEOUT = Duration.minutes(1)
WINDOW = Duration.seconds(1)
WORKFLOWS = {
    "OPEN_LAB_ARN": "open",
    "CLOSE_LAB_ARN": "close",
    "EXTEND_LEASE_ARN": "extend",
    "CHANGE_LAB_ARN": "change",
}


class Slack(Construct):
    """The Slack app's address, queue, functions and secret; who installs the app reads `url` and `secret_arn`."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        lab: Lab,
        slack: SlackSettings,
        names: Names,
        code: FunctionCode,
        permissions: Permissions,
        channels: Channels,
        pages: s3.IBucket,
        stream_arn: str,
    ) -> None:
        super().__init__(scope, construct_id)
        self._names = names
        self.secret_arn = slack.secret_arn or self._secret().secret_arn
        environment = {"SLACK_SECRET_ARN": self.secret_arn, "PAGES_BUCKET": pages.bucket_name}
        both = [
            permissions.reading_the_ledger(),
            permissions.keeping_the_conversation(),
            permissions.reading_secret(self.secret_arn),
            # A signed link grants no more than the permissions of the function that signed it.
            on_pages(pages.bucket_arn, "GetObject"),
        ]
        # Two readers of a stream are what DynamoDB allows, and the pages are the other one
        # (https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetRecords.html).
        wakes = {"LIFECYCLE_FUNCTION_ARN": names.function_arn("lifecycle")} if lab.events else {}
        queue = self._queue(channels.dead_letters)
        door = Function(
            self,
            "Door",
            name="slack",
            handler="slack",
            names=names,
            code=code,
            environment={
                **environment,
                **{variable: names.workflow_arn(name) for variable, name in WORKFLOWS.items()},
            },
            permissions=[
                *both,
                permissions.receiving(queue.queue_arn),
                permissions.starting(*WORKFLOWS.values()),
            ],
            description="Slack's door: checks who asks, understands, and answers",
            memory_mib=DOOR_MIB,
            timeout=DOOR_TIMEOUT,
        )
        board = Function(
            self,
            "Board",
            name="board",
            handler="board",
            names=names,
            code=code,
            environment={**environment, **wakes},
            permissions=[
                *both,
                *permissions.listening(stream_arn),
                *([permissions.invoking("lifecycle")] if wakes else []),
            ],
            description="Slack's board: keeps messages, threads and answers as the ledger has it",
            memory_mib=BOARD_MIB,
            timeout=BOARD_TIMEOUT,
        )
        LedgerListener(
            self,
            "Listener",
            function=board.function,
            stream_arn=stream_arn,
            dead_letters_arn=channels.dead_letters.queue_arn,
            items=[POOLS, STATES, SLACK, LAB],
            made=[NEW],
            window=WINDOW,
            partial_failures=True,
        )
        listen(
            self,
            "RequestsMapping",
            queue=queue,
            function=door,
            batch=AT_ONCE,
            at_once=SLACK_BESIDE_NODE_POOLS if lab.pools_with("failsafe machine") else SLACK_AT_ONCE,
        )
        if lab.observability.queue_alarms:
            waiting_alarm(
                self,
                what="A request from Slack",
                queue=queue,
                name=names.slack_requests,
                taker=names.function("slack"),
                pages=channels.pages,
            )
        address = QueueAddress(
            self,
            "Address",
            names=names,
            purpose="slack",
            path=PATH,
            queue=queue,
            headers=HEADERS,
            description="Where Slack posts commands and buttons",
        )
        accept(address.method, "APIG4", SIGNED)
        accept(address.method, "COG4", SIGNED)
        self.url = address.url

    def _secret(self) -> secretsmanager.Secret:
        """The secret is created empty. A later deploy does not change its value, since its template stays the same."""
        empty = SecretValue.unsafe_plain_text("")
        secret = secretsmanager.Secret(
            self,
            "Secret",
            secret_name=self._names.slack_secret,
            description="The Slack app's signing_secret and bot_token",
            secret_object_value={"signing_secret": empty, "bot_token": empty},
            removal_policy=RemovalPolicy.DESTROY,
        )
        accept(
            secret, "SMG4", "Slack lets only a person make new secrets; a new one is used within a minute."
        )
        return secret

    def _queue(self, dead_letters: sqs.IQueue) -> sqs.Queue:
        """What the function fails on five times goes to the lab's dead letters, which an alarm watches."""
        return sqs.Queue(
            self,
            "Requests",
            queue_name=self._names.slack_requests,
            enforce_ssl=True,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            retention_period=KEPT,
            visibility_timeout=VISIBLE_AFTER,
            dead_letter_queue=sqs.DeadLetterQueue(queue=dead_letters, max_receive_count=TRIES),
        )
