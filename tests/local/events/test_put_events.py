"""PutEvents takes, refuses and loses what EventBridge takes, refuses and loses.

Sources: EventBridge API reference, PutEvents and PutEventsResultEntry; user guide, "Calculating PutEvents event entry
size"; AWS's answers as recorded by localstack in tests/aws/services/events/test_events.snapshot.json.
"""

import json
from datetime import UTC, datetime

import pytest
from botocore.exceptions import ClientError

from local.aws.events.put_events import LIMIT_BYTES

GOOD = {"Source": "ci.training", "DetailType": "open", "Detail": '{"pool": "gpu"}', "EventBusName": "lab"}


@pytest.fixture
def bus(aws):
    """A bus of its own, whose events all go to a queue; gives the queue's URL."""
    aws.call("events", "create_event_bus", Name="lab")
    url, arn = aws.queue("heard")
    aws.call(
        "events", "put_rule", Name="all", EventBusName="lab", EventPattern='{"source": [{"prefix": ""}]}'
    )
    aws.call("events", "put_targets", Rule="all", EventBusName="lab", Targets=[{"Id": "q", "Arn": arn}])
    return url


def put(aws, *entries):
    """(how many failed, what the answer says of each entry)"""
    answer = aws.call("events", "put_events", Entries=list(entries))
    return answer["FailedEntryCount"], answer["Entries"]


def refused(aws, **changed):
    """The error of one changed entry."""
    entry = {key: value for key, value in {**GOOD, **changed}.items() if value is not None}
    failed, (answer,) = put(aws, entry)
    assert failed == 1
    assert "EventId" not in answer
    return answer["ErrorCode"], answer["ErrorMessage"]


def heard(aws, url):
    return json.loads(aws.message(url)["Body"])


def test_an_event_keeps_what_its_sender_said_and_gets_an_id_of_its_own(aws, bus):
    arn = "arn:aws:codebuild:ap-northeast-2:123456789012:build/train"
    entry = {**GOOD, "Time": datetime(2026, 3, 2, 11, 0, 7, 900_000, UTC), "Resources": [arn]}
    failed, answers = put(aws, entry, entry)

    events = [heard(aws, bus), heard(aws, bus)]

    assert failed == 0
    ids = {answer["EventId"] for answer in answers}
    assert len(ids) == 2
    assert {event.pop("id") for event in events} == ids
    assert (
        events[0]
        == events[1]
        == {
            "version": "0",
            "detail-type": "open",
            "source": "ci.training",
            "account": "123456789012",
            "time": "2026-03-02T11:00:07Z",
            "region": "ap-northeast-2",
            "resources": [arn],
            "detail": {"pool": "gpu"},
        }
    )


def test_an_entry_needs_its_source_its_type_and_its_detail(aws, bus):
    for name in ("Source", "DetailType", "Detail"):
        reason = f"Parameter {name} is not valid. Reason: {name} is a required argument."
        for value in (None, ""):
            assert refused(aws, **{name: value}) == ("InvalidArgument", reason)


#: The last ones are too deep: 1001 levels, and more than Python recurses.
MALFORMED = (
    *("text", '"text"', "[1]", "{'pool': 'gpu'}", '{"pool": NaN}'),
    *('{"a":' * 1001 + "1" + "}" * 1001, '{"a": ' + "[" * 100_000 + "}"),
)


def test_a_detail_that_is_no_json_object_is_malformed(aws, bus):
    for detail in MALFORMED:
        assert refused(aws, Detail=detail) == ("MalformedDetail", "Detail is malformed."), detail[:20]


def test_nobody_speaks_for_a_service_of_aws(aws, bus):
    expected = ("NotAuthorizedForSourceException", "Not authorized for the source.")
    assert refused(aws, Source="aws.autoscaling") == expected


def test_a_type_has_at_most_128_characters(aws, bus):
    """API reference, PutEventsRequestEntry; the words are [est]."""
    code, _ = refused(aws, DetailType="d" * 129)
    assert code == "InvalidArgument"


def test_a_bad_entry_fails_alone_and_in_its_place(aws, bus):
    """User guide, "Sending events with PutEvents": Handling failures with PutEvents."""
    failed, answers = put(aws, {**GOOD, "Detail": "no"}, GOOD)
    assert (failed, [sorted(answer) for answer in answers]) == (
        1,
        [["ErrorCode", "ErrorMessage"], ["EventId"]],
    )
    assert heard(aws, bus)["id"] == answers[1]["EventId"]


