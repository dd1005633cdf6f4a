"""Which classes of windows a lab file may have."""

import json
from typing import Any

import pytest

from lamplighter.lab.model import Lab
from lamplighter.labfile.file import parse
from tests.unit.classes.labs import CLASS, window
from tests.unit.lab.test_rules import refusals


def written(*windows: dict[str, Any], **more: Any) -> list[str]:
    made = [{**one, "days": "daily"} for one in windows]
    return refusals(
        "".join(f"{key}: {json.dumps(value)}\n" for key, value in {**more, "windows": made}.items())
    )


def of(**change: Any) -> list[str]:
    return written(window("evening", terms={**change}))


def test_a_class_as_the_documentation_shows_it() -> None:
    text = """\
name: lab
windows:
- name: gpu-101
  days: [tue, thu]
  start: "20:00"
  end: "23:00"
  seats: 2
  class: {namespace: gpu-101, people: [{group: gpu-101-students}], quota_per_seat: {cpu: 3, memory: 12Gi}, keep: 7d}
"""
    found = parse(text, "f")
    assert isinstance(found, Lab)
    assert Lab.from_json(found.to_json()) == found
    assert '"keep":"7d"' in found.to_json()
    assert '"cpu":"3"' in found.to_json()
    assert '"class":null' not in found.to_json()


@pytest.mark.parametrize(
    ("namespace", "whose"),
    [
        ("default", "Kubernetes' own"),
        ("kube-system", "Kubernetes' own"),
        ("kube-anything", "Kubernetes' own"),
        ("gpu-operator", "the GPU software of this lab runs"),
        ("karpenter", "Karpenter runs"),
        ("lamplighter", "Lamplighter's own"),
    ],
)
def test_a_namespace_of_somebody_else_is_refused(namespace: str, whose: str) -> None:
    [problem] = of(namespace=namespace)
    assert problem.startswith("windows.0.class.namespace: ")
    assert whose in problem


@pytest.mark.parametrize("namespace", ["Gpu", "a.b", "-a", "a" * 64, "", "a_b"])
def test_a_namespace_is_a_dns_label(namespace: str) -> None:
    [problem] = of(namespace=namespace)
    assert "write a Kubernetes name" in problem


@pytest.mark.parametrize(
    ("people", "wrong"),
    [
        ([], "people"),
        ([{}], "exactly one of group and user"),
        ([{"group": "a", "user": "b"}], "exactly one of group and user"),
        ([{"group": "system:masters"}], "keeps system: for its own"),
        ([{"user": "system:anonymous"}], "keeps system: for its own"),
        ([{"user": " alice"}], "without blanks"),
        ([{"user": "a\u0007b"}], "without blanks"),
        ([{"user": "arn:aws:iam::123456789012:role/student"}], "write group: with its name"),
        ([{"user": "arn:aws:sts::123456789012:assumed-role/student/x"}], "write group: with its name"),
        ([{"group": "arn:aws:iam::123456789012:user/alice"}], "write group: with its name"),
        ([{"group": ""}], "group"),
    ],
)
def test_people_are_names_that_the_cluster_knows(people: list[dict[str, str]], wrong: str) -> None:
    [problem] = of(people=people)
    assert wrong in problem


def test_an_iam_user_is_known_by_its_arn() -> None:
    assert of(people=[{"user": "arn:aws:iam::123456789012:user/alice"}, {"user": "학생@example.com"}]) == []


@pytest.mark.parametrize(
    ("quota", "wrong"),
    [
        ({"memory": "1Gi"}, "has no cpu"),
        ({"cpu": "1"}, "has no memory"),
        ({"cpu": "0", "memory": "1Gi"}, "no pod starts"),
        ({"cpu": "0.0", "memory": "1Gi"}, "no pod starts"),
        ({"cpu": "1", "memory": "12 GB"}, "write a quantity of Kubernetes"),
        ({"cpu": "-1", "memory": "1Gi"}, "write a quantity of Kubernetes"),
        ({"cpu": True, "memory": "1Gi"}, "write a quantity of Kubernetes"),
        ({"cpu": "1", "memory": "1Gi", "pods": "1.5"}, "write a whole number"),
        ({"cpu": "1", "memory": "1Gi", "requests.nvidia.com/gpu": "1"}, "seats of the window"),
        ({"cpu": "1", "memory": "1Gi", "request.storage": "1Gi"}, "nearest is requests.storage"),
    ],
)
def test_a_quota_has_keys_and_quantities_of_kubernetes(quota: dict[str, Any], wrong: str) -> None:
    [problem] = of(quota_per_seat=quota)
    assert wrong in problem


def test_other_keys_of_a_quota_are_taken_as_they_are() -> None:
    more = {"pods": 4, "requests.storage": "20Gi", "count/jobs.batch": "2", "services.loadbalancers": "0"}
    assert of(quota_per_seat={**CLASS["quota_per_seat"], **more}) == []


@pytest.mark.parametrize("keep", ["7", "0d", "31d", "7h", "168h"])
def test_keep_is_days(keep: object) -> None:
    [problem] = of(keep=keep)
    assert "write days such as 7d" in problem


def test_a_class_needs_seats() -> None:
    without = {key: value for key, value in window("evening").items() if key != "seats"}
    assert written(without) == ["windows.0.class: is for seats; write seats beside it, such as seats: 24"]


@pytest.mark.parametrize("key", ["people", "quota_per_seat", "keep"])
def test_windows_of_one_namespace_agree(key: str) -> None:
    other = {"people": [{"user": "alice"}], "quota_per_seat": {"cpu": "9", "memory": "9Gi"}, "keep": "1d"}
    [problem] = written(window("evening"), window("night", terms={key: other[key]}))
    assert problem.startswith(f"windows.1.class.{key}: differs from that of window evening")
    assert written(window("evening"), window("night", 1)) == []
