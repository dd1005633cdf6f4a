"""What a person may ask for at the lab's address, in whose name it is done, and what is turned away."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from handlers import commands
from lamplighter.domain.commands.caller import Caller
from lamplighter.reasons.document import read
from tests.unit import lab_address
from tests.unit.lab_on_moto import LabOnMoto, lab_on_moto

ALICE = "arn:aws:iam::123456789012:user/students/alice"
MALLORY = "arn:aws:iam::123456789012:user/mallory"
OPEN = {"verb": "open", "pool": "gpu", "token": "t-1", "for_seconds": 3600}


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made, lab_address.function(monkeypatch, made):
        made.lease(nodes=1, opens=-10, closes=50)
        yield made


def ask(path: str, body: object, arn: str | None = ALICE) -> tuple[int, dict[str, Any]]:
    answer = commands.handler(lab_address.event(path, body, arn), None)
    return int(str(answer["statusCode"])), json.loads(str(answer["body"]))


def started(lab: LabOnMoto) -> list[dict[str, Any]]:
    return lab.closes


@pytest.mark.parametrize(
    ("arn", "name"),
    [
        ("arn:aws:iam::123456789012:user/alice", "alice"),
        ("arn:aws:iam::123456789012:user/students/alice", "alice"),
        ("arn:aws:iam::123456789012:user/class:a/alice", "alice"),
        ("arn:aws:sts::123456789012:assumed-role/students/alice", "students/alice"),
        ("arn:aws:sts::123456789012:assumed-role/AWSReservedSSO_Lab_0a1b2c3d4e5f6071/alice@example.com",
         "alice@example.com"),
        ("arn:aws:sts::123456789012:assumed-role/AWSReservedSSO_Lab_0a1b2c3d4e5f6071/",
         "AWSReservedSSO_Lab_0a1b2c3d4e5f6071/"),
        ("arn:aws:sts::123456789012:federated-user/alice", "federated-user/alice"),
        ("arn:aws:iam::123456789012:root", "account root"),
        ("arn:aws-cn:iam::123456789012:user/alice", "alice"),
    ],
)  # fmt: skip
def test_a_caller_s_name_is_one_that_nobody_else_has(arn: str, name: str) -> None:
    assert Caller(arn).name == name


def test_a_command_is_started_in_the_name_that_aws_gives(lab: LabOnMoto) -> None:
    code, said = ask("own/open", {**OPEN, "nodes": 2, "because": "the exam"})

    [command] = started(lab)
    assert code == 202
    assert said == {"id": command["id"], "verb": "open", "pool": "gpu", "by": "alice"}
    assert (command["by"], command["owner"], command["source"]) == ("alice", "alice", "cli")
    assert (command["issued"], command["expires"]) == ("2026-11-20T20:00:00Z", "2026-11-20T20:15:00Z")
    assert (command["nodes"], command["for_seconds"], command["because"]) == (2, 3600, "the exam")
    assert command["for_lab"] is False


def test_the_same_token_is_the_same_command_and_another_person_s_is_not(lab: LabOnMoto) -> None:
    first, again = ask("own/open", OPEN), ask("own/open", OPEN)
    other = ask("own/open", OPEN, MALLORY)
    assert first == again
    assert other[1]["id"] != first[1]["id"]
    assert len(started(lab)) == 2


#: Each rule of a body is held in test_asked.py.
CRAFTED: list[tuple[str, dict[str, object], int]] = [
    ("own/open", {**OPEN, "by": "boss"}, 400),
    ("own/open", {**OPEN, "owner": "boss"}, 403),
    ("own/open", {**OPEN, "pool": "other"}, 400),
    ("own/close", {**OPEN, "verb": "open"}, 400),
    ("own/close", {"verb": "close", "pool": "gpu", "lease": "cli-1", "token": "t"}, 403),
    ("own/extend", {"verb": "extend", "pool": "gpu", "lease": "cli-1", "for_seconds": 60, "token": "t"}, 403),
    ("own/extend", {"verb": "extend", "pool": "gpu", "lease": "cli-9", "for_seconds": 60, "token": "t"}, 400),
    ("own/change", {"verb": "keep", "pool": "gpu", "lease": "cli-1", "token": "t"}, 403),
    ("own/experiment", {"verb": "restore", "pool": "gpu", "experiment": "nccl-1", "token": "t"}, 400),
    ("own/last-close", {"verb": "close", "pool": "gpu", "token": "t"}, 400),
    ("../lab/close", {"verb": "close", "pool": "gpu", "token": "t"}, 400),
]


@pytest.mark.parametrize(("path", "body", "code"), CRAFTED)
def test_what_is_crafted_starts_nothing_and_gets_one_clear_line(
    lab: LabOnMoto, path: str, body: dict[str, object], code: int
) -> None:
    got, said = ask(path, body, MALLORY)
    assert got == code
    assert len(said["problem"].splitlines()) == 1
    assert not started(lab)


@pytest.mark.parametrize("body", ["", "{", "[]", "null", '"open"', "[" * 20_000, "x" * 20_000, "\ud800"])
def test_a_body_that_is_no_command_is_named_as_such(lab: LabOnMoto, body: str) -> None:
    code, said = ask("own/open", body)
    assert code == 400
    assert said["problem"].startswith("body: ")
    assert not started(lab)


def test_a_request_of_which_aws_does_not_say_who_made_it_does_nothing(lab: LabOnMoto) -> None:
    code, said = ask("own/open", OPEN, None)
    assert code == 403
    assert "AWS did not say who calls" in said["problem"]
    assert not started(lab)


def test_one_s_own_lease_is_closed_and_extended_and_nobody_else_s_name_is_on_it(lab: LabOnMoto) -> None:
    closing = {"verb": "close", "pool": "gpu", "lease": "cli-1", "token": "t-1"}
    extending = {"verb": "extend", "pool": "gpu", "lease": "cli-1", "for_seconds": 600, "token": "t-2"}
    assert ask("own/close", closing)[0] == ask("own/extend", extending)[0] == 202
    assert [(each["by"], each["owner"], each["lease"]) for each in started(lab)] == [
        ("alice", "alice", "cli-1")
    ] * 2


def test_who_runs_the_lab_may_end_what_is_another_s_and_is_named(lab: LabOnMoto) -> None:
    closing = {"verb": "close", "pool": "gpu", "lease": "cli-1", "token": "t-1"}
    opening = {**OPEN, "owner": "evening-class", "token": "t-2"}
    everything = {"verb": "close", "pool": "gpu", "token": "t-3"}

    for path, body in (("lab/close", closing), ("lab/open", opening), ("lab/close", everything)):
        assert ask(path, body, MALLORY)[0] == 202
    told = [
        (each["by"], each["owner"], each["because"] and str(read(each["because"]))) for each in started(lab)
    ]
    assert sorted(told, key=str) == sorted(
        [
            ("mallory", "alice", "mallory closed it"),
            ("mallory", "evening-class", None),
            ("mallory", "mallory", "mallory closed all of pool gpu"),
        ],
        key=str,
    )
    assert all(each["for_lab"] for each in started(lab))


def test_a_failure_of_the_outside_says_which_call(lab: LabOnMoto) -> None:
    boto3.client("stepfunctions").delete_state_machine(stateMachineArn=lab.close_lab)
    code, said = ask("own/open", OPEN)
    assert code == 502
    assert said["problem"].startswith("states:StartExecution on ")
