"""The Slack that is played: it keeps what it was told, answers as Slack does, and fails when it is told to."""

import json
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from local.slack.workspace import PATH, Workspace
from tests.local.cloudformation.test_cloudformation import Stacks

TOKEN = "xoxb-local"
CHANNEL = "C0LAMPLIGHT"


@pytest.fixture
def workspace(aws):
    made = Workspace(aws.clock, TOKEN)
    aws.embedded.server.page(PATH, made.answer)
    return made


@pytest.fixture
def client(aws, workspace):
    return WebClient(TOKEN, base_url=f"{aws.embedded.endpoint}{PATH}/api/", retry_handlers=[])


@pytest.fixture
def asked(aws):
    """POSTs a document to the workspace; status and answer."""

    def post(where: str, said: object) -> tuple[int, dict]:
        request = Request(
            f"{aws.embedded.endpoint}{PATH}/{where}",
            json.dumps(said).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urlopen(request) as reply:
                return reply.status, json.load(reply)
        except HTTPError as error:
            return error.code, json.load(error)

    return post


def test_a_message_is_posted_answered_in_its_thread_and_changed_in_place(client, workspace):
    posted = client.chat_postMessage(channel=CHANNEL, text="opening")
    client.chat_postMessage(channel=CHANNEL, text="late", thread_ts=posted["ts"])
    client.chat_update(channel=CHANNEL, ts=posted["ts"], text="open", blocks=[])

    first, second = workspace.messages(CHANNEL)
    assert (first["text"], first["updates"]) == ("open", 1)
    assert second["thread_ts"] == first["ts"]


def test_what_is_not_there_cannot_be_changed(client):
    with pytest.raises(SlackApiError, match="message_not_found"):
        client.chat_update(channel=CHANNEL, ts="1.000001", text="open")


def test_nobody_speaks_without_the_token(aws, workspace):
    stranger = WebClient("xoxb-other", base_url=f"{aws.embedded.endpoint}{PATH}/api/", retry_handlers=[])
    with pytest.raises(SlackApiError, match="invalid_auth"):
        stranger.auth_test()
    assert workspace.messages() == []


def test_it_knows_people_and_groups(client, asked):
    asked("people", {"U0MINJI": {"name": "minji", "tz": "Europe/Berlin"}})
    asked("groups", {"S0TEACHERS": ["U0MINJI"]})

    assert client.users_info(user="U0MINJI")["user"]["tz"] == "Europe/Berlin"
    assert client.users_info(user="U0OTHER")["user"]["tz"] == "Asia/Seoul"
    assert client.usergroups_users_list(usergroup="S0TEACHERS")["users"] == ["U0MINJI"]
    assert client.auth_test()["ok"]


@pytest.mark.parametrize(
    ("how", "status", "error"),
    [("throttled", 429, "ratelimited"), ("failed", 500, "failed"), ("not_in_channel", 200, "not_in_channel")],
)
def test_it_fails_as_often_as_it_is_told_to(client, workspace, how, status, error):
    workspace.fail("chat.postMessage", how, times=1)

    with pytest.raises(SlackApiError) as refused:
        client.chat_postMessage(channel=CHANNEL, text="opening")

    assert (refused.value.response.status_code, refused.value.response["error"]) == (status, error)
    assert client.chat_postMessage(channel=CHANNEL, text="opening")["ok"]
    assert [one["answer"]["ok"] for one in workspace.told] == [False, True]


def test_a_response_url_takes_five_answers_for_half_an_hour(aws, asked, workspace):
    for number in range(5):
        assert asked("reply/one", {"text": str(number)})[0] == 200
    assert asked("reply/one", {"text": "too many"})[0] == 404
    assert asked("reply/two", {"text": "first"})[0] == 200
    workspace.give("three")
    aws.clock.jump_to(aws.clock.time() + 1801)
    assert asked("reply/two", {"text": "too late"})[0] == 404
    assert asked("reply/three", {"text": "too late"})[0] == 404

    assert [one["text"] for one in workspace.replies("one")] == ["0", "1", "2", "3", "4"]


def test_all_it_was_told_is_read_at_one_address(aws, client, workspace):
    client.chat_postMessage(channel=CHANNEL, text="opening")

    with urlopen(f"{aws.embedded.endpoint}{PATH}") as reply:
        kept = json.load(reply)

    assert [message["text"] for message in kept["messages"]] == ["opening"]
    assert kept["told"][0]["call"] == "chat.postMessage"


def test_a_function_finds_this_slack_and_no_other(aws):
    code = """
        import os
        def handler(event, context):
            return [os.environ["SLACK_API_URL"], os.environ["SLACK_REPLY_HOSTS"]]
    """
    aws.function("speaks", code)

    assert aws.invoke("speaks")[0] == [f"{aws.embedded.endpoint}/_slack/api/", "127.0.0.1"]


def test_buckets_are_made_by_templates_and_go_only_when_empty(aws):
    stacks = Stacks(aws)
    private = dict.fromkeys(
        ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"), True
    )
    stacks.create(
        {"Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"PublicAccessBlockConfiguration": private}}}
    )
    bucket = stacks.physical()["Bucket"]
    aws.call("s3", "put_object", Bucket=bucket, Key="lab.html", Body=b"page")

    assert stacks.delete() == "DELETE_FAILED"
    aws.call("s3", "delete_object", Bucket=bucket, Key="lab.html")
    assert stacks.delete() == "DELETE_COMPLETE"
