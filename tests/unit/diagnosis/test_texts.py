"""Texts line by line: which XIDs are faults, the year of a line, and where a line begins and ends."""

from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.diagnosis.rules.symptoms import lost, symptom
from lamplighter.domain.gpu.xid_log import xids
from tests.diagnosis_cases import conditions
from tests.snapshots import at_work, told

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)

LOST = "GPU is lost"

# What the agent reports and an application alone can cause is no fault; 47 is one of those that no table describes.
APPLICATION, UNLISTED = {13, 31, 94}, {47, 166, 169}


def test_each_xid_of_a_condition_is_a_fault_unless_it_is_an_application_s_or_nobody_knows_it() -> None:
    fault = {"type": "AcceleratedHardwareReady", "status": "False", "reason": ""}
    document = at_work()
    conditions(document, 0).append(fault)

    def causes(number: int) -> list[str]:
        fault["reason"] = f"NvidiaXID{number}Error"
        return [cause for cause, _, _ in told(document)]

    # Those that eks-node-monitoring-agent calls fatal.
    for number in (
        46,
        48,
        54,
        62,
        63,
        64,
        74,
        79,
        95,
        109,
        110,
        119,
        120,
        136,
        140,
        142,
        143,
        151,
        155,
        156,
        158,
    ):
        assert causes(number) == ["xid"]
    assert [causes(number) for number in APPLICATION] == [[], [], []]
    assert [causes(number) for number in UNLISTED] == [["unknown"], ["unknown"], ["unknown"]]


@pytest.mark.parametrize(("line", "now", "counts"), [
    ("E1231 23:30:00.000001 1 x.go] ", datetime(2027, 1, 1, 0, 30, tzinfo=UTC), True),
    ("E1231 22:30:00.000001 1 x.go] ", datetime(2027, 1, 1, 0, 30, tzinfo=UTC), False),
    ("E0101 00:20:00.000001 1 x.go] ", datetime(2027, 1, 1, 0, 30, tzinfo=UTC), True),
    ("E0229 12:00:00.000001 1 x.go] ", datetime(2028, 1, 10, tzinfo=UTC), True),
    ("E0229 12:00:00.000001 1 x.go] ", datetime(2028, 3, 1, tzinfo=UTC), False),
    ("0001-01-01T00:00:00+09:00 ", NOON, True),
    ("9999-12-31T23:59:59-09:00 ", NOON, True),
])  # fmt: skip
def test_a_line_is_of_the_year_that_it_can_be_of(line: str, now: datetime, *, counts: bool) -> None:
    assert lost(f"{line}{LOST}", now, now - timedelta(hours=1)) == (f"{line}{LOST}" if counts else None)


@pytest.mark.parametrize("around", ["{}", "\n{}", "\n\n{}\n", "fine\n{}\nfine", "{}\nfine", "fine\n\t{}"])
def test_a_line_is_told_whole_and_alone_wherever_it_stands(around: str) -> None:
    assert lost(around.format(LOST), NOON, NOON) == LOST
    for said in (
        "nvml error: driver not loaded",
        "please update your driver",
        "no runtime for nvidia is configured",
    ):
        found = symptom([around.format(said)], NOON, NOON)
        assert found is not None
        assert found.line == said
    assert list(xids(around.format("Xid (PCI:0): 79"), NOON, NOON)) == [(79, "Xid (PCI:0): 79")]


def test_every_line_with_a_symptom_is_looked_at_and_each_line_once() -> None:
    old = "2026-11-20T11:00:00Z unresolvable CDI devices, unresolvable"
    new = "2026-11-20T12:00:00Z unresolvable CDI devices, unresolvable"
    found = symptom(["fine", f"{old}\nfine\n{old}\nfine\n{new}\n{new} again"], NOON, NOON)
    assert found is not None
    assert found.line == new
    first, second = "Xid (PCI:0): 79,", "Xid (PCI:0): 48"
    twice = f"{first} {second}"
    assert list(xids(f"{twice}\n{twice}", NOON, NOON)) == [(79, first), (48, second)] * 2
