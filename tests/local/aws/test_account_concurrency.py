"""An account runs so many functions at once and no more: whoever comes then is throttled, each caller in its way."""

import json
from functools import partial

import pytest
from botocore.exceptions import ClientError

from local.aws.api.server import Request, Response
from local.aws.cloudformation.types.http import PAGE
from local.background_task import BackgroundTask
from local.background_thread import BackgroundThread
from stacks.constructs.http.throttle import (
    COMMANDS,
    EVENTS_AT_ONCE,
    GUARD_AT_ONCE,
    ROOM,
    SLACK_AT_ONCE,
    SLACK_BESIDE_NODE_POOLS,
)
from tests.local.aws.api.test_http_api import ask, parts
from tests.local.cloudformation.test_cloudformation import Stacks
from tests.local.events.test_queue_sources import RECEIVING
from tests.local.workflows.test_stepfunctions import machine, one, run

WORK = """
    import os
    from urllib.request import urlopen
    def handler(event, context):
        print("served")
        urlopen(os.environ["LAMPLIGHTER_SLEEP"], data=str(os.environ["SECONDS"]).encode()).read()
        return {"statusCode": 200}
"""
#: What a workflow says where a step was throttled.
CAUGHT = {"ErrorEquals": ["Lambda.TooManyRequestsException"], "Next": "Throttled"}


def worker(aws, name: str = "worker", seconds: float = 5, **more) -> str:
    """A function that works so long."""
    return aws.function(name, WORK, Environment={"Variables": {"SECONDS": str(seconds)}}, **more)


def served(aws, name: str = "worker") -> int:
    return aws.runtime.logs(name).splitlines().count("served")


def address(aws, function: str, **throttle: float) -> str:
    """Where an HTTP API in front of the function is."""
    outputs = {"Url": {"Value": {"Fn::GetAtt": ["Api", "ApiEndpoint"]}}}
    stack = Stacks(aws).create(parts("Api", function, {"POST /slack": ""}, **throttle), Outputs=outputs)
    return f"{stack['Outputs'][0]['OutputValue']}/slack"


def queue(aws, name: str, at_once: int) -> str:
    """A queue from which so many workers take at once, each for a second; its URL."""
    worker(aws, name, 1, role=aws.role(name, *RECEIVING))
    url, arn = aws.queue(name)
    aws.call(
        "lambda",
        "create_event_source_mapping",
        EventSourceArn=arn,
        FunctionName=name,
        BatchSize=10,
        ScalingConfig={"MaximumConcurrency": at_once},
    )
    return url


def post(url: str) -> int:
    return ask(url, "POST", b"{}")[0]


def test_one_more_than_the_account_runs_is_refused_and_its_code_never_runs(aws):
    worker(aws)
    aws.runtime.concurrency = 1
    aws.hold()
    first = BackgroundTask(aws.clock, "caller", partial(aws.invoke, "worker"))
    aws.clock.sleep(2)

    with pytest.raises(ClientError) as refusal:
        aws.invoke("worker")

    assert refusal.value.response["Error"]["Code"] == "TooManyRequestsException"
    assert refusal.value.response["ResponseMetadata"]["HTTPStatusCode"] == 429
    first.result()
    assert served(aws) == 1
    aws.invoke("worker")
    assert served(aws) == 2


def test_functions_share_the_accounts_limit(aws):
    worker(aws)
    worker(aws, "other")
    aws.runtime.concurrency = 1
    aws.hold()
    first = BackgroundTask(aws.clock, "caller", partial(aws.invoke, "worker"))
    aws.clock.sleep(2)
    with pytest.raises(ClientError, match="TooManyRequestsException"):
        aws.invoke("other")
    first.result()


def reserve(aws, name: str, places: int) -> None:
    aws.call("lambda", "put_function_concurrency", FunctionName=name, ReservedConcurrentExecutions=places)


def test_a_reserved_place_is_free_for_its_function_whatever_the_others_do_and_is_all_it_has(aws):
    worker(aws)
    worker(aws, "guard")
    aws.runtime.concurrency = 101
    reserve(aws, "guard", 1)
    aws.runtime.concurrency = 2
    aws.hold()
    for busy in ("worker", "guard"):
        first = BackgroundTask(aws.clock, "caller", partial(aws.invoke, busy))
        aws.clock.sleep(2)
        with pytest.raises(ClientError, match="TooManyRequestsException"):
            aws.invoke(busy)
        aws.invoke("guard" if busy == "worker" else "worker")
        first.result()


@pytest.mark.parametrize(("quota", "places", "least"), [(10, 1, 10), (50, 1, 50), (104, 5, 100)])
def test_no_account_reserves_the_places_that_all_functions_share(aws, quota, places, least):
    worker(aws)
    aws.runtime.concurrency = quota
    with pytest.raises(ClientError, match=rf"below its minimum value of \[{least}\]"):
        reserve(aws, "worker", places)


def test_a_template_reserves_places_and_gives_them_back(aws):
    stacks = Stacks(aws)
    code = {"ZipFile": "def handler(event, context): return 1"}
    properties = {
        "FunctionName": "guard",
        "Runtime": "python3.13",
        "Handler": "index.handler",
        "Role": aws.role("guarding"),
        "Code": code,
    }
    function = {"Type": "AWS::Lambda::Function", "Properties": properties}
    reserving = {**function, "Properties": {**properties, "ReservedConcurrentExecutions": 5}}
    assert "below its minimum value of [10]" in stacks.failed({"Guard": reserving})
    stacks.delete()
    aws.runtime.concurrency = 105
    made = stacks.create({"Guard": reserving})
    assert made["StackStatus"] == "CREATE_COMPLETE", stacks.reasons()
    assert aws.runtime.reserved == {"guard": 5}
    stacks.update({"Guard": function})
    assert aws.runtime.reserved == {}


