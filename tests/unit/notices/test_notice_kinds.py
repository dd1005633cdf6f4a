"""What becomes of each kind of notice: where it goes, where a route gets it unasked, what the channel is told."""

import pytest

from lamplighter.lab.notice_kinds import IN_CHANNEL, KINDS, NAMES, NOTICES, PAGES, ROUTED, NoticeKind, pings


def test_only_what_needs_a_person_goes_to_the_pages_place() -> None:
    assert PAGES == ("leaked", "guard")
    assert tuple(name for name in NAMES if name not in PAGES) == NOTICES


def test_a_route_that_names_no_kinds_is_spared_what_only_its_asker_wants_to_know() -> None:
    asked_for = ("already-open", "arm", "watch", "ack", "keep", "doctor")
    assert tuple(name for name in NOTICES if name not in asked_for) == ROUTED


def test_the_channel_is_told_what_no_lease_s_message_shows() -> None:
    of_calendar = {"not-opening", "foreseen", "skip", "unskip", "pause", "resume"}
    assert {"budget", "readiness"} | of_calendar == IN_CHANNEL


def test_a_kind_that_says_no_more_is_routed_and_neither_pages_nor_pings() -> None:
    kind = NoticeKind("new", "Something new.")
    assert (kind.ping, kind.routed, kind.page, kind.in_channel) == ("never", True, False, False)


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_a_notice_that_says_nothing_of_itself_pings_only_if_its_kind_always_does(kind: str) -> None:
    assert pings(kind) is (kind in {"degraded", "failed", "leaked", "short", "taken", "unfilled"})


def test_every_kind_has_one_row_and_a_sentence() -> None:
    assert len(set(NAMES)) == len(KINDS)
    assert all(kind.when.endswith(".") for kind in KINDS)
    assert set(ROUTED) < set(NOTICES)


@pytest.mark.parametrize(
    ("kind", "about", "pinged"),
    [
        ("refused", {"planned": True}, True),
        ("refused", {}, False),
        ("missed", {"planned": True}, True),
        ("foreseen", {"planned": True, "not_opening": True}, True),
        ("foreseen", {"planned": True}, False),
        ("open", {}, False),
        ("open", {"late": True}, True),
        ("degraded", {}, True),
        ("failed", {}, True),
        ("warned", {}, False),
        ("warned", {"in_use": True}, True),
        ("ends-early", {"in_use": True}, True),
        ("leaked", {}, True),
        ("closing", {"in_use": True, "planned": True, "late": True}, False),
        ("guard", {"in_use": True}, False),
        ("nobody-knows", {"planned": True, "late": True, "in_use": True}, False),
    ],
)
def test_slack_pings_for_what_cannot_wait_only(kind: str, about: dict[str, bool], pinged: bool) -> None:
    assert pings(kind, **about) is pinged


def test_nothing_but_these_ever_pings() -> None:
    everything = {"planned": True, "not_opening": True, "late": True, "in_use": True}
    pinged = "degraded ends-early failed foreseen leaked missed open refused short taken unfilled warned"
    assert " ".join(sorted(kind for kind in NAMES if pings(kind, **everything))) == pinged
