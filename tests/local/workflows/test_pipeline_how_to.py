"""The pipeline of the how-to, deployed to the embedded AWS as it is: it opens, waits for the answer, and closes.

The test plays the lab on the bus. Without a cluster nothing can train: TRAINS puts a state in the place of these calls.
"""

import json

import pytest
import yaml

from local.stack_template import StackTemplate
from tests.checkout import ROOT

FILE = ROOT / "docs/how-to/run/pipeline/pipeline.yaml"
LAB, STACK = "gpu-lab", "training"
TRAINS = {
    name: {"Type": "Pass", "Result": {}, "ResultPath": f"$.{name.lower()}", "Next": following}
    for name, following in {"FindCluster": "Train", "Train": "Close"}.items()
}


def template() -> dict:
    return yaml.safe_load(FILE.read_text("utf-8"))


class Pipeline:
    """The deployed stack, and what it puts on the bus."""

    def __init__(self, aws) -> None:
        self.aws = aws
        aws.call("events", "create_event_bus", Name=LAB)
        self.url, queue = aws.queue("requests")
        pattern = json.dumps({"source": ["pipeline.training"]})
        aws.call("events", "put_rule", Name="requests", EventBusName=LAB, EventPattern=pattern)
        target = {"Id": "q", "Arn": queue}
        aws.call("events", "put_targets", Rule="requests", EventBusName=LAB, Targets=[target])
        document = template()
        resources = document["Resources"]
        document["Parameters"]["Lab"]["Default"] = LAB
        document["Parameters"]["Cluster"]["Default"] = LAB
        del resources["Access"], resources["Pipeline"]["DependsOn"]
        resources["Pipeline"]["Properties"]["Definition"]["States"].update(TRAINS)
        stack = aws.embedded.deploy(StackTemplate(STACK, json.dumps(document), {}))
        assert stack.status == "CREATE_COMPLETE"
        aws.hold()

    def start(self, name: str = "run-17") -> str:
        machine = self.aws.embedded.around.arn("states", f"stateMachine:{STACK}")
        started = self.aws.call("stepfunctions", "start_execution", stateMachineArn=machine, name=name)
        return started["executionArn"]

    def request(self) -> dict:
        self.aws.clock.sleep(5)
        [message] = self.aws.call("sqs", "receive_message", QueueUrl=self.url)["Messages"]
        self.aws.call("sqs", "delete_message", QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])
        return json.loads(message["Body"])

    def tell(self, detail_type: str, reply: str | None) -> None:
        """The lab tells an event."""
        detail = {"lab": LAB, "pool": "gpu", "reason": {"text": "as asked"}, "in_reply_to": reply}
        entry = {"Source": f"lamplighter.{LAB}", "DetailType": detail_type, "Detail": json.dumps(detail)}
        self.aws.call("events", "put_events", Entries=[{**entry, "EventBusName": LAB}])
        self.aws.clock.sleep(60)

    def outcome(self, arn: str) -> tuple[str, str]:
        described = self.aws.call("stepfunctions", "describe_execution", executionArn=arn)
        return described["status"], described.get("error", "")

    def waiting(self) -> int:
        """How many runs have a token in the table."""
        [table] = self.aws.call("dynamodb", "list_tables")["TableNames"]
        return len(self.aws.call("dynamodb", "scan", TableName=table)["Items"])


def test_a_run_trains_when_the_lab_has_answered_its_own_request_and_closes(aws) -> None:
    pipeline = Pipeline(aws)
    run = pipeline.start()
    opening = pipeline.request()
    assert opening["detail-type"] == "open"
    assert opening["detail"]["token"] == "run-17"

    pipeline.tell("pool-open", "of-another")
    pipeline.tell("pool-open", None)
    assert pipeline.outcome(run) == ("RUNNING", "")
    pipeline.tell("pool-open", opening["id"])
    pipeline.tell("pool-open", opening["id"])

    closing = pipeline.request()
    assert (closing["detail-type"], closing["detail"]["token"]) == ("close", "run-17")
    assert pipeline.outcome(run) == ("SUCCEEDED", "")
    assert pipeline.waiting() == 0


@pytest.mark.parametrize("answer", ["pool-degraded", "pool-closing"])
def test_a_run_whose_pool_does_not_open_closes_and_fails_with_the_answer(aws, answer: str) -> None:
    pipeline = Pipeline(aws)
    run = pipeline.start()

    pipeline.tell(answer, pipeline.request()["id"])

    assert pipeline.request()["detail-type"] == "close"
    assert pipeline.outcome(run) == ("FAILED", answer)
