"""An embedded AWS a test: no control plane, no fleet, a clock that can hurry."""

import io
import json
import textwrap
import zipfile
from collections.abc import Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from local.aws.embedded import ACCESS_KEY_ID, SECRET_ACCESS_KEY, EmbeddedAws
from local.clock import VirtualClock
from tests.steady.hang import await_value


class Aws:
    """The embedded AWS with the few things a test keeps asking for."""

    def __init__(self, embedded: EmbeddedAws) -> None:
        self.embedded = embedded
        self.clock = embedded.clock
        self.runtime = embedded.runtime
        #: Left when the test is over.
        self.until_the_end = ExitStack()

    def hold(self) -> None:
        """From now on time stands while the test looks and acts, and passes only where it waits on the clock."""
        self.clock.hurry(True)
        self.until_the_end.enter_context(self.clock.busy())

    def environment(self) -> dict[str, str]:
        """What has clients of this process call it, by its clock."""
        return {
            "AWS_ENDPOINT_URL": self.embedded.endpoint,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
            "AWS_DEFAULT_REGION": "ap-northeast-2",
            "LAMPLIGHTER_INSTANT": str(self.clock.path),
        }

    def call(self, service: str, operation: str, *, role: str = "", **request):
        return self.embedded.around.call(service, operation, request, role=role)

    def role(self, name: str, *actions: str) -> str:
        """A role that may do these actions and write a function's log, and that services may take; its ARN."""
        services = [f"{service}.amazonaws.com" for service in ("lambda", "states", "scheduler", "events")]
        taken = {"Effect": "Allow", "Principal": {"Service": services}, "Action": "sts:AssumeRole"}
        trust = json.dumps({"Version": "2012-10-17", "Statement": [taken]})
        arn = self.call("iam", "create_role", RoleName=name, AssumeRolePolicyDocument=trust)["Role"]["Arn"]
        logs = ["logs:CreateLogStream", "logs:PutLogEvents"]
        statement = {"Effect": "Allow", "Action": [*actions, *logs], "Resource": "*"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        self.call("iam", "put_role_policy", RoleName=name, PolicyName="may", PolicyDocument=document)
        return arn

    def function(self, name: str, code: str | Mapping[str, str], *, role: str = "", **more) -> str:
        """A function of which `code` is the module, with `handler` in it, or all files."""
        files = {"index.py": code} if isinstance(code, str) else code
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as content:
            for path, text in files.items():
                content.writestr(zipfile.ZipInfo(path), textwrap.dedent(text))
        created = self.call(
            "lambda",
            "create_function",
            FunctionName=name,
            Runtime="python3.13",
            Role=role or self.role(f"{name}-role"),
            Code={"ZipFile": archive.getvalue()},
            **{"Handler": "index.handler", "Timeout": 20, **more},
        )
        return created["FunctionArn"]

    def invoke(self, name: str, event=None, kind: str = "RequestResponse"):
        """(answer, function error or None)."""
        reply = self.call(
            "lambda", "invoke", FunctionName=name, InvocationType=kind, Payload=json.dumps(event).encode()
        )
        body = reply["Payload"].read()
        return (json.loads(body) if body else None), reply.get("FunctionError")

    def bucket(self, name: str) -> None:
        where = {"LocationConstraint": "ap-northeast-2"}
        self.call("s3", "create_bucket", Bucket=name, CreateBucketConfiguration=where)

    def queue(self, name: str) -> tuple[str, str]:
        """A queue's URL and ARN; rules may send to it."""
        url = self.call("sqs", "create_queue", QueueName=name)["QueueUrl"]
        attributes = self.call("sqs", "get_queue_attributes", QueueUrl=url, AttributeNames=["QueueArn"])
        arn = attributes["Attributes"]["QueueArn"]
        sent = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": arn}
        sent["Principal"] = {"Service": "events.amazonaws.com"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [sent]})
        self.call("sqs", "set_queue_attributes", QueueUrl=url, Attributes={"Policy": policy})
        return url, arn

    def message(self, url: str) -> dict:
        """The next message of a queue, waited for."""

        def received() -> list[dict]:
            answer = self.call(
                "sqs", "receive_message", QueueUrl=url, WaitTimeSeconds=1, MessageAttributeNames=["All"]
            )
            return answer.get("Messages", [])

        return await_value(f"a message comes to {url}", received)[0]


@contextmanager
def embedded(folder: Path, clock: VirtualClock | None = None, **more):
    """An embedded AWS with its files in the folder."""
    clock = clock or VirtualClock(folder / "clock")
    running = EmbeddedAws(clock, folder, "ap-northeast-2", **more)
    running.start()
    made = Aws(running)
    with made.until_the_end:
        yield made
    clock.stop()
    running.stop()


@pytest.fixture
def aws(tmp_path: Path):
    with embedded(tmp_path) as made:
        yield made
