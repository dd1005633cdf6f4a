"""Custom resources: a function is asked, and the answer may come late and from elsewhere."""

import json

import pytest

from tests.local.cloudformation.test_cloudformation import Stacks

ANSWERING = """
    import json, time, urllib.request
    def handler(event, context):
        properties = event["ResourceProperties"]
        time.sleep(float(properties.get("Seconds", 0)))
        print("ASKED", json.dumps(event))
        answer = {key: event[key] for key in ("StackId", "RequestId", "LogicalResourceId")}
        answer |= {"Status": "SUCCESS", "PhysicalResourceId": properties.get("Id", "thing"),
                   "Data": {"Size": properties.get("Size", ""), "Count": 2,
                            "More": "x" * int(properties.get("More", 0))}}
        if properties.get("Fail") == event["RequestType"]:
            answer |= {"Status": "FAILED", "Reason": "the evening lease runs until 23:00"}
        if properties.get("Silent") != event["RequestType"]:
            request = urllib.request.Request(event["ResponseURL"], json.dumps(answer).encode(), method="PUT")
            urllib.request.urlopen(request)
"""


@pytest.fixture
def custom(aws):
    arn = aws.function("asked", ANSWERING)

    def resource(**properties):
        return {"Type": "Custom::Thing", "Properties": {"ServiceToken": arn, **properties}}

    return resource


@pytest.fixture
def stacks(aws):
    return Stacks(aws)


def asked(aws) -> list[dict]:
    lines = aws.runtime.logs("asked").splitlines()
    return [json.loads(line.removeprefix("ASKED ")) for line in lines if line.startswith("ASKED ")]


def test_its_answer_gives_id_and_attributes(aws, stacks, custom):
    stack = stacks.create(
        {"Thing": custom(Size=2, Wait=True)}, Outputs={"Size": {"Value": {"Fn::GetAtt": ["Thing", "Size"]}}}
    )
    assert stack["Outputs"][0]["OutputValue"] == "2"
    assert stacks.physical() == {"Thing": "thing"}
    question = asked(aws)[0]
    assert question["RequestType"] == "Create"
    assert question["ResourceProperties"]["Wait"] == "true"
    assert question["StackId"] == stack["StackId"]


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ({"Fn::Join": ["-", ["q", {"Fn::GetAtt": ["Thing", "Count"]}]]}, "a list of strings to be joined"),
        ({"Fn::Sub": "q-${Thing.Count}"}, "Thing.Count in Fn::Sub expression does not resolve to a string"),
        (
            {"Fn::Sub": ["q-${N}", {"N": {"Fn::GetAtt": ["Thing", "Count"]}}]},
            "variable N in Fn::Sub expression does not resolve to a string",
        ),
    ],
)
def test_a_number_that_it_answers_becomes_no_part_of_a_text(stacks, custom, expression, words):
    named = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": expression}}
    assert words in stacks.failed({"Thing": custom(), "Queue": named})


def test_a_number_that_it_answers_is_no_output(stacks, custom):
    count = {"Count": {"Value": {"Fn::GetAtt": ["Thing", "Count"]}}}
    assert stacks.create({"Thing": custom()}, Outputs=count)["StackStatus"] == "ROLLBACK_COMPLETE"
    assert "Every Value member must be a string" in stacks.reasons()


def test_a_text_that_it_answers_is_a_number_where_a_property_wants_one(aws, stacks, custom):
    waiting = {"QueueName": "q", "VisibilityTimeout": {"Fn::GetAtt": ["Thing", "Size"]}}
    stacks.create({"Thing": custom(Size=77), "Queue": {"Type": "AWS::SQS::Queue", "Properties": waiting}})
    queue = {"QueueUrl": stacks.physical()["Queue"], "AttributeNames": ["VisibilityTimeout"]}
    assert aws.call("sqs", "get_queue_attributes", **queue)["Attributes"] == {"VisibilityTimeout": "77"}


def test_an_update_is_told_what_was_and_a_new_id_deletes_the_old_one(aws, stacks, custom):
    stacks.create({"Thing": custom(Size=2)})
    stacks.update({"Thing": custom(Size=3, Id="other")})
    update, delete = asked(aws)[1:]
    assert (update["RequestType"], update["OldResourceProperties"]["Size"]) == ("Update", "2")
    assert update["PhysicalResourceId"] == "thing"
    assert (delete["RequestType"], delete["PhysicalResourceId"]) == ("Delete", "thing")
    assert stacks.physical() == {"Thing": "other"}


def test_a_refused_create_fails_the_stack_with_the_functions_words(aws, stacks, custom):
    stack = stacks.create({"Thing": custom(Fail="Create")})
    assert stack["StackStatus"] == "ROLLBACK_COMPLETE"
    assert "the evening lease runs until 23:00" in stacks.reasons()
    assert [question["RequestType"] for question in asked(aws)] == ["Create", "Delete"]


