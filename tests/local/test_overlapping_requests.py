"""People ask at once, each over HTTP as in life: in Slack, with a signed command, or with `lambda invoke`.

Whichever of them is answered last, time goes on afterwards.
"""

import itertools
import random
from collections.abc import Callable
from functools import partial

import pytest
from botocore.exceptions import ClientError

from local.background_thread import BackgroundThread
from tests.local.aws.api.test_http_api import ask, parts, signed
from tests.local.cloudformation.test_cloudformation import Stacks
from tests.steady.hang import HANG_SECONDS

#: It pauses as long as it is asked to. So later requests overtake it.
WORK = """
    import os
    from urllib.request import urlopen
    def handler(event, context):
        urlopen(os.environ["LAMPLIGHTER_SLEEP"], data=event["body"].encode()).read()
        return {"statusCode": 200}
"""
#: Virtual seconds in a real one, at most; None while the clock hurries.
RATES = (1.0, 30.0, None)
MOST_PEOPLE = 30
#: The longest pause of a function, in virtual seconds.
PAUSE = 0.2

Way = Callable[[float], int]


@pytest.fixture
def ways(aws) -> list[Way]:
    """How people ask; each takes the pause of the function and returns the status of the answer."""
    resources = parts("Api", aws.function("work", WORK), {"POST /slack": "", "POST /own": "AWS_IAM"})
    stack = Stacks(aws).create(resources, Outputs={"Url": {"Value": {"Fn::GetAtt": ["Api", "ApiEndpoint"]}}})
    url = stack["Outputs"][0]["OutputValue"]
    key = (aws.embedded.around.access_key_id, aws.embedded.around.secret_access_key)

    def in_slack(pause: float) -> int:
        return ask(f"{url}/slack", "POST", str(pause).encode(), **{"Content-Type": "text/plain"})[0]

    def with_a_command(pause: float) -> int:
        return signed(f"{url}/own", *key, str(pause).encode())[0]

    def by_invoking(pause: float) -> int:
        try:
            return aws.invoke("work", {"body": str(pause)})[0]["statusCode"]
        except ClientError as throttled:
            return throttled.response["ResponseMetadata"]["HTTPStatusCode"]

    return [in_slack, with_a_command, by_invoking]


@pytest.mark.parametrize("rounds", [6, pytest.param(200, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_time_goes_on_after_requests_that_overlap(aws, ways, rounds):
    chance = random.Random(rounds)
    asked = itertools.cycle(ways)
    answers: set[int] = set()
    for rate in itertools.islice(itertools.cycle(RATES), rounds):
        aws.clock.hurry(rate is None)
        aws.clock.set_rate(rate or 1.0)
        people = [
            BackgroundThread(partial(next(asked), chance.uniform(0, PAUSE)))
            for _ in range(chance.randint(2, MOST_PEOPLE))
        ]
        assert all(person.ended(HANG_SECONDS) for person in people)
        assert BackgroundThread(partial(aws.clock.sleep, PAUSE)).ended(HANG_SECONDS)
        answers.update(person.result() for person in people)
    assert {200} <= answers <= {200, 429, 503}  # the account runs ten functions at once


def test_a_program_in_the_clouds_process_has_its_turn_back_after_its_own_people(aws, ways):
    with aws.clock.busy():
        fiber = aws.clock.fiber()
        people = [BackgroundThread(partial(way, pause)) for way in ways for pause in (PAUSE, 0)]
        assert all(person.ended(HANG_SECONDS) for person in people)
        assert fiber.holds
        assert {person.result() for person in people} == {200}
        aws.clock.sleep(PAUSE)


def test_a_function_that_invokes_others_at_once_hears_from_each(aws, ways):
    code = """
        from concurrent.futures import ThreadPoolExecutor
        import boto3
        def handler(event, context):
            client = boto3.client("lambda")
            def invoke(pause):
                client.invoke(FunctionName="work", Payload='{"body": "%s"}' % pause)
            with ThreadPoolExecutor() as threads:
                list(threads.map(invoke, event))
    """
    aws.function("both", code, role=aws.role("invokes", "lambda:InvokeFunction"), Timeout=60)
    aws.clock.hurry(True)
    assert aws.invoke("both", [PAUSE, 5, 0]) == (None, None)
    aws.clock.sleep(PAUSE)
