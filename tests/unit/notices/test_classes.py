"""What people hear of a class whose namespace was not written: once, and only where there is something to say."""

from typing import Any

import pytest

from lamplighter.adapters.aws.notices import Notices
from lamplighter.application.notices.classes import announce_classes
from lamplighter.application.notices.services import NoticeServices
from lamplighter.domain.classes.objects import LAB_LABEL
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import reason
from tests.unit.classes.labs import lab as lab_of
from tests.unit.classes.labs import window
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.notices.test_notices import Mailbox

WHY = reason("notice.class.not-ours", namespace="gpu-101", label=f"{LAB_LABEL}=lab")
REFUSED = {"refused": [{"namespace": "gpu-101", "why": document(WHY)}]}


def told(
    lab: LabOnMoto, done: dict[str, Any], of_window: str | None = "evening", verb: str = "open"
) -> list[Any]:
    lab.at(1)
    lab.lab = lab_of(window("evening"), window("night", namespace="gpu-202"))
    admitted = {"Admit": {"lease": {"id": "cli-1", "window": of_window}}} if verb == "open" else {}
    run = {"command": lab.command(verb), "results": {**admitted, "KeepClasses": done}}
    mailbox = Mailbox()
    announce_classes(run, NoticeServices(lab.lab, lab.capacity.ledger, Notices(mailbox.topic)))
    return mailbox.letters()


def test_a_namespace_of_others_is_told_once_with_the_label_that_hands_it_over(lab: LabOnMoto) -> None:
    [letter] = told(lab, REFUSED)
    assert letter["Subject"] == "lab: namespace gpu-101 has no class"
    assert "kubectl label namespace gpu-101 lamplighter/lab=lab." in letter["Message"]
    assert letter["Message"].endswith("The GPUs open all the same.")
    assert letter["MessageAttributes"]["kind"]["Value"] == "class"
    assert told(lab, REFUSED) == []
    [entry] = lab.entries("announced")
    assert (entry.lease, entry.details) == ("cli-1", {"notice": "class"})


@pytest.mark.parametrize(
    ("done", "of_window"),
    [({"refused": []}, "evening"), ({}, "evening"), (REFUSED, "night"), (REFUSED, None)],
)
def test_nothing_is_said_where_all_is_well_or_another_lease_has_told_it(
    lab: LabOnMoto, done: dict[str, Any], of_window: str | None
) -> None:
    assert told(lab, done, of_window) == []


@pytest.mark.parametrize("verb", ["open", "close"])
def test_a_failure_of_kubernetes_is_told_in_its_words(lab: LabOnMoto, verb: str) -> None:
    failure = {"Error": "OutsideFailed", "Cause": '{"errorMessage": "namespace gpu-101: no answer"}'}
    [letter] = told(lab, failure, verb=verb)
    assert letter["Subject"] == "lab: The namespaces of classes are not as their leases ask"
    assert "namespace gpu-101: no answer" in letter["Message"]
    assert "The opening or close goes on" in letter["Message"]
