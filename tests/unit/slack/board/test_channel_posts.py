"""What the channel hears of a pool, of the calendar and of a window to come, as whole posts."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.doctor.readiness import Grade, Readiness, ReadinessFinding
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.pool.pool import PoolState
from lamplighter.domain.slack.channel import TELLS_BACK, calendar_posts, is_news, outlook, pool_posts
from lamplighter.domain.slack.post import Post, key_of
from lamplighter.reasons.reason import reason
from tests.unit.slack.board.test_message import EIGHT, LOOK, MINUTE
from tests.unit.slack.recording import evening

PEOPLE = ["U0JIN"]
MISSED = Entry(EIGHT, "gpu", "missed", "planner", "evening <went by>", "the lab was paused")
SKIPPED = Entry(
    EIGHT, "gpu", "skipped", "alice", "w", "of snow", details={"window": "evening", "date": "2026-11-20"}
)


def told(post: Post) -> tuple[str, str]:
    """What is said where it pings nobody, and aloud."""
    assert post.aloud is not None
    return post.message.text, post.aloud.text


def test_as_old_as_an_event_of_the_stream_may_get_is_told_back() -> None:
    assert timedelta(minutes=15) == TELLS_BACK


def test_a_window_that_went_by_is_told_once_and_pings() -> None:
    [post] = pool_posts(PoolState("gpu"), [MISSED, replace(MISSED, kind="scaled")], PEOPLE, LOOK)
    said = "*evening &lt;went by&gt;*\nThe lab was paused."
    assert told(post) == (said, f"<@U0JIN> {said}")
    assert (post.key, post.at, post.aloud_key) == (key_of(MISSED), EIGHT, f"ping-{key_of(MISSED)}")


def test_a_leaked_pool_is_told_however_late() -> None:
    leaked = PoolState("gpu", leaked_since=EIGHT, leaked_because="i-1 is there")
    said = "*Pool gpu is leaked*: it should have no nodes, but it has. {}It costs money until it is at zero. The lab is closing it again."  # noqa: E501

    [post] = pool_posts(leaked, [], PEOPLE, LOOK)
    assert told(post)[0] == said.format("i-1 is there. ")
    assert (post.key, post.at) == ("leaked-2026-11-20T11:00:00Z", None)
    [bare] = pool_posts(replace(leaked, leaked_because=None), [], PEOPLE, LOOK)
    assert told(bare)[0] == said.format(" ")


@pytest.mark.parametrize(
    ("kind", "details", "news"),
    [
        ("missed", {}, True),
        ("foreseen", {}, True),
        ("skipped", {}, True),
        ("skipped", {"window": "evening", "date": "2026-11-20"}, True),
        ("unskipped", {}, True),
        ("paused", {}, True),
        ("resumed", {}, True),
        ("budget", {}, True),
        ("readiness", {"grade": "in-doubt"}, True),
        ("scaled", {}, False),
        ("scaled", {"window": "evening"}, False),
        ("leaked", {}, False),
    ],
)
def test_what_no_message_of_a_lease_shows_is_news(kind: str, details: dict[str, str], news: bool) -> None:
    entry = replace(SKIPPED, kind=kind, details=details)
    assert is_news(entry) is news
    told_of = kind not in {"missed", "foreseen"} and news
    assert len(calendar_posts([entry], LOOK)) == told_of


def test_what_a_check_before_a_window_found_is_told_with_what_to_do() -> None:
    advice = reason("doctor.readiness.add-ons.advice")
    said = reason("doctor.readiness.add-ons", names=("kube-system/coredns",))
    finding = ReadinessFinding("add-ons", Grade.IN_DOUBT, said, advice)
    found = Readiness("evening-1", "gpu", "evening", "2026-11-20", EIGHT, EIGHT, (finding,))
    entry = Entry(
        EIGHT, "gpu", "readiness", "doctor", found.subject, found.text, "evening-1", details=found.told()
    )

    [post] = calendar_posts([entry], LOOK)

    assert post.message.text == (
        "*window evening on 2026-11-20 may not open as planned*\nNo pod is available of kube-system/coredns. What to"
        " do: `kubectl get pods -A` shows why; repair or upgrade the chart or add-on."
    )


def test_what_people_skip_and_what_the_lab_leaves_out_are_told_apart_and_ping_nobody() -> None:
    by_lab, by_hand = calendar_posts([SKIPPED, replace(SKIPPED, details={})], LOOK)
    assert by_hand.message.text == "*A window is skipped*\nOf snow."
    assert by_lab.message.text.splitlines()[0] != by_hand.message.text.splitlines()[0]
    assert "2026-11-20" in by_lab.message.text
    assert by_hand.aloud is not None
    assert (by_hand.aloud.text, by_hand.at) == (by_hand.message.text, EIGHT)


SOON = evening(LeaseState.PLANNED, opens=LOOK.now + MINUTE, refusal="it is full")
FORESEEN = "The evening lease *will not open* at 20:31 (Asia/Seoul), as things stand. It is full."
AFTER_ALL = "The evening lease *opens* at 20:31 (Asia/Seoul) after all."


def test_a_window_that_will_be_refused_pings_and_one_that_opens_after_all_does_not() -> None:
    foreseen = outlook(SOON, (), PEOPLE, LOOK)
    after_all = outlook(replace(SOON, refusal=None), ("outlook-0", "refused"), PEOPLE, LOOK)
    assert foreseen is not None
    assert after_all is not None
    assert (foreseen.key, *told(foreseen)) == ("outlook-0", FORESEEN, f"<@U0JIN> {FORESEEN}")
    assert (after_all.key, *told(after_all)) == ("outlook-1", AFTER_ALL, AFTER_ALL)


@pytest.mark.parametrize(
    ("said", "refusal", "key"),
    [
        ((), None, None),
        ((), "it is full", "outlook-0"),
        (("refused",), "it is full", "outlook-0"),
        (("outlook-0",), "it is full", None),
        (("outlook-0",), None, "outlook-1"),
        (("outlook-0", "outlook-1"), None, None),
        (("outlook-0", "outlook-1"), "it is full", "outlook-2"),
        (("outlook-0", "outlook-1", "outlook-2"), None, "outlook-3"),
    ],
)
def test_each_turn_is_told_once(said: tuple[str, ...], refusal: str | None, key: str | None) -> None:
    post = outlook(replace(SOON, refusal=refusal), said, PEOPLE, LOOK)
    assert (post.key if post else None) == key


@pytest.mark.parametrize(
    "more",
    [{"window": None}, {"state": LeaseState.ADMITTED}, {"opens": LOOK.now}, {"opens": LOOK.now - MINUTE}],
)
def test_what_is_no_window_to_come_is_not_told_of(more: dict[str, Any]) -> None:
    assert outlook(replace(SOON, **more), (), PEOPLE, LOOK) is None
