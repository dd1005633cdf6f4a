"""The pages: a private bucket with a page of the lab and of each receipt, and the function that writes them.

The function draws all pages from the ledger and can draw them again. So a destroy empties and deletes the bucket, and
the ledger stays. lamplighter/pages draws the pages.
"""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.constructs.accepted import accept
from stacks.constructs.deploy_steps import deploy_step
from stacks.constructs.functions.functions import Function, FunctionCode
from stacks.constructs.functions.ledger_listener import LAB, POOLS, LedgerListener
from stacks.constructs.functions.permissions import Permissions, on_pages
from stacks.names import Names

# The ledger keeps its audit entries for the same time.
KEPT = Duration.days(400)
# A page may be this much older than the ledger. Many changes within this time are then drawn once.
WINDOW = Duration.seconds(20)


class PagesBucket(Construct):
    """A private, encrypted bucket, by TLS only; the Slack function signs links to its pages."""

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
            "The lab does not record who opens a page, and a bucket of access logs would outlive the lab.",
        )


class Pages(Construct):
    """The function that draws the pages, and the step that empties the bucket before its deletion."""

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
        # CloudFormation deletes in reverse order: the function gets no more events when the bucket is emptied.
        listener.node.add_dependency(emptied)
