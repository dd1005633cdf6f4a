"""What a run's steps found, as entries of the audit trail, each with its words."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.audit.trail import of_closing, of_opening
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.money import Money
from lamplighter.reasons.reason import reason

NOW = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
LEASE = Lease(
    id="evening-2026-11-20",
    pool="gpu",
    nodes=2,
    owner="class",
    source="window",
    state=LeaseState.OPENING,
    opens=NOW,
    closes=NOW + timedelta(hours=2),
    hold=Money.zero("USD"),
)
CHART = "the lab has no GPU operator, or it is not installed yet"


def opening(**steps: Mapping[str, object]) -> list[Entry]:
    return of_opening(LEASE, steps, NOW)


def told(**steps: Mapping[str, object]) -> list[tuple[str, str, str]]:
    return [(entry.kind, str(entry.what), str(entry.why)) for entry in opening(**steps)]


def test_an_entry_names_its_lease_its_pool_and_its_nodes() -> None:
    what, why = reason("audit.settings.absent"), reason("audit.settings.absent.why")

    assert opening(ApplyGpuSettings={"state": "absent"}) == [
        Entry(NOW, "gpu", "settings-applied", "cluster", what, why, "evening-2026-11-20", 2)
    ]
    assert opening() == []


@pytest.mark.parametrize(
    ("applied", "said"),
    [
        (
            {"state": "as-lab"},
            (
                "the GPU settings are as the lab wants them",
                "the step compared the ClusterPolicy with the lab",
            ),
        ),
        ({"state": "absent", "reason": None}, ("there is no ClusterPolicy", CHART)),
        ({"state": "absent", "reason": "no API"}, ("there is no ClusterPolicy", "no API")),
        ({"state": "late", "reason": "it waits"}, ("the GPU settings are not as asked", "it waits")),
        ({"reason": "it waits"}, ("the GPU settings are not as asked", "it waits")),
        ({"state": "late"}, None),
        ({"state": "late", "reason": ""}, None),
    ],
)
def test_settings_are_told_by_their_state_and_the_reason_that_was_given(
    applied: dict[str, object], said: tuple[str, str] | None
) -> None:
    assert told(ApplyGpuSettings=applied) == ([("settings-applied", *said)] if said else [])


def ready(name: str, gpus: int | None) -> dict[str, object]:
    return {"name": name, "ready": True, "gpus": gpus}


@pytest.mark.parametrize(("gpus", "units"), [(None, "0 GPUs"), (0, "0 GPUs"), (1, "1 GPU"), (8, "8 GPUs")])
def test_a_node_that_is_ready_says_how_many_gpus_it_has(gpus: int | None, units: str) -> None:
    assert told(AwaitGpus={"nodes": [ready("a", gpus)]})[0] == (
        "node-ready",
        "node a is ready",
        f"{units} can be allocated on it, and validation passed",
    )


def test_the_gpus_are_ready_once_every_node_is() -> None:
    both = [ready("a", 1), ready("b", 1)]
    one = [ready("a", 1), {"name": "b", "ready": False}, "no node"]

    assert [what for _, what, _ in told(AwaitGpus={"nodes": both})] == [
        "node a is ready",
        "node b is ready",
        "the GPUs of 2 nodes are ready",
    ]
    assert [what for _, what, _ in told(AwaitGpus={"nodes": one})] == ["node a is ready"]
    assert told(AwaitGpus={"nodes": []}) == told(AwaitGpus={"nodes": None}) == []


def test_verdicts_come_before_what_the_diagnosis_found() -> None:
    verdict = {"check": "dcgm", "node": "a", "verdict": "failed", "reason": "a GPU is lost"}

    found = told(
        Validate={"verdicts": [verdict]}, Diagnose={"findings": [{"cause": "gpu-lost", "summary": "lost"}]}
    )

    assert found[0] == ("verdict", "dcgm failed on a", "a GPU is lost")
    assert [kind for kind, _, _ in found] == ["verdict", "finding"]


@pytest.mark.parametrize(
    ("drain", "why"),
    [
        ({}, "0 pods evicted"),
        ({"evicted": 0, "forced": []}, "0 pods evicted"),
        ({"evicted": 1, "forced": None}, "1 pod evicted"),
        ({"evicted": 3, "forced": ["lab/a", "lab/b"]}, "3 pods evicted; deleted by force: lab/a, lab/b"),
        (
            {"evicted": 3, "forced": ["lab/a"], "forced_more": 2},
            "3 pods evicted; deleted by force: lab/a and 2 more",
        ),
        ({"evicted": 3, "forced": "odd"}, "3 pods evicted"),
    ],
)
def test_a_drain_says_which_nodes_and_what_had_to_go(drain: dict[str, object], why: str) -> None:
    nodes = [{"name": "a"}, {"name": "b"}]

    [entry] = of_closing("gpu", "cli-1", {**drain, "nodes": nodes}, NOW)

    assert (str(entry.what), str(entry.why)) == ("drained a and b", why)
    assert (entry.pool, entry.kind, entry.lease, entry.nodes) == ("gpu", "drained", "cli-1", 2)


@pytest.mark.parametrize("nodes", [None, [], 2])
def test_where_no_node_was_drained_nothing_is_told(nodes: object) -> None:
    assert of_closing("gpu", None, {"nodes": nodes}, NOW) == []
