"""Instants that others write into Kubernetes: a bar that is no RFC 3339 is shut, and none stops a sweep."""

from datetime import timedelta
from typing import Any

import pytest

from lamplighter.adapters.capacity.node_pool.claims import ENDS_AT
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.capacity.evidence import Bar, Part
from lamplighter.domain.pool.drain import LEAVING
from tests.builders.leases import EIGHT
from tests.unit.node_pool_on_moto import BAR, CORE, NODES, NodePoolOnMoto

CEL_READS = ("2099-01-01T1:00:00Z", "2099-01-01T00:00:00+24:00", "2099-01-01T00:00:00,5Z")
RFC_3339 = ("2099-01-01T09:00:00+09:00", "2099-01-01T00:00:00.5Z")
OTHER = ("soon", "", "9999-12-31T23:59:59-01:00", "9999-12-31T23:59:59Z", *CEL_READS)


def bar(pool: NodePoolOnMoto) -> Any:
    return pool.api.objects[BAR].get("data", {}).get("notAfter")


def stands(pool: NodePoolOnMoto, text: str) -> None:
    pool.api.objects[BAR]["data"] = {"notAfter": text}


@pytest.mark.parametrize("text", [*OTHER, *RFC_3339])
def test_a_wrong_bar_is_shut_by_the_next_sweep(pool: NodePoolOnMoto, text: str) -> None:
    stands(pool, text)
    standing = pool.capacity.see("gpu", {Part.BAR}).bar
    assert standing is not None
    assert standing.unreadable is (text not in RFC_3339)

    sweep_all(pool.guard_services)

    assert bar(pool) == "2026-11-20T20:00:00Z"
    assert pool.capacity.see("gpu", {Part.BAR}).bar == Bar(EIGHT)


@pytest.mark.parametrize("text", [*OTHER, *RFC_3339])
def test_an_opening_writes_its_end_over_it(pool: NodePoolOnMoto, text: str) -> None:
    stands(pool, text)
    pool.capacity.of("gpu").bar("gpu", EIGHT + timedelta(hours=2))
    assert bar(pool) == "2026-11-20T22:00:00Z"


def test_a_bar_without_an_instant_is_shut_without_a_write(pool: NodePoolOnMoto) -> None:
    pool.capacity.of("gpu").bar("gpu", EIGHT)
    assert bar(pool) is None


PAST_THE_CALENDAR, ITS_LAST_YEAR = "9999-12-31T23:59:59-01:00", "9999-12-31T23:59:59Z"
NO_YEAR = "10000-01-01T00:59:59Z"
"""How the API server writes the first in an object of its own kinds, such as a Node."""


@pytest.mark.parametrize("text", [PAST_THE_CALENDAR, ITS_LAST_YEAR, NO_YEAR])
def test_no_instant_of_a_claim_its_node_or_an_event_stops_a_sweep(pool: NodePoolOnMoto, text: str) -> None:
    pool.node()
    pool.size(1)
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": text}
    pool.claim()["metadata"]["annotations"] = {ENDS_AT: text}
    pool.claim()["spec"]["expireAfter"] = "99999999h"
    pool.claim()["status"]["conditions"] = [condition | {"type": "Launched"}]
    node = pool.api.objects[f"{NODES}/node-a"]
    node["status"] = {"conditions": [condition]}
    node["metadata"]["annotations"] = {LEAVING: text}
    pool.api.objects[f"{CORE}/namespaces/default/events"] = {
        "items": [
            {
                "metadata": {"creationTimestamp": "2026-11-20T20:00:00Z"},
                "involvedObject": {"name": "lab-gpu-a"},
                "lastTimestamp": text,
            }
        ]
    }

    [claim] = pool.capacity.see("gpu").claims
    assert (claim.ends_at, claim.expires, claim.stages) == (None, None, {})
    outcome: Any = sweep_all(pool.guard_services)

    assert [found["rule"] for found in outcome["breaches"]] == ["node-without-lease"]
