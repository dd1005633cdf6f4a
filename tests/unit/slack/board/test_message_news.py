"""What of a lease's message is news: what a clock alone moves is told every five minutes, a signed link once."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lamplighter.domain.money.money import Money
from lamplighter.domain.slack.message import MessageExtras
from lamplighter.domain.views.lease_view import LeaseStanding
from tests.unit.slack.board.test_message import LOOK, MINUTE, OPEN, shown


def later(by: timedelta, **more: Any) -> str:
    """The digest so long after half past eight, with so much more spent."""
    return shown(
        replace(OPEN, cost_so_far=Money.of(2, "USD"), **more), style=replace(LOOK, now=LOOK.now + by)
    ).digest


def test_what_the_clock_alone_moves_is_news_every_five_minutes() -> None:
    assert later(5 * MINUTE - timedelta(seconds=1)) == shown().digest
    assert later(5 * MINUTE) != shown().digest
    assert len(shown().digest) == 32


def test_the_cost_of_what_is_being_closed_moves_nothing() -> None:
    closing = replace(OPEN, standing=LeaseStanding.CLOSING)

    assert later(9 * MINUTE, standing=LeaseStanding.CLOSING) == shown(closing).digest


def test_a_link_that_is_signed_anew_is_no_news_and_the_first_one_is() -> None:
    one, other = (shown(beside=MessageExtras(page=f"https://example.com/{name}")).digest for name in "ab")

    assert one == other != shown().digest


@pytest.mark.parametrize(
    "more", [{"nodes": 3}, {"because": "the other exam"}, {"bar": 0.46}, {"replaced": ("i-1",)}]
)
def test_everything_else_is_news(more: dict[str, Any]) -> None:
    assert shown(replace(OPEN, **more)).digest != shown().digest
