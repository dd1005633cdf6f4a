"""When the end of a claim gets a limit of the lab: where its own comes later, or never."""

from datetime import timedelta

import pytest

from lamplighter.domain.capacity.evidence import Claim
from lamplighter.domain.capacity.node_pool.ending import limit
from tests.builders.leases import EIGHT, MINUTE

LONGEST = 10 * MINUTE


@pytest.mark.parametrize("grace", [None, 24 * 60 * MINUTE, 11 * MINUTE])
def test_a_grace_that_is_longer_or_endless_is_limited(grace: timedelta | None) -> None:
    assert limit(Claim("a", grace=grace), LONGEST, EIGHT) == EIGHT + LONGEST


@pytest.mark.parametrize("grace", [timedelta(), MINUTE, 10 * MINUTE])
def test_a_grace_that_is_no_longer_stays(grace: timedelta) -> None:
    assert limit(Claim("a", grace=grace), LONGEST, EIGHT) is None


def test_a_limit_that_stands_counts_and_not_the_grace() -> None:
    soon = Claim("a", grace=24 * 60 * MINUTE, ends_at=EIGHT + MINUTE)
    late = Claim("a", grace=MINUTE, ends_at=EIGHT + 11 * MINUTE)
    assert limit(soon, LONGEST, EIGHT) is None
    assert limit(late, LONGEST, EIGHT) == EIGHT + LONGEST