def test_a_refused_update_keeps_what_was_and_is_asked_to_go_back(aws, stacks, custom):
    stacks.create({"Thing": custom(Size=2)})
    stack = stacks.update({"Thing": custom(Size=3, Fail="Update")})
    assert stack["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    assert "the evening lease runs until 23:00" in stacks.reasons()
    _, forward, back = asked(aws)
    assert (forward["ResourceProperties"]["Size"], forward["OldResourceProperties"]["Size"]) == ("3", "2")
    assert (back["ResourceProperties"]["Size"], back["OldResourceProperties"]["Size"]) == ("2", "3")
    assert back["PhysicalResourceId"] == "thing"


def test_an_answer_of_more_than_4096_bytes_fails_and_its_words_are_lost(stacks, custom):
    """https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-responses.html"""
    assert stacks.create({"Thing": custom(More=3000)})["StackStatus"] == "CREATE_COMPLETE"
    stacks.update({"Thing": custom(More=4000, Fail="Update")})
    assert "Response object is too long." in stacks.reasons()
    assert "the evening lease" not in stacks.reasons()


def test_an_answer_names_the_resource(stacks, custom):
    assert stacks.create({"Thing": custom(Id="")})["StackStatus"] == "ROLLBACK_COMPLETE"
    assert "Invalid PhysicalResourceId" in stacks.reasons()


def test_a_refused_delete_fails_the_destroy(stacks, custom):
    stacks.create({"Thing": custom(Fail="Delete"), "Queue": {"Type": "AWS::SQS::Queue"}})
    assert stacks.delete() == "DELETE_FAILED"
    assert "the evening lease runs until 23:00" in stacks.reasons()


def test_nobody_answering_is_a_failure_after_the_service_time_out(aws, stacks, custom):
    began = aws.clock.time()
    aws.clock.hurry(True)
    stacks.create({"Thing": custom(Silent="Create", ServiceTimeout=900)})
    assert "did not receive a response" in stacks.reasons()
    assert 900 <= aws.clock.time() - began < 2000


def test_a_machine_that_is_slow_is_no_function_that_does_not_answer(aws, stacks, custom):
    aws.clock.set_rate(600)
    stack = stacks.create({"Thing": custom(Seconds=0.5, ServiceTimeout=60)})
    assert stack["StackStatus"] == "CREATE_COMPLETE", stacks.reasons()


def test_another_invocation_may_answer_a_delete_much_later(aws, stacks):
    """As the last close does: the question is handed on, and answered when the pools are at zero."""
    arn = aws.function("later", ANSWERING)
    queue = aws.call("sqs", "create_queue", QueueName="handed-on")["QueueUrl"]
    handing_on = """
        import json, boto3, urllib.request
        def handler(event, context):
            if event["RequestType"] == "Delete":
                boto3.client("sqs").send_message(QueueUrl=event["ResourceProperties"]["Queue"],
                                                 MessageBody=json.dumps(event))
            else:
                answer = json.dumps({"Status": "SUCCESS", "PhysicalResourceId": "x"}).encode()
                urllib.request.urlopen(urllib.request.Request(event["ResponseURL"], answer, method="PUT"))
    """
    handing = aws.function("handing-on", handing_on, role=aws.role("sender", "sqs:*"))
    stacks.create(
        {"Thing": {"Type": "Custom::Last", "Properties": {"ServiceToken": handing, "Queue": queue}}}
    )
    aws.call("cloudformation", "delete_stack", StackName="lab")
    question = json.loads(aws.message(queue)["Body"])
    assert stacks.describe()["StackStatus"] == "DELETE_IN_PROGRESS"
    aws.clock.jump_to(aws.clock.time() + 1800)
    aws.call("lambda", "invoke", FunctionName=arn, Payload=json.dumps(question))
    assert aws.embedded.stacks.await_settled("lab").status == "DELETE_COMPLETE"


def test_the_cdks_framework_function_is_stood_in_for(aws, stacks):
    user = aws.function(
        "user", "def handler(event, context): return {'Data': {'Type': event['RequestType']}}"
    )
    framework = {
        "Type": "AWS::Lambda::Function",
        "Properties": {
            "Runtime": "nodejs24.x",
            "Handler": "framework.onEvent",
            "Role": aws.role("framework"),
            "Code": {"ZipFile": "exports.onEvent = () => {}"},
            "Environment": {"Variables": {"USER_ON_EVENT_FUNCTION_ARN": user}},
        },
    }
    thing = {"Type": "Custom::Thing", "Properties": {"ServiceToken": {"Fn::GetAtt": ["Framework", "Arn"]}}}
    stack = stacks.create(
        {"Framework": framework, "Thing": thing},
        Outputs={"Type": {"Value": {"Fn::GetAtt": ["Thing", "Type"]}}},
    )
    assert stack["Outputs"][0]["OutputValue"] == "Create"
