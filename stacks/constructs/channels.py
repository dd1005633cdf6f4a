"""The lab's SNS topics and dead-letter queues.

`notices` carries what happens, `pages` what needs a person, `swept` the guard's heartbeat. The lab's `notify` names
the subscribers. Functions and alarms decide what is published and when.
"""

from collections.abc import Mapping

from aws_cdk import Aws, Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lamplighter.domain.commands.command import WHOLE_LAB
from lamplighter.lab.channels import Notify, Route
from stacks.constructs.accepted import accept
from stacks.names import Names


class Channels(Construct):
    """Three topics, the dead-letter queue, and a queue for failed calls of the failsafe."""

    def __init__(self, scope: Construct, construct_id: str, *, names: Names, notify: Notify) -> None:
        super().__init__(scope, construct_id)
        self.notices = sns.Topic(self, "Notices", topic_name=f"{names.lab}-notices", enforce_ssl=True)
        self.pages = sns.Topic(self, "Pages", topic_name=f"{names.lab}-pages", enforce_ssl=True)
        # It needs no subscriber: an alarm counts its messages. A monitor outside AWS may subscribe.
        self.swept = sns.Topic(self, "Swept", topic_name=f"{names.lab}-swept", enforce_ssl=True)
        # A topic with a policy of its own loses the default one, by which alarms may publish.
        self.pages.add_to_resource_policy(
            iam.PolicyStatement(
                sid="AlarmsPage",
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[self.pages.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}},
            )
        )
        self.dead_letters = self._queue(
            "DeadLetters", names.dead_letters, "schedules, rules, functions and pages"
        )
        # A message in the other queue must not hide that a failsafe failed.
        self.failsafe_failed = self._queue("FailsafeFailed", names.failsafe_failed, "failsafe and curfew")
        email = [] if notify.email is None else [notify.email]
        for address in [*email, *notify.pages]:
            # Messages of alarms carry no kind, so every address gets all pages.
            self.pages.add_subscription(self._subscription(address))
        for route in notify.notices:
            self.notices.add_subscription(self._subscription(route.to, _picks(route)))

    def _queue(self, construct_id: str, name: str, of: str) -> sqs.Queue:
        queue = sqs.Queue(
            self,
            construct_id,
            queue_name=name,
            enforce_ssl=True,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            retention_period=Duration.days(14),
        )
        accept(queue, "SQS3", f"It is the dead-letter queue itself, of {of}.")
        return queue

    def _subscription(
        self, address: str, picks: Mapping[str, sns.SubscriptionFilter] | None = None
    ) -> sns.ITopicSubscription:
        """A subscription of an address. Messages that it refuses after SNS's retries go to the dead-letter queue."""
        if address.startswith("https://"):
            # Not raw: the envelope has the subject, and the signature by which a receiver verifies SNS.
            return subscriptions.UrlSubscription(
                address, filter_policy=picks, dead_letter_queue=self.dead_letters
            )
        return subscriptions.EmailSubscription(
            address, filter_policy=picks, dead_letter_queue=self.dead_letters
        )


def _picks(route: Route) -> dict[str, sns.SubscriptionFilter]:
    """The filter on a message's attributes (lamplighter/domain/notices/notification.py)."""
    picks = {"kind": sns.SubscriptionFilter.string_filter(allowlist=list(dict.fromkeys(route.kinds)))}
    if route.pools is not None:
        about = [*dict.fromkeys(route.pools), WHOLE_LAB]
        picks["pool"] = sns.SubscriptionFilter.string_filter(allowlist=about)
    return picks
