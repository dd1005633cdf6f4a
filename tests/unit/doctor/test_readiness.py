"""What people are told of a check before a window, and how it is shown."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lamplighter.domain.doctor.readiness import Grade, Readiness, ReadinessFinding, is_news
from lamplighter.reasons.fields import from_document, to_document
from lamplighter.reasons.reason import reason
from tests.builders.leases import EIGHT, HOUR

FEW = ReadinessFinding(
    "addresses",
    Grade.IN_DOUBT,
    reason("doctor.readiness.addresses", group="gpus", free=3, nodes=2),
    reason("doctor.readiness.addresses.advice"),
)
FEWER = replace(FEW, said=reason("doctor.readiness.addresses", group="gpus", free=2, nodes=2))
NONE = replace(FEW, grade=Grade.NOT_READY)
HEALTH = ReadinessFinding(
    "health", Grade.IN_DOUBT, reason("doctor.readiness.health", group="gpus", issue="x")
)
PAUSED = ReadinessFinding("pause", Grade.NOT_READY, reason("calendar.was-paused"))


def of(*findings: ReadinessFinding) -> Readiness:
    return Readiness("evening-1", "gpu", "evening", "2026-11-20", EIGHT, EIGHT - 2 * HOUR, findings)


@pytest.mark.parametrize(("before", "now", "is_told"), [
    (None, of(), False),
    (None, of(FEW), True),
    (of(FEW), of(FEW), False),
    # Other figures are no news.
    (of(FEW), of(FEWER), False),
    (of(FEW), of(NONE), True),
    (of(NONE), of(FEW), True),
    (of(FEW), of(FEW, HEALTH), True),
    (of(FEW, HEALTH), of(HEALTH, FEW), False),
    (of(FEW), of(), True),
    (of(), of(), False),
    # Whoever paused the lab has told it.
    (None, of(PAUSED), False),
    (of(FEW), of(PAUSED, FEW), False),
])  # fmt: skip
def test_people_are_told_only_when_it_got_worse_or_better(
    before: Readiness | None, now: Readiness, is_told: bool
) -> None:
    assert is_news(now, before.told() if before else None) is is_told


def test_the_worst_finding_is_the_grade() -> None:
    assert [of(*found).grade for found in ((), (FEW,), (FEW, NONE), (PAUSED,))] == [
        Grade.READY,
        Grade.IN_DOUBT,
        Grade.NOT_READY,
        Grade.NOT_READY,
    ]


def test_it_says_what_to_do_and_when_it_was_checked() -> None:
    assert str(of(FEW, PAUSED).text) == (
        "Too few free addresses in the subnets of node group gpus for the nodes of the lease and their pods: 3 for 2."
        " What to do: free addresses in these subnets, or give the node group larger subnets."
    )
    assert str(of(FEW).subject) == "window evening on 2026-11-20 may not open as planned"
    assert str(of().said) == "ready, checked 18:00 UTC on 2026-11-20"
    assert str(of(HEALTH).said) == (
        "in doubt, checked 18:00 UTC on 2026-11-20: EKS reports a fault of node group gpus: x"
    )


def test_it_is_kept_whole() -> None:
    whole = replace(of(FEW, HEALTH, PAUSED), unread=("quota",))
    assert from_document(Readiness, to_document(whole)) == whole
    assert whole.opens - whole.at == timedelta(hours=2)
