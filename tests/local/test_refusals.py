"""Calls that AWS refuses on purpose are refused in the words and with the status of each service."""

import pytest

from local.aws.ec2.read_throttle import BURST, RATE, ReadThrottle
from local.aws.refusals import failed, throttled

CODE = """
    import boto3, botocore.exceptions
    from botocore.config import Config
    CALLS = {
        "dynamodb": lambda client: client.get_item(TableName="t", Key={"pk": {"S": "a"}}),
        "eks": lambda client: client.describe_nodegroup(clusterName="c", nodegroupName="n"),
        "ec2": lambda client: client.describe_instances(),
        "autoscaling": lambda client: client.describe_auto_scaling_groups(),
        "scheduler": lambda client: client.list_schedules(),
    }
    def handler(event, context):
        service = event["service"]
        client = boto3.client(service, config=Config(retries={"total_max_attempts": 1}))
        try:
            CALLS[service](client)
        except botocore.exceptions.ClientError as error:
            return [error.response["Error"]["Code"], error.response["ResponseMetadata"]["HTTPStatusCode"]]
"""


@pytest.mark.parametrize(
    ("service", "slow_down", "broken"),
    [
        ("dynamodb", ["ThrottlingException", 400], ["InternalServerError", 500]),
        ("eks", ["ThrottlingException", 400], ["ServerException", 500]),
        ("ec2", ["RequestLimitExceeded", 503], ["InternalError", 500]),
        ("autoscaling", ["Throttling", 400], ["InternalFailure", 500]),
        ("scheduler", ["ThrottlingException", 400], ["InternalServerException", 500]),
    ],
)
def test_a_function_s_call_is_refused_as_the_service_words_it(aws, service, slow_down, broken):
    role = aws.role("caller", "*")
    aws.function("f", CODE, role=role)
    asked = []
    kinds = iter([throttled, failed])
    kind = next(kinds)

    def judge(call):
        asked.append((call.service, call.function, call.step, call.pool))
        return kind(call.service)

    aws.embedded.refusals.judge = judge
    event = {"service": service, "step": "Scale", "run": {"command": {"pool": "gpu"}}}
    assert aws.invoke("f", event) == (slow_down, None)
    kind = next(kinds)
    assert aws.invoke("f", event) == (broken, None)
    assert set(asked) == {(service, "f", "Scale", "gpu")}
    aws.embedded.refusals.judge = None
    assert aws.call("dynamodb", "list_tables")["TableNames"] == []


def test_all_callers_of_an_account_share_what_ec2_lets_them_read(aws):
    aws.function("f", CODE, role=aws.role("caller", "*"))
    aws.hold()
    aws.embedded.refusals.judge = reads = ReadThrottle(aws.clock)

    assert all(reads.read("DescribeInstances") for _ in range(int(BURST)))
    assert not reads.read("DescribeInstances")
    assert aws.invoke("f", {"service": "ec2"})[0] is None  # time passed while it began
    while reads.read("DescribeInstances"):
        pass
    refused = aws.invoke("f", {"service": "ec2"})
    assert refused == (["RequestLimitExceeded", 503], None)
    aws.clock.sleep(1 / RATE)
    assert reads.read("DescribeInstances")