def test_ten_entries_are_the_most(aws, bus):
    assert put(aws, *[GOOD] * 10)[0] == 0
    with pytest.raises(ClientError, match=r"ValidationException.*length less than or equal to 10"):
        put(aws, *[GOOD] * 11)


def test_all_entries_together_have_less_than_one_megabyte(aws, bus):
    """A time counts 14 bytes, texts count in UTF-8, and nothing else counts."""
    frame = len('{"t": ""}') + len("s") + len("d") + 14
    text = "é" * ((LIMIT_BYTES - frame) // 2 - 1)
    entry = {"Source": "s", "DetailType": "d", "Time": datetime(2026, 1, 1, tzinfo=UTC)}
    room = LIMIT_BYTES - 1 - frame - 2 * len(text)
    fits = {**entry, "Detail": json.dumps({"t": text + "x" * room}, ensure_ascii=False)}
    over = {**entry, "Detail": json.dumps({"t": text + "x" * (room + 1)}, ensure_ascii=False)}

    assert put(aws, fits)[0] == 0
    with pytest.raises(ClientError) as refused:
        put(aws, over)
    assert refused.value.response["Error"] == {
        "Code": "ValidationException",
        "Message": "Total size of the entries in the request is over the limit.",
    }


def test_a_bus_that_does_not_exist_takes_an_event_and_loses_it(aws, bus):
    """https://github.com/aws/aws-sdk/issues/186"""
    failed, (answer,) = put(aws, {**GOOD, "EventBusName": "nowhere"})
    assert (failed, list(answer)) == (0, ["EventId"])
    put(aws, {**GOOD, "Detail": '{"pool": "later"}'})
    assert heard(aws, bus)["detail"] == {"pool": "later"}


def test_a_bus_is_named_by_its_arn_as_well(aws, bus):
    put(aws, {**GOOD, "EventBusName": "arn:aws:events:ap-northeast-2:123456789012:event-bus/lab"})
    assert heard(aws, bus)["source"] == "ci.training"


def test_an_event_of_another_bus_is_not_heard(aws, bus):
    put(aws, {key: value for key, value in GOOD.items() if key != "EventBusName"})
    put(aws, {**GOOD, "Source": "mine"})
    assert heard(aws, bus)["source"] == "mine"


def test_a_disabled_rule_hears_nothing(aws, bus):
    aws.call("events", "disable_rule", Name="all", EventBusName="lab")
    put(aws, GOOD)
    aws.call("events", "enable_rule", Name="all", EventBusName="lab")
    put(aws, {**GOOD, "Source": "later"})
    assert heard(aws, bus)["source"] == "later"


@pytest.mark.parametrize(
    ("delays", "arrivals"),
    [([0.0, 30.0], [0, 30]), ([120.0], [120]), ([], [])],
    ids=["doubled", "late", "lost"],
)
def test_a_delivery_is_doubled_delayed_or_lost_on_purpose(aws, bus, delays, arrivals):
    """EventBridge delivers at least once (user guide, "What Is Amazon EventBridge?"), in no order."""
    aws.hold()
    hit = []

    def judge(delivery):
        hit.append((delivery.bus, delivery.rule, delivery.event["source"]))
        return delays if delivery.event["detail"]["pool"] == "gpu" else [0.0]

    aws.embedded.moto_additions.deliveries.judge = judge
    put(aws, GOOD)
    begun, came = aws.clock.time(), []
    for _ in range(15):
        aws.clock.sleep(10)
        came += [round(aws.clock.time() - begun, -1)] * len(taken(aws, bus))
    assert hit == [("lab", "all", "ci.training")]
    assert came == [pytest.approx(at, abs=10) for at in arrivals]


def test_a_late_delivery_is_passed_by_a_later_one(aws, bus):
    aws.hold()
    aws.embedded.moto_additions.deliveries.judge = lambda delivery: [delivery.event["detail"]["late"]]
    for late in (60, 0):
        put(aws, {**GOOD, "Detail": json.dumps({"late": late})})
    aws.clock.sleep(5)
    first = taken(aws, bus)
    aws.clock.sleep(60)
    assert [event["detail"]["late"] for event in (*first, *taken(aws, bus))] == [0, 60]


def taken(aws, url):
    """The events that are in the queue now."""
    messages = aws.call("sqs", "receive_message", QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
    for message in messages:
        aws.call("sqs", "delete_message", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return [json.loads(message["Body"]) for message in messages]
