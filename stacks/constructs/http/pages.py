"""The pages: a private bucket with a page of the lab and of each receipt, and the function that keeps them fresh.

All of it is drawn from the ledger and can be drawn again, so the bucket is emptied and goes when the lab
goes; the ledger stays. What is on a page is lamplighter/pages' business.
"""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.constructs.deploy_steps import deploy_step
from stacks.constructs.functions.accepted import accept
from stacks.constructs.functions.functions import Function, FunctionCode
from stacks.constructs.functions.ledger_listener import LAB, POOLS, LedgerListener
from stacks.constructs.functions.permissions import Grants, Permissions
from stacks.names import Names

# As long as the ledger keeps its audit.
KEPT = Duration.days(400)
# A page may be this much older than the ledger; many changes then cost one drawing.
WINDOW = Duration.seconds(20)


class PagesBucket(Construct):
    """Private, encrypted, by TLS only; Slack signs links to what is in it."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            lifecycle_rules=[
                s3.LifecycleRule(expiration=KEPT, abort_incomplete_multipart_upload_after=Duration.days(1))
            ],
            removal_policy=RemovalPolicy.DESTROY,
        )
        accept(
            self.bucket,
            "S1",
            "Who opens a page is nobody's business, and a second bucket for it would outlive it.",
        )


class Pages(Construct):
    """The function that draws, and the step that empties the bucket before it goes."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        names: Names,
        code: FunctionCode,
        permissions: Permissions,
        bucket: s3.IBucket,
        stream_arn: str,
        deploy: Function,
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = Function(
            self,
            "Function",
            name="pages",
            handler="pages",
            names=names,
            code=code,
            environment={"PAGES_BUCKET": bucket.bucket_name},
            permissions=[
                permissions.reading_the_ledger(),
                *permissions.listening(stream_arn),
                on_pages(bucket.bucket_arn, "GetObject", "PutObject"),
            ],
            description="Pages: draws the lab's page and the receipts from the ledger",
            memory_mib=512,
            timeout=Duration.minutes(1),
        )
        listener = LedgerListener(
            self,
            "Listener",
            function=self.function.function,
            stream_arn=stream_arn,
            dead_letters_arn=names.dead_letters_arn,
            items=[POOLS, LAB],
            window=WINDOW,
        )
        emptied = deploy_step(
            self,
            "Emptied",
            kind="Emptied",
            function=deploy,
            properties={"Bucket": bucket.bucket_name},
        )
        # Deleted the other way round: nobody draws any more when the bucket is emptied.
        listener.node.add_dependency(emptied)


def on_pages(bucket_arn: str, *actions: str) -> Grants:
    """On the pages themselves, not on the bucket's settings."""
    return Grants(
        [f"s3:{action}" for action in actions],
        [f"{bucket_arn}/*"],
        wide="The pages of the lab's own bucket; there is one for each receipt.",
    )
