"""Who is told what: the subscriptions that a lab's `notify` makes, what each picks, and where it ends if refused."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.infra.conftest import Assembly, Template

HOOK = "https://hooks.example.com/lab?token=1"
NOTIFY = {
    "email": "oncall@example.com",
    "pages": [HOOK],
    "notices": [
        {"to": "instructors@example.com", "kinds": ["open", "degraded"], "pools": ["gpu"]},
        {"to": HOOK},
    ],
}


@pytest.fixture(scope="module")
def routed(synthesise: Callable[..., Assembly]) -> Template:
    return synthesise(notify=NOTIFY).template("gpu-lab-controller")


def subscriptions(template: Template, topic: str) -> dict[str, Any]:
    """The subscriptions of a topic by address."""
    name = template.name("AWS::SNS::Topic", TopicName=f"gpu-lab-{topic}")
    every = template.properties("AWS::SNS::Subscription")
    return {each["Endpoint"]: each for each in every if each["TopicArn"]["Ref"] == name}


def test_pages_go_to_all_their_addresses_and_nothing_is_left_out(routed: Template) -> None:
    found = subscriptions(routed, "pages")

    assert {address: each["Protocol"] for address, each in found.items()} == {
        "oncall@example.com": "email",
        HOOK: "https",
    }
    assert not any("FilterPolicy" in each for each in found.values())


def test_notices_go_where_the_lab_says_by_kind_and_pool(routed: Template) -> None:
    found = subscriptions(routed, "notices")

    assert found["instructors@example.com"]["FilterPolicy"] == {
        "kind": ["open", "degraded"],
        "pool": ["gpu", "*"],
    }
    everything = found[HOOK]["FilterPolicy"]
    assert "warned" in everything["kind"]
    assert "already-open" not in everything["kind"]
    assert "pool" not in everything
    assert not any(each.get("RawMessageDelivery") for each in found.values())


def test_what_an_address_does_not_take_is_a_dead_letter(routed: Template) -> None:
    queue = routed.name("AWS::SQS::Queue", QueueName="gpu-lab-dead-letters")
    every = [*subscriptions(routed, "pages").values(), *subscriptions(routed, "notices").values()]

    assert len(every) == 4
    assert {each["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0] for each in every} == {queue}


def test_both_topics_take_nothing_that_is_not_encrypted_on_its_way(routed: Template) -> None:
    guarded = {
        policy["Topics"][0]["Ref"]
        for policy in routed.properties("AWS::SNS::TopicPolicy")
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny"
        and statement.get("Condition") == {"Bool": {"aws:SecureTransport": "false"}}
    }

    assert guarded == set(routed.of_type("AWS::SNS::Topic"))


def test_whoever_speaks_may_hand_over_what_a_topic_does_not_take(routed: Template) -> None:
    functions = {
        each["FunctionName"].removeprefix("gpu-lab-"): each["Environment"]["Variables"]
        for each in routed.properties("AWS::Lambda::Function")
        if "Environment" in each
    }
    speaking = {name for name, variables in functions.items() if "NOTICES_TOPIC_ARN" in variables}
    handing = {name for name, variables in functions.items() if "NOTICES_FUNCTION_ARN" in variables}

    assert speaking >= {"guard", "planner", "notices"}
    assert speaking <= handing