def test_a_throttled_event_comes_again_until_there_is_room_and_no_try_is_counted(aws):
    worker(aws, seconds=30)
    aws.call("lambda", "put_function_event_invoke_config", FunctionName="worker", MaximumRetryAttempts=0)
    aws.runtime.concurrency = 1
    aws.hold()
    for _ in range(3):
        aws.invoke("worker", kind="Event")
    aws.clock.wait_until(aws.clock.time() + 600, lambda: served(aws) == 3)
    assert served(aws) == 3


def test_a_throttled_event_that_grows_too_old_is_a_dead_letter_and_never_ran(aws):
    url, arn = aws.queue("dead")
    worker(aws, seconds=15)
    code = "def handler(event, context): print('served')"
    role = aws.role("sender", "sqs:SendMessage")
    aws.function("late", code, role=role, DeadLetterConfig={"TargetArn": arn})
    aws.call("lambda", "put_function_event_invoke_config", FunctionName="late", MaximumEventAgeInSeconds=60)
    aws.runtime.concurrency = 0
    aws.hold()
    aws.invoke("late", {"a": 1}, kind="Event")
    aws.clock.sleep(120)
    assert aws.message(url)["Body"] == '{"a": 1}'
    assert served(aws, "late") == 0


def test_an_http_api_answers_503_before_any_code_runs(aws):
    url = address(aws, worker(aws))
    aws.runtime.concurrency = 1
    aws.hold()
    first = BackgroundThread(partial(post, url))
    aws.clock.wait_until(None, lambda: aws.runtime.at_work("worker"))
    status, _, body = ask(url, "POST", b"{}")
    assert (status, json.loads(body)) == (503, {"message": "Service Unavailable"})
    with aws.clock.idle():
        assert first.result() == 200
    assert served(aws) == 1


def test_a_workflow_sees_by_name_that_its_step_was_throttled(aws):
    function = worker(aws)
    aws.runtime.concurrency = 0
    task = {"Type": "Task", "Resource": function, "Catch": [CAUGHT]}
    states = {**one(task), "Throttled": {"Type": "Pass", "Result": "throttled", "End": True}}
    assert run(aws, machine(aws, states))[:2] == ("SUCCEEDED", "throttled")


def test_what_is_above_an_apis_throttle_gets_429_and_reaches_no_function(aws):
    url = address(aws, worker(aws, seconds=0), ThrottlingRateLimit=2, ThrottlingBurstLimit=3)
    aws.hold()
    callers = [BackgroundThread(partial(post, url)) for _ in range(8)]
    # All of them come before any time passes.
    aws.clock.settled = lambda: sum(caller.ended(0) for caller in callers) >= 5
    with aws.clock.idle():
        assert sorted(caller.result() for caller in callers) == [200] * 3 + [429] * 5
    assert served(aws) == 3
    aws.clock.sleep(1)
    assert post(url) == 200


@pytest.mark.parametrize(
    ("at_once", "room"),
    [
        ({"slack": SLACK_AT_ONCE, "events": EVENTS_AT_ONCE}, ROOM),
        (
            {"slack": SLACK_BESIDE_NODE_POOLS, "events": EVENTS_AT_ONCE, "guard": GUARD_AT_ONCE},
            ROOM - 1,  # the guard has its own
        ),
    ],
    ids=["node groups", "NodePools"],
)
def test_people_who_all_type_at_once_leave_a_new_account_room_for_the_guard_and_the_workflows(
    aws, at_once, room
):
    url = address(
        aws,
        worker(aws, "commands", COMMANDS.seconds),
        ThrottlingRateLimit=COMMANDS.requests_a_second,
        ThrottlingBurstLimit=COMMANDS.burst,
    )
    queues = [queue(aws, name, most) for name, most in at_once.items()]
    for number in range(room):
        worker(aws, f"ours-{number}", 1)
    typed: list[BackgroundThread[int]] = []
    came: list[Request] = []
    answer = aws.embedded.server.application.pages[PAGE]

    def note(request: Request) -> Response:
        came.append(request)
        return answer(request)

    aws.embedded.server.page(PAGE, note)
    aws.clock.settled = lambda: len(came) == len(typed)  # whoever types now comes before time passes
    aws.hold()
    # Their time has the cold start in it already, so the functions of the address are warm.
    warm = [
        BackgroundTask(aws.clock, "warm", partial(aws.invoke, "commands"))
        for _ in range(COMMANDS.most_at_once)
    ]
    assert [each.result() for each in warm] == [({"statusCode": 200}, None)] * COMMANDS.most_at_once
    # Twice as long as a request occupies a function: then all comes again each second.
    for tenth in range(int(20 * COMMANDS.seconds)):
        typed += [BackgroundThread(partial(post, url)) for _ in range(3)]
        for each in queues:
            entries = [{"Id": str(number), "MessageBody": "x"} for number in range(10)]
            aws.call("sqs", "send_message_batch", QueueUrl=each, Entries=entries)
        if tenth % 10 == 5:
            ours = [BackgroundTask(aws.clock, "ours", partial(aws.invoke, f"ours-{n}")) for n in range(room)]
        aws.clock.sleep(0.1)
        if tenth % 10 == 5:
            answers = [each.result() for each in ours]
            assert answers == [({"statusCode": 200}, None)] * room
    with aws.clock.idle():
        assert {person.result() for person in typed} == {200, 429}
    assert served(aws, "slack") >= served(aws, "events") > 0
