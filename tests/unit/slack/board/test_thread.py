"""The posts beside a lease's message: in its thread, or in the channel with a mention, once for each topic."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.pool.pool import PoolState, SeenGpus
from lamplighter.domain.slack.kept import WaitingPlace
from lamplighter.domain.slack.message import MessageExtras
from lamplighter.domain.slack.post import MOST_MENTIONED, mentioned
from lamplighter.domain.slack.thread import ThreadFacts, posts
from lamplighter.domain.slack.waiting import WaitingRound, look_after, offer_message
from lamplighter.domain.views.lease_view import LeaseStanding, LeaseView
from lamplighter.domain.views.stages import Stage, StageState, StageView
from lamplighter.lab.channels import Role, Slack
from tests.builders.guard_facts import lease as leased
from tests.unit.slack.board.test_message import EIGHT, LOOK, MINUTE, OPEN
from tests.unit.slack.board.test_waiting import wish

SECOND = timedelta(seconds=1)
USED = PoolState("gpu", seen_gpus=SeenGpus(1, 4, LOOK.now - 15 * MINUTE))


def entry(kind: str = "announced", notice: str = "extended", minutes: float = 5, **more: Any) -> Entry:
    made = Entry(
        EIGHT + minutes * MINUTE, "gpu", kind, "leases", "It ends later", "at 22:00 UTC on 2026-11-20",
        lease="evening-1", details={"notice": notice},
    )  # fmt: skip
    return replace(made, **more)


def told(*trail: Entry, view: LeaseView = OPEN, pool: PoolState | None = USED) -> list[tuple[str, str, str]]:
    """Of each post what is said in the thread, and aloud with its key."""
    found = posts(view, ThreadFacts(trail, pool, ["U0JIN", "S0TEACH"]), MessageExtras(), LOOK)
    return [(post.message.text, post.aloud.text if post.aloud else "", post.aloud_key) for post in found]


SAID = "*It ends later*\nAt 07:00 on 2026-11-21 (Asia/Seoul)."
ALOUD = f"<@U0JIN> <!subteam^S0TEACH> {SAID}"


def test_what_happened_is_told_by_the_labs_clock_and_once() -> None:
    assert told(entry(), entry()) == [(SAID, "", "")]
    assert len(told(entry(), entry(minutes=6))) == 2


@pytest.mark.parametrize("notice", ["open", "planned", "already-open"])
def test_what_the_message_shows_is_not_told_again(notice: str) -> None:
    assert told(entry(notice=notice)) == []


@pytest.mark.parametrize(
    "more",
    [{"kind": "scaled"}, {"kind": "lease-granted"}, {"lease": "other"}, {"lease": None, "details": {}}],
)
def test_what_explains_or_is_about_another_lease_is_not_told(more: dict[str, Any]) -> None:
    assert told(entry(**more)) == []


@pytest.mark.parametrize(
    ("minutes", "closed", "is_told"),
    [
        (-0.1, None, False),
        (0, None, True),
        (119, None, True),
        (120, None, False),
        (20, 20, False),
        (19, 20, True),
    ],
)
def test_what_everybody_on_the_pool_is_told_is_told_while_a_lease_runs(
    minutes: float, closed: int | None, is_told: bool
) -> None:
    view = replace(OPEN, closed=None if closed is None else EIGHT + closed * MINUTE)
    assert bool(told(entry(lease=None, minutes=minutes), view=view)) is is_told


@pytest.mark.parametrize(
    ("pool", "aloud"),
    [
        (USED, True),
        (PoolState("gpu", seen_gpus=SeenGpus(1, 4, LOOK.now - 15 * MINUTE - SECOND)), False),
        (PoolState("gpu", seen_gpus=SeenGpus(0, 4, LOOK.now)), False),
        (PoolState("gpu"), False),
        (None, False),
    ],
)
def test_an_end_is_told_aloud_while_gpus_were_in_use_lately(pool: PoolState | None, aloud: bool) -> None:
    said = (SAID, ALOUD, "end-2026-11-20T13:00:00Z") if aloud else (SAID, "", "")
    assert told(entry("warned", "warned"), pool=pool) == [said]


@pytest.mark.parametrize(("standing", "row"), [(LeaseStanding.OPEN, 1), (LeaseStanding.CLOSING, 0)])
def test_a_warning_has_the_extend_button_while_that_is_possible(standing: LeaseStanding, row: int) -> None:
    [post] = posts(
        replace(OPEN, standing=standing), ThreadFacts([entry("warned", "warned")]), MessageExtras(), LOOK
    )
    rows: list[Any] = [block["elements"] for block in post.message.blocks if block["type"] == "actions"]
    assert [[button["action_id"] for button in each] for each in rows] == [["extend"]] * row


def test_what_was_refused_or_leaked_is_pinged_for_how_things_stand_and_not_for_its_notice() -> None:
    assert told(entry(notice="refused"), entry(notice="leaked", minutes=6)) == [
        (SAID, "", ""),
        (SAID, "", ""),
    ]


LATE = replace(
    OPEN,
    standing=LeaseStanding.OPENING,
    gpus_expected=LOOK.now,
    stages=(
        StageView(Stage.ARMED, StageState.DONE),
        StageView(Stage.NODES, StageState.LATE, said="nothing has come for 9 minutes"),
        StageView(Stage.GPUS, StageState.LATE, said="none is there"),
    ),
)


def test_an_opening_that_is_late_is_told_with_its_first_late_stage() -> None:
    said = "minji's lease is *late*, at stage nodes: nothing has come for 9 minutes."
    late = [(said, f"<@U0JIN> <!subteam^S0TEACH> {said}", "ping-late")]
    assert told(view=LATE) == late
    assert told(view=replace(LATE, gpus_expected=None)) == late


@pytest.mark.parametrize(
    "more",
    [
        {"gpus_expected": LOOK.now + SECOND},
        {"standing": LeaseStanding.OPEN},
        {"stages": (StageView(Stage.NODES, StageState.GOING),)},
    ],
)
def test_an_opening_that_may_still_be_in_time_is_not_late(more: dict[str, Any]) -> None:
    assert told(view=replace(LATE, **more)) == []


def test_a_lease_that_is_refused_at_its_opening_is_told_aloud() -> None:
    refused = replace(
        OPEN, standing=LeaseStanding.REFUSED, window="evening", refused_because="the pool is full"
    )
    said = "the evening lease does *not open* at 20:00 (Asia/Seoul). The pool is full."

    assert told(view=refused) == [(said, f"<@U0JIN> <!subteam^S0TEACH> {said}", "ping-refused")]
    assert told(view=replace(refused, refused_because=None))[0][0] == (
        "the evening lease does *not open* at 20:00 (Asia/Seoul). "
    )
    assert told(view=replace(refused, window=None))[0][0].endswith(said.partition(" lease ")[2])
    assert told(view=replace(refused, standing=LeaseStanding.PLANNED)) == []


# --- who is pinged -------------------------------------------------------------------------------


def test_people_in_slack_are_pinged_themselves_and_else_the_roles_that_may_do_something() -> None:
    roles = {
        "teachers": Role(members=["U0A", "U0B"], may=["open"]),
        "closers": Role(members=["U0B", "U0C"], may=["close"], pools=["gpu"]),
        "others": Role(members=["U0D"], may=["close"], pools=["big"]),
        "readers": Role(members=["U0E"], may=["pause"]),
    }
    slack = Slack(channel="C0LAB", roles=roles)

    assert mentioned(["minji (U0MINJI)", None, "class", "jin (U0JIN)", "minji (U0MINJI)"], slack, "gpu") == [
        "U0MINJI",
        "U0JIN",
    ]
    assert mentioned(["class", None], slack, "gpu") == ["U0A", "U0B", "U0C"]
    assert mentioned([], None, "gpu") == []
    many = [f"somebody (U0{number:03})" for number in range(9)]
    assert mentioned(many, slack, "gpu") == [f"U0{number:03}" for number in range(MOST_MENTIONED)]
    assert MOST_MENTIONED == 8


# --- the waiting list ----------------------------------------------------------------------------


def test_an_offer_says_how_many_nodes_until_when_and_carries_its_wish() -> None:
    one: WaitingPlace = wish(nodes=2, offered=LOOK.now, because="the exam")

    made = offer_message(one, LOOK)

    assert made.text == (
        "Pool gpu has room for your request: nodes: 2. Press Open now by 20:40 (Asia/Seoul). "
        "Nothing is held for you until then."
    )
    rows: list[Any] = [block["elements"] for block in made.blocks if block["type"] == "actions"]
    assert [(button["action_id"], button["style"], button["value"]) for button in rows[0]] == [
        ("take", "primary", f'{{"p":"gpu","n":2,"s":3600,"b":"the exam","a":"{one.id}"}}')
    ]


@pytest.mark.parametrize(
    ("owner", "opens", "closes", "dropped"),
    [
        ("somebody (U0MINJI)", 0, 9, True),
        ("somebody (U0MINJI)", -1, 9, False),
        ("somebody (U0MINJI)", 0, 5, False),
        ("somebody else (U0JUN)", 0, 9, False),
    ],
)
def test_who_got_a_lease_since_they_asked_leaves_the_list(
    owner: str, opens: int, closes: int, dropped: bool
) -> None:
    one = wish()
    theirs = replace(leased(), owner=owner, opens=one.at + opens * MINUTE, closes=one.at + closes * MINUTE)
    found = look_after([one], [theirs], lambda _wish, _beside: False, one.at + 5 * MINUTE)
    assert found == WaitingRound((), (one,) if dropped else ())


def test_everybody_who_can_be_served_is_offered_a_place_and_what_is_offered_counts() -> None:
    first, second, third = wish(0, "U0A", offered=None), wish(1, "U0B", nodes=2), wish(2, "U0C")
    offered = wish(-1, "U0D", nodes=2, offered=first.at)
    beside: list[int] = []

    def grants(one: WaitingPlace, taken: int) -> bool:
        beside.append(taken)
        return one.nodes + taken <= 5

    found = look_after([third, second, offered, first], [], grants, first.at + MINUTE)

    assert (found, beside) == (WaitingRound((first, second), ()), [2, 3, 5])
