"""A program opens a pool by an event, waits for proven GPUs, runs its pod there, and closes the pool."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from lamplighter.domain.events.lab_event import KINDS
from lamplighter.values import instant
from local.cloud import Cloud
from tests.scenarios.events.bus import Listener, Sender
from tests.scenarios.lab_day import LabDay

pytestmark = pytest.mark.long

LAB = Path(__file__).with_name("events.yaml")
REFERENCE = Path(__file__).parents[3] / "docs/reference/events"
BEGINS = datetime(2026, 12, 1, 13, 0, tzinfo=UTC)
JOB = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "training", "namespace": "default"},
    "spec": {
        "restartPolicy": "Never",
        "tolerations": [{"operator": "Exists"}],
        "containers": [
            {
                "name": "train",
                "image": "nvidia/cuda:12.4.1-base-ubuntu22.04",
                "command": ["nvidia-smi"],
                "resources": {"limits": {"nvidia.com/gpu": 1}},
            }
        ],
    },
}
MINUTES = timedelta(minutes=1)


@pytest.fixture(scope="module")
def day() -> Iterator[LabDay]:
    with Cloud(LAB, start=BEGINS, progress=print) as cloud:
        cloud.up()
        yield LabDay(cloud)


@pytest.fixture(scope="module")
def listener(day: LabDay) -> Listener:
    return Listener(day)


@pytest.fixture(scope="module")
def ci(day: LabDay) -> Sender:
    return Sender(day, "ci")


def test_a_pipeline_opens_runs_its_job_on_a_proven_node_and_closes(
    day: LabDay, listener: Listener, ci: Sender
) -> None:
    began = day.now

    # when it asks, twice with one token, then it gets one lease, and an answer to each event
    asked = [_put_open(ci) for _ in range(2)]
    granted = [listener.until("lease-granted", in_reply_to=event) for event in asked]
    [lease] = {each["lease"] for each in granted}
    assert day.lease(lease).owner == "ci-training"
    assert day.lease(lease).closes - day.lease(lease).opens == timedelta(hours=2)

    # when it puts the open once more, then it hears of the same lease, although nothing is decided any more
    again = listener.until("lease-granted", in_reply_to=_put_open(ci))
    assert again["lease"] == lease

    # when the GPUs are proven, then it hears so, and its pod runs on that node
    opened = listener.until("pool-open", lease=lease)
    assert opened["in_reply_to"] in asked
    assert listener.told("verdict", lease=lease)[0]["detail"]["failed"] == []
    node = _run(day, JOB)
    assert node in day.look().kubernetes_nodes

    # when another role, another source or another detail-type is tried, then AWS refuses it
    stranger, nightly = Sender(day, "stranger"), Sender(day, "nightly")
    refused = [
        stranger.refused("ci.training", "close", pool="gpu"),
        stranger.refused("lamplighter.pipeline", "pool-closed", pool="gpu"),
        ci.refused("ci.nightly", "open", pool="gpu"),
        ci.refused("lamplighter.pipeline", "pool-open", pool="gpu"),
        ci.refused("ci.training", "pool-open", pool="gpu"),
        nightly.refused("ci.nightly", "close", pool="gpu"),
    ]
    assert refused == ["AccessDeniedException"] * len(refused)

    # when it asks for more than its entry allows, or for nonsense, then it is told why, and nothing changes
    before = (day.ledger.pool("gpu").generation, day.ledger.leases("gpu"))
    for detail, code in (
        ({"nodes": 1, "for_seconds": 600}, "lease.allowed-nodes"),
        ({"nodes": True}, "command.number-needed"),
        ({"owner": "platform-team"}, "command.unknown-key"),
        ({"because": "x" * 250_000}, "command.event.too-large"),
        ({"pool": "cpu"}, "command.no-such-pool"),
    ):
        answer = listener.until("lease-refused", in_reply_to=ci.put("ci.training", "open", **detail))
        assert answer["reason"]["code"] == code
    assert (day.ledger.pool("gpu").generation, day.ledger.leases("gpu")) == before

    # when another program asks for a whole pool that is used, then it is told when it would get that
    asked_at_night = nightly.put("ci.nightly", "open", nodes=2, for_seconds=1800)
    answer = listener.until("lease-refused", in_reply_to=asked_at_night)
    assert (answer["reason"]["code"], answer["earliest"]) == ("lease.pool-full", "2026-12-01T15:40:00Z")

    # when it asks for more time, then it gets it
    later = ci.put("ci.training", "extend", for_seconds=1800, token="run-1")
    extended = listener.until("extended", in_reply_to=later)
    assert extended["closes"] == instant.written(day.lease(lease).closes)
    assert day.lease(lease).closes - day.lease(lease).opens == timedelta(hours=2, minutes=30)

    # when it closes, then the pool is proven to be at zero, and the receipt is told
    closing = listener.until("pool-closing", in_reply_to=ci.put("ci.training", "close", token="run-1"))
    assert closing["lease"] == lease
    closed = listener.until("pool-closed", lease=lease)
    assert closed["nodes"] == 0
    receipt = listener.until("receipt", lease=lease)
    day.until_quiet()
    assert receipt["cost"]["amount"] == str(day.receipt(lease)["cost"]["amount"])
    assert receipt["node_seconds"] == day.receipt(lease)["node_seconds"]
    verdicts = day.verdicts(began, 1, 2, 5, 7)
    assert {law for law, verdict in verdicts.items() if verdict.held} >= {2, 5, 7}, verdicts
    assert [verdict for verdict in verdicts.values() if verdict.held is False] == []


def test_a_close_that_comes_before_its_open_leaves_the_pool_closed(
    day: LabDay, listener: Listener, ci: Sender
) -> None:
    late = listener.until("lease-refused", in_reply_to=ci.put("ci.training", "close", token="run-2"))
    assert late["reason"]["code"] == "command.event.nothing-opened"

    answer = listener.until("lease-refused", in_reply_to=ci.put("ci.training", "open", token="run-2"))

    assert answer["reason"]["code"] == "command.event.closed-before"
    assert day.live() == ()


def test_an_event_that_was_lost_is_told_by_the_next_sweep(
    day: LabDay, listener: Listener, ci: Sender
) -> None:
    stream = day.api("lambda")
    [mapping] = stream.list_event_source_mappings(FunctionName=f"{day.lab.name}-lifecycle")[
        "EventSourceMappings"
    ]
    # given a stream whose records reach nobody
    stream.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    asked = ci.put("ci.training", "open", pool="gpu", for_seconds=3600)

    granted = listener.until("lease-granted", in_reply_to=asked, within=7 * MINUTES)

    stream.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)
    listener.until("pool-closing", in_reply_to=ci.put("ci.training", "close", pool="gpu"))
    listener.until("receipt", lease=granted["lease"])
    day.until_quiet()


def test_a_window_tells_what_it_does_and_every_event_is_as_its_schema_says(
    day: LabDay, listener: Listener
) -> None:
    day.pass_until(datetime(2026, 12, 1, 14, 59, tzinfo=UTC))
    lesson = "lesson-2026-12-01"
    for kind in ("lease-granted", "pool-open", "verdict", "warned", "pool-closing", "pool-closed", "receipt"):
        listener.until(kind, lease=lesson, within=90 * MINUTES)
    day.until_quiet()

    kinds = {kind.TYPE: _validator(kind.TYPE) for kind in KINDS}
    for event in listener.told():
        kinds[event["detail-type"]].validate(event["detail"])
    assert {event["detail-type"] for event in listener.told()} >= {"lease-refused", "lease-granted"}
    assert day.api("sqs").receive_message(QueueUrl=_dead_letters(day)).get("Messages", []) == []


def _put_open(ci: Sender) -> str:
    return ci.put("ci.training", "open", pool="gpu", for_seconds=7200, token="run-1")


def _run(day: LabDay, pod: dict[str, Any]) -> str:
    """Runs a pod to its end; the node that it ran on."""
    admin = day.cloud.control_plane.admin()
    where = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods"
    admin.create(where, pod)
    path = f"{where}/{pod['metadata']['name']}"
    day.until("the pod is done", lambda _: admin.get(path)["status"]["phase"] == "Succeeded", 10 * MINUTES)
    return str(admin.get(path)["spec"]["nodeName"])


def _validator(detail_type: str) -> Draft202012Validator:
    """The schema in the reference, with its formats."""
    schema = json.loads((REFERENCE / f"{detail_type}.schema.json").read_text("utf-8"))
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)


def _dead_letters(day: LabDay) -> str:
    name = f"{day.lab.name}-dead-events"
    return str(day.api("sqs").get_queue_url(QueueName=name)["QueueUrl"])
