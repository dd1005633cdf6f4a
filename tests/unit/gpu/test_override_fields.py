"""Overrides of a Kubernetes object: the fields, their owners, and the values that restore them."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from pydantic import JsonValue

from lamplighter.domain.gpu.overrides import (
    Before,
    FieldBefore,
    FieldOwner,
    Object,
    Override,
    leaves,
    merged,
    owned,
    owners,
    present_fields,
    restored,
)

ENABLED = ("spec", "dcgm", "enabled")
DCGM: JsonValue = {"f:spec": {"f:dcgm": {".": {}, "f:enabled": {}}}}
US = "lamplighter"
NIGHT = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)


def entry(manager: str, operation: str = "Apply", fields: JsonValue = DCGM, **more: JsonValue) -> JsonValue:
    return {"manager": manager, "operation": operation, "fieldsV1": fields, **more}


def live(*entries: JsonValue) -> Object:
    return {
        "metadata": {"name": "cluster-policy", "managedFields": [*entries]},
        "spec": {"dcgm": {"enabled": False, "version": "4"}, "driver": {}, "tolerations": [{"key": "gpu"}]},
    }


@pytest.mark.parametrize(("managers", "owner"), [
    ([], None),
    ([US], None),
    ([US, "kubectl"], "kubectl"),
    (["kubectl", "argocd"], "kubectl"),
    (["kubectl", "helm"], "helm"),
    (["helm", "kubectl"], "helm"),
    ([US, "kubectl", "argocd", "helm"], "helm"),
])  # fmt: skip
def test_a_field_is_helm_s_before_any_other_owner_s_and_never_our_own(
    managers: list[str], owner: str | None
) -> None:
    found = present_fields(live(*map(entry, managers)), {"spec": {"dcgm": {"enabled": True}}}, US)

    assert found == Before(
        (
            FieldBefore(
                ENABLED, there=True, value=False, owner=None if owner is None else FieldOwner(owner, "Apply")
            ),
        )
    )


def test_what_stands_in_each_field_is_told_from_a_field_that_is_not_there() -> None:
    fields: Object = {
        "spec": {
            "dcgm": {"version": "5", "args": []},
            "driver": {},
            "dcgmExporter": {"enabled": True},
            "tolerations": [{"key": "other"}],
        }
    }

    found = present_fields(live(), fields, US)

    assert [(field.called, field.there, field.value) for field in found.fields] == [
        ("dcgm.version", True, "4"),
        ("dcgm.args", False, None),
        ("driver", True, {}),
        ("dcgmExporter.enabled", False, None),
        ("tolerations", True, [{"key": "gpu"}]),
    ]
    assert found.values() == {
        "dcgm.version": "4",
        "dcgm.args": None,
        "driver": {},
        "dcgmExporter.enabled": None,
        "tolerations": [{"key": "gpu"}],
    }


@pytest.mark.parametrize(("path", "called"), [
    (("spec", "a", "b"), "a.b"), (("metadata", "labels"), "metadata.labels"), (("a", "spec"), "a.spec"),
])  # fmt: skip
def test_a_field_is_called_by_its_path_without_the_spec_around_it(path: tuple[str, ...], called: str) -> None:
    assert FieldBefore(path, there=False).called == called


def test_the_fields_of_a_part_are_its_ends_with_lists_and_empty_mappings_whole() -> None:
    part: Object = {"spec": {"a": {"b": 1, "c": None}, "d": {}, "e": [{"f": 1}]}, "g": "h"}

    assert list(leaves(part)) == [
        ("spec", "a", "b"),
        ("spec", "a", "c"),
        ("spec", "d"),
        ("spec", "e"),
        ("g",),
    ]


def test_owners_are_those_whose_entry_names_the_whole_path() -> None:
    thing = live(
        entry("above", fields={"f:spec": {"f:dcgm": {}}}),
        entry("helm"),
        entry("beside", fields={"f:spec": {"f:driver": {"f:enabled": {}}}}),
        entry("operator", "Update", subresource="status"),
        entry("kubectl", "Update"),
        "no entry",
    )

    assert owners(thing, ENABLED) == [FieldOwner("helm", "Apply"), FieldOwner("kubectl", "Update")]
    assert owners(thing, ("spec", "dcgm")) == [
        FieldOwner("above", "Apply"),
        FieldOwner("helm", "Apply"),
        FieldOwner("kubectl", "Update"),
    ]


@pytest.mark.parametrize(
    "thing", [{}, {"metadata": "odd"}, {"metadata": {}}, {"metadata": {"managedFields": {"manager": "helm"}}}]
)
def test_an_object_that_names_no_managers_has_no_owner(thing: Object) -> None:
    assert owners(thing, ENABLED) == []
    assert owned(thing, FieldOwner("helm", "Apply")) == {}


def test_what_a_manager_owns_is_taken_as_it_would_apply_it_again() -> None:
    fields: JsonValue = {
        "f:spec": {
            ".": {},
            "f:dcgm": {"f:enabled": {}, "f:gone": {}},
            "f:tolerations": {'k:{"key":"gpu"}': {"f:key": {}}},
            "odd": {},
            "driver": {},
        },
        "f:status": {},
    }
    thing = live(
        entry("helm", fields=fields),
        entry("helm", "Update", {"f:spec": {"f:driver": {}}}),
        entry("kubectl", fields={"f:spec": {"f:driver": {}}}),
        entry("helm", fields={"f:metadata": {"f:name": {}}}),
    )

    assert owned(thing, FieldOwner("helm", "Apply")) == {
        "spec": {"dcgm": {"enabled": False}, "tolerations": [{"key": "gpu"}]},
        "metadata": {"name": "cluster-policy"},
    }
    assert owned(thing, FieldOwner("helm", "Update")) == {"spec": {"driver": {}}}


def test_a_manager_s_fields_below_a_plain_value_are_not_there_and_nor_are_those_of_an_entry_without_any() -> (
    None
):
    thing: Object = {
        "metadata": {
            "managedFields": [
                entry("helm", fields={"f:spec": {"f:replicas": {"f:least": {}}}}),
                entry("helm", fields=None),
            ]
        },
        "spec": {"replicas": 3},
    }

    assert owned(thing, FieldOwner("helm", "Apply")) == {"spec": {"replicas": {}}}
    assert owners(thing, ("spec", "replicas")) == [FieldOwner("helm", "Apply")]
    found = present_fields(thing, {"spec": {"replicas": {"least": 1}}}, US)
    assert [(field.there, field.value) for field in found.fields] == [(False, None)]


@pytest.mark.parametrize(("under", "top", "result"), [
    ({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
    ({"a": {"b": 1}}, {"a": {}}, {"a": {}}),
    ({"a": {"b": 1}}, {"a": 2}, {"a": 2}),
    ({"a": 1}, {"a": {"b": 2}}, {"a": {"b": 2}}),
    ({"a": [1]}, {"a": [2]}, {"a": [2]}),
    ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
    ({"a": 1}, None, {"a": 1}),
    (None, {"a": 1}, {"a": 1}),
])  # fmt: skip
def test_one_part_over_another_keeps_what_it_does_not_name(
    under: JsonValue, top: JsonValue, result: JsonValue
) -> None:
    assert merged(under, top) == result


def test_fields_that_are_put_back_make_one_part_again() -> None:
    fields = [
        FieldBefore(ENABLED, there=True, value=False),
        FieldBefore(("spec", "dcgm", "version"), there=True, value="4"),
        FieldBefore(("metadata", "labels"), there=True, value={"a": "b"}),
    ]

    assert restored(fields) == {
        "spec": {"dcgm": {"enabled": False, "version": "4"}},
        "metadata": {"labels": {"a": "b"}},
    }
    assert restored([]) == {}


def loan() -> Override:
    before = Before(
        (
            FieldBefore(ENABLED, there=True, value=False, owner=FieldOwner("helm", "Apply")),
            FieldBefore(("spec", "mig"), there=False),
        )
    )
    return Override(
        what="cluster-policy",
        path="/apis/nvidia.com/v1/clusterpolicies/cluster-policy",
        fields={"spec": {"dcgm": {"enabled": True}}},
        before=before,
        holders={"evening": "gpu"},
        since=NIGHT,
    )


def test_a_loan_reads_as_the_ledger_keeps_it() -> None:
    found = Override.from_item("cluster-policy", loan().to_item())
    assert found == loan()
    assert found.called() == "dcgm.enabled, mig"


def test_a_loan_is_written_alike_in_whatever_order_it_came() -> None:
    item = (
        replace(loan(), fields={"spec": {"mig": {}, "dcgm": {"version": "4", "enabled": True}}})
        .held_by("afternoon", "big")
        .to_item()
    )

    assert item["fields"] == '{"spec": {"dcgm": {"enabled": true, "version": "4"}, "mig": {}}}'
    assert item["holders"] == '{"afternoon": "big", "evening": "gpu"}'
    assert item["before"] == (
        '[{"owner": ["helm", "Apply"], "path": ["spec", "dcgm", "enabled"], "there": true, "value": false}, '
        '{"owner": null, "path": ["spec", "mig"], "there": false, "value": null}]'
    )


def test_a_loan_that_was_given_back_says_when() -> None:
    ended = str(int(NIGHT.timestamp() * 1000))
    assert Override.from_item("cluster-policy", {**loan().to_item(), "ended": ended}).ended == NIGHT
    assert Override.from_item("cluster-policy", {**loan().to_item(), "ended": ""}).ended is None


def test_a_lease_more_holds_the_same_loan() -> None:
    both = loan().held_by("night", "big")
    assert both.holders == {"evening": "gpu", "night": "big"}
    assert (both.before, both.since) == (loan().before, NIGHT)
