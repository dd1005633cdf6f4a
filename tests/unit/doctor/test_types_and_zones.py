"""The doctor's checks of a pool with several instance types and zones."""

from dataclasses import replace

import pytest

from lamplighter.domain.doctor.facts import Facts
from lamplighter.domain.doctor.line import LineOutcome
from tests.unit.doctor.cases import BEFORE, lab, said

A, B, C = (f"ap-northeast-2{letter}" for letter in "abc")
SEVERAL = lab(pools={"gpu": {"instance_types": ["g6.2xlarge", "g5.xlarge"], "zones": [0, 2]}})


def offered(**zones: set[str]) -> Facts:
    names = {"g6": "g6.2xlarge", "g5": "g5.xlarge"}
    return replace(BEFORE, offered={names[key]: frozenset(where) for key, where in zones.items()})


@pytest.mark.parametrize(("vcpus", "outcome"), [(15.0, LineOutcome.NOT_OK), (16.0, LineOutcome.OK)])
def test_the_quota_has_room_for_all_nodes_of_the_largest_type(vcpus: float, outcome: LineOutcome) -> None:
    facts = replace(offered(g6={A}, g5={A}), quotas={"g_and_vt_vcpus": vcpus, "p_vcpus": 0.0})

    line = said(facts, SEVERAL)["quota-g-vt"]

    assert line.outcome is outcome
    assert "2 nodes g6.2xlarge of pool gpu need 16 vCPUs" in line.said


def test_each_type_is_offered_in_one_of_the_zones() -> None:
    assert said(offered(g6={A}, g5={C}), SEVERAL)["offering"].outcome is LineOutcome.OK

    missing = said(offered(g6={A}, g5={B}), SEVERAL)["offering"]

    assert missing.outcome is LineOutcome.NOT_OK
    assert f"g5.xlarge of pool gpu is not offered in {A} and {C}" in missing.said


def test_types_of_two_families_count_against_two_quotas() -> None:
    two = lab(pools={"gpu": {"instance_types": ["p5.4xlarge", "g5.xlarge"], "price_per_hour": "5"}})
    facts = replace(BEFORE, quotas={"g_and_vt_vcpus": 8.0, "p_vcpus": 31.0})

    lines = said(facts, two)

    assert lines["quota-g-vt"].outcome is LineOutcome.OK
    assert "2 nodes p5.4xlarge of pool gpu need 32 vCPUs" in lines["quota-p"].said
    assert lines["quota-p"].outcome is LineOutcome.NOT_OK
