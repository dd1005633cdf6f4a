"""Where the lab speaks: `notices` for what happens, `pages` for what needs a person, and dead letters.

Pages go to the e-mail address of the lab. What is said, and when, is decided by functions and alarms.
"""

from aws_cdk import Aws, Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.constructs.accepted import accept
from stacks.names import Names


class Channels(Construct):
    """Two topics and the queue for what could not be delivered."""

    def __init__(self, scope: Construct, construct_id: str, *, names: Names, email: str | None) -> None:
        super().__init__(scope, construct_id)
        self.notices = sns.Topic(self, "Notices", topic_name=f"{names.lab}-notices", enforce_ssl=True)
        self.pages = sns.Topic(self, "Pages", topic_name=f"{names.lab}-pages", enforce_ssl=True)
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
        self.dead_letters = sqs.Queue(
            self,
            "DeadLetters",
            queue_name=f"{names.lab}-dead-letters",
            enforce_ssl=True,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            retention_period=Duration.days(14),
        )
        accept(
            self.dead_letters,
            "SQS3",
            "It is the dead-letter queue itself, of schedules, rules, functions and pages.",
        )
        if email is not None:
            self.pages.add_subscription(
                subscriptions.EmailSubscription(email, dead_letter_queue=self.dead_letters)
            )
