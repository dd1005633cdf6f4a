"""The message of a lease, whole: its text, its blocks in their order, and what of it is news."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from lamplighter.data.texts import ENGLISH, Texts
from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.leases.progress import BootStage, ClaimStage
from lamplighter.domain.leases.usual_times import Usual
from lamplighter.domain.money.money import Money
from lamplighter.domain.pool.pool import SeenGpus
from lamplighter.domain.slack.message import Message, MessageExtras, message
from lamplighter.domain.slack.style import SlackStyle
from lamplighter.domain.views.lease_view import LeaseStanding, LeaseView
from lamplighter.domain.views.stages import Stage, StageState, StageView
from lamplighter.reasons.reason import reason

EIGHT = datetime(2026, 11, 20, 11, 0, tzinfo=UTC)  # 20:00 in Seoul
MINUTE = timedelta(minutes=1)
LOOK = SlackStyle(ENGLISH, ZoneInfo("Asia/Seoul"), EIGHT + 30 * MINUTE)
STAGES = (
    StageView(Stage.ARMED, StageState.DONE),
    StageView(Stage.NODES, StageState.GOING, 1, 2, said="one node is still to come"),
    StageView(Stage.GPUS, StageState.WAITING),
)
OPEN = LeaseView(
    id="evening-1", pool="gpu", owner="minji (U0MINJI)", by="jin (U0JIN)", because="the exam", source="slack",
    window=None, date=None, called=reason("lease.of-owner", owner="minji"),
    state=LeaseState.OPEN, standing=LeaseStanding.OPEN, nodes=2, missing=0,
    opens=EIGHT, closes=EIGHT + 120 * MINUTE, ready=EIGHT + 10 * MINUTE, closed=None,
    stages=STAGES, bar=0.87, gpus_expected=EIGHT + 10 * MINUTE, seats=None,
    hold=Money.of(4, "USD"), cost_so_far=Money.of(1, "USD"), verdict=Outcome.PASSED, verdict_rows=(), findings=(),
    refused_because=None, degraded_because=None, failed_because=None, leaked_because=None,
    warnings=(), replaced=(),
)  # fmt: skip
PAGE = (
    "<https://example.com/r|The whole receipt> (valid for an hour; after that, "
    "`lamplighter receipt --html` writes the page)"
)


def shown(view: LeaseView = OPEN, beside: MessageExtras | None = None, style: SlackStyle = LOOK) -> Message:
    return message(view, beside or MessageExtras(), style)


def texts(made: Message) -> list[str]:
    """What stands in its headers, sections and small print, in their order."""
    found: list[str] = []
    for block in made.blocks:
        said: Any = block.get("text") or block
        pieces = [said] if "text" in said else said.get("elements", [])
        found += [piece["text"] for piece in pieces if isinstance(piece.get("text"), str)]
    return found


def test_an_open_lease_is_told_whole() -> None:
    beside = MessageExtras("Ask jin.", "kind: Pod", SeenGpus(3, 4, EIGHT), page="https://example.com/r")

    made = shown(beside=beside)

    assert made.text == "minji's lease on pool gpu: *Open until 22:00 (Asia/Seoul)*, nodes: 2."
    assert made.to_json()["text"] == made.text
    assert [block["type"] for block in made.blocks] == [
        *["header", "section", "section", "section", "section", "context", "actions", "context"]
    ]
    assert texts(made) == [
        "Minji's lease on pool gpu",
        "*Open until 22:00 (Asia/Seoul)*, nodes: 2.",
        "▰▰▰▰▰▰▰▰▰▱ 87 %\n✓ armed   ● nodes 1/2   ○ GPUs\n● nodes 1/2: one node is still to come",
        "Ask jin.",
        "A pod that gets a GPU here (`kubectl apply -f -`):\n```kind: Pod```",
        "for minji",
        "by jin",
        "because the exam",
        "GPUs: 1 free, 3 in use",
        "1.00 USD so far, 4.00 USD held",
        PAGE,
    ]


def test_its_buttons_extend_close_after_a_question_and_explain() -> None:
    def plain(text: str) -> dict[str, object]:
        return {"type": "plain_text", "text": text, "emoji": True}

    [row] = [block for block in shown().blocks if block["type"] == "actions"]

    assert row["elements"] == [
        {
            "type": "button",
            "action_id": "extend",
            "text": plain("Extend 1 h"),
            "value": '{"p":"gpu","l":"evening-1","s":3600}',
            "style": "primary",
        },
        {
            "type": "button",
            "action_id": "close",
            "text": plain("Close now"),
            "value": '{"p":"gpu","l":"evening-1","c":1}',
            "style": "danger",
            "confirm": {
                "title": plain("Close it now?"),
                "text": plain(
                    "This ends minji's lease at once, for everybody who works there. Owner: minji."
                ),
                "confirm": plain("Close now"),
                "deny": plain("Leave it open"),
            },
        },
        {"type": "button", "action_id": "why", "text": plain("Why"), "value": '{"p":"gpu","l":"evening-1"}'},
    ]


@pytest.mark.parametrize(
    ("more", "stands"),
    [
        ({"standing": LeaseStanding.PLANNED}, "Opens at 20:00 (Asia/Seoul), until 22:00 (Asia/Seoul), with nodes: 2."),
        ({"standing": LeaseStanding.REFUSED}, "*Refused*: it does not open at 20:00 (Asia/Seoul)."),
        ({"standing": LeaseStanding.OPENING, "gpus_expected": EIGHT + 31 * MINUTE},
         "*Opening*: the GPUs are expected at 20:31 (Asia/Seoul). Open until 22:00 (Asia/Seoul)."),
        ({"standing": LeaseStanding.OPENING, "gpus_expected": EIGHT + 30 * MINUTE},
         "*Opening*: this takes some minutes. Open until 22:00 (Asia/Seoul)."),
        ({"standing": LeaseStanding.OPENING, "gpus_expected": None},
         "*Opening*: this takes some minutes. Open until 22:00 (Asia/Seoul)."),
        ({"standing": LeaseStanding.DEGRADED, "missing": 1}, "*Open until 22:00 (Asia/Seoul)*, with 1 of 2 nodes."),
        ({"standing": LeaseStanding.CLOSING},
         "*Closing*: EKS drains and removes the nodes. Then the lab proves that none is left."),
        ({"standing": LeaseStanding.CLOSED, "closed": EIGHT + 99 * MINUTE}, "*Closed* at 21:39 (Asia/Seoul)."),
        ({"standing": LeaseStanding.CLOSED}, "*Closed* at 22:00 (Asia/Seoul)."),
    ],
)  # fmt: skip
def test_it_says_how_the_lease_stands(more: dict[str, Any], stands: str) -> None:
    assert texts(shown(replace(OPEN, **more)))[1] == stands


@pytest.mark.parametrize(
    ("standing", "progress", "use", "buttons"),
    [
        (LeaseStanding.PLANNED, False, False, 1),
        (LeaseStanding.OPENING, True, False, 3),
        (LeaseStanding.OPEN, True, True, 3),
        (LeaseStanding.DEGRADED, True, True, 3),
        (LeaseStanding.CLOSING, False, False, 1),
        (LeaseStanding.CLOSED, False, False, 1),
        (LeaseStanding.REFUSED, False, False, 1),
    ],
)
def test_what_a_lease_shows_and_can_be_asked_follows_from_how_it_stands(
    standing: LeaseStanding, progress: bool, use: bool, buttons: int
) -> None:
    made = shown(replace(OPEN, standing=standing), MessageExtras("Ask jin."))
    assert any("%" in text for text in texts(made)) is progress
    assert ("Ask jin." in texts(made)) is use
    rows: list[Any] = [block["elements"] for block in made.blocks if block["type"] == "actions"]
    assert [len(row) for row in rows] == [buttons]


def test_how_a_pool_is_used_is_told_once_its_gpus_are_ready() -> None:
    assert "Ask jin." not in texts(shown(replace(OPEN, ready=None), MessageExtras("Ask jin.")))


@pytest.mark.parametrize(
    ("more", "trouble"),
    [
        ({"leaked_because": "i-1 is there"}, "*Leaked*: i-1 is there."),
        ({"failed_because": "no capacity"}, "*The opening failed*: No capacity."),
        ({"degraded_because": "one is late!"}, "*Degraded*: One is late!"),
        ({"refused_because": "the pool is full"}, "Why: The pool is full."),
        ({"verdict": Outcome.FAILED},
         "*A GPU check FAILED*. Do not trust results until the lab has replaced the node."),
        ({"verdict": Outcome.NOT_PROVEN}, "The GPUs are *not proven*: a check could not run."),
        ({"verdict": None}, None),
        ({"replaced": ("i-1", "i-2")}, "Replaced after a failed check: i-1, i-2."),
        ({"degraded_because": "one is late", "verdict": Outcome.NOT_PROVEN},
         "*Degraded*: One is late.\nThe GPUs are *not proven*: a check could not run."),
        ({}, None),
    ],
)  # fmt: skip
def test_what_is_wrong_stands_behind_the_progress(more: dict[str, Any], trouble: str | None) -> None:
    assert texts(shown(replace(OPEN, **more)))[3:-4] == ([trouble] if trouble else [])


FOR, BY, COST = ["for minji", "because the exam"], ["for minji", "by jin"], "1.00 USD so far, 4.00 USD held"


@pytest.mark.parametrize(
    ("more", "in_use", "small"),
    [
        ({"by": None}, None, [*FOR, COST]),
        ({"by": "minji (U0MINJI)"}, None, [*FOR, COST]),
        ({"source": "window"}, None, [*FOR, COST]),
        ({"because": None}, None, [*BY, COST]),
        ({"because": None, "cost_so_far": None}, None, BY),
        ({"because": None}, 4, [*BY, "GPUs: 0 free, 4 in use", COST]),
        ({"because": None}, 5, [*BY, "GPUs: 0 free, 5 in use", COST]),
        ({"because": None, "standing": LeaseStanding.CLOSING}, 4, [*BY, COST]),
        ({"because": None, "standing": LeaseStanding.CLOSED}, 4, BY),
    ],
)
def test_small_print_says_whose_it_is_by_whom_and_what_it_costs(
    more: dict[str, Any], in_use: int | None, small: list[str]
) -> None:
    made = shown(replace(OPEN, **more), MessageExtras(seen=SeenGpus(in_use, 4, EIGHT) if in_use else None))
    [context] = [block for block in made.blocks if block["type"] == "context"]
    elements: Any = context["elements"]
    assert [element["text"] for element in elements] == small


def test_while_it_warms_up_the_claims_of_its_nodes_are_told_in_both_languages() -> None:
    claims = tuple(StageView(stage, StageState.DONE, 2, 2) for stage in ClaimStage)
    opening = replace(OPEN, standing=LeaseStanding.OPENING, ready=None, boot=claims)

    for language, line in (
        ("en", "✓ claims launched 2/2   ✓ claims registered 2/2   ✓ claims initialized 2/2"),
        ("ko", "✓ NodeClaim 시작 2/2   ✓ NodeClaim 등록 2/2   ✓ NodeClaim 초기화 2/2"),
    ):
        [warm_up] = [
            text for text in texts(shown(opening, style=replace(LOOK, texts=Texts(language)))) if "▰" in text
        ]
        assert line in warm_up.splitlines()


def test_while_it_warms_up_the_boot_of_its_nodes_stands_beside_its_usual_times() -> None:
    joined = StageView(
        BootStage.JOINED, StageState.DONE, 2, 2, EIGHT, EIGHT + timedelta(seconds=42),
        usual=Usual(timedelta(seconds=40), measured=True),
    )  # fmt: skip
    driver = StageView(BootStage.DRIVER, StageState.GOING, 0, 2, usual=Usual(5 * MINUTE, measured=False))
    gpus = StageView(Stage.GPUS, StageState.GOING, usual=Usual(100 * timedelta(seconds=1), measured=True))
    opening = replace(
        OPEN, standing=LeaseStanding.OPENING, ready=None, stages=(STAGES[0], gpus), boot=(joined, driver)
    )

    def lines(view: LeaseView, style: SlackStyle = LOOK) -> list[str]:
        return next(text for text in texts(shown(view, style=style)) if "▰" in text).splitlines()[1:]

    assert lines(opening) == [
        "✓ armed   ● GPUs (usually 1m40s)",
        "✓ nodes joined 2/2 42s (usually 40s)   ● driver 0/2 (up to 5m is normal)",
    ]
    assert lines(opening, replace(LOOK, texts=Texts("ko")))[1] == (
        "✓ 노드 합류 2/2 42s (보통 40s)   ● 드라이버 0/2 (5m까지 정상)"
    )
    assert lines(replace(opening, ready=EIGHT)) == ["✓ armed   ● GPUs"]


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
