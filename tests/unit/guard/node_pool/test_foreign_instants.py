"""Instants that others write into Kubernetes: one that nobody can reckon with stops no sweep."""

from typing import Any

import pytest

from lamplighter.adapters.capacity.node_pool.claims import ENDS_AT
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.pool.drain import LEAVING
from tests.unit.node_pool_on_moto import CORE, NODES, NodePoolOnMoto

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
