"""What the guard tells people, as they read it: in the lab's language and time zone, new reasons and old sentences."""

from datetime import timedelta

import boto3

from lamplighter.data.texts import Texts
from lamplighter.domain.calendar.changes import clock_of
from lamplighter.domain.guard import announcements
from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.notices.announcement import Announcement, DrawnAnnouncement
from lamplighter.domain.notices.phrases import clock_and_date
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Reason, Sentences, draw, in_english, reason
from lamplighter.values import zones
from tests.builders.guard_facts import lease
from tests.builders.leases import EIGHT, MINUTE
from tests.unit.guard.test_acts import sent
from tests.unit.lab_on_moto import LAB, LEDGER, LabOnMoto

LEFT = Sentences(
    (reason("guard.zero.ordered", nodes=1), reason("guard.zero.instances", instances=("i-1", "i-2")))
)
LEAKED = reason("guard.leaked", pool="gpu", since=EIGHT, left=LEFT)
IDLE = reason("guard.ends-early", why=reason("guard.idle", pool="gpu", since=EIGHT), at=EIGHT + 15 * MINUTE)
SEOUL = clock_of(zones.zone("Asia/Seoul"))


def read(announcement: Announcement, language: str) -> DrawnAnnouncement:
    """An announcement as people in Seoul read it."""
    texts = Texts(language)
    return announcement.drawn(texts, clock_and_date(texts, zones.zone("Asia/Seoul")))


def test_a_page_is_drawn_in_the_labs_language_and_time_zone() -> None:
    page = announcements.of_breach("gpu", Breach(Rule.LEAKED, LEAKED, GuardAction.PAGE))

    english, korean = read(page, "en"), read(page, "ko")

    assert english.text == (
        "Pool gpu should have been at zero since 05:00 on 2026-11-21 (Asia/Seoul) and is not: "
        "1 node is still ordered; EC2 still has i-1 and i-2."
    )
    assert "gpu 풀이 2026-11-21 05:00 (Asia/Seoul)부터 비어 있어야 하지만" in korean.text
    assert "i-1" in korean.text
    assert english.plain == korean.plain == "leaked on pool gpu"


def test_the_people_of_a_lease_read_why_it_ends_early_by_their_own_clock() -> None:
    early = announcements.of_early_end(lease(), IDLE, EIGHT + 15 * MINUTE)

    english, korean = read(early, "en"), read(early, "ko")

    assert english.subject == "the evening lease on pool gpu ends early, at 05:15 on 2026-11-21 (Asia/Seoul)"
    assert english.text == (
        "evening, alice: no pod has held a GPU of pool gpu since 05:00 on 2026-11-21 (Asia/Seoul); "
        "the guard closes it at 05:15 on 2026-11-21 (Asia/Seoul). "
        "It would have ended at 07:00 on 2026-11-21 (Asia/Seoul)."
    )
    assert "GPU를 쓴 파드가 없습니다" in korean.text


def test_a_leak_says_what_is_left_and_what_is_done() -> None:
    leak = announcements.of_leak("gpu", reason("guard.leaked.now", pool="gpu", left=LEFT))

    assert leak.kind == "leaked"
    assert read(leak, "en").text == (
        "Pool gpu should be at zero and is not: 1 node is still ordered; EC2 still has i-1 and i-2. "
        "It costs money until it is at zero. The lab is closing it again."
    )
    assert read(leak, "ko").text.startswith("gpu 풀이 비어 있어야 하지만")


def test_the_guard_pages_in_the_language_of_its_lab(lab: LabOnMoto) -> None:
    lab.capacity.lab = Lab.model_validate(
        {"name": LAB, "time_zone": "Asia/Seoul", "notify": {"language": "ko"}}
    )

    lab.guard_services.page("gpu", announcements.of_leak("gpu", LEAKED))

    [page] = sent("pages")
    assert "gpu 풀이 2026-11-21 05:00 (Asia/Seoul)부터" in page


def test_a_leak_that_an_older_release_kept_as_a_sentence_is_still_shown(lab: LabOnMoto) -> None:
    boto3.client("dynamodb").put_item(
        TableName=LEDGER,
        Item={
            "pk": {"S": "POOL#gpu"},
            "sk": {"S": "STATE"},
            "leaked_since": {"N": str(int(EIGHT.timestamp() * 1000))},
            "leaked_because": {"S": "i-1 still in EC2 since 20:00 UTC on 2026-11-20"},
        },
    )

    kept = lab.capacity.ledger.pool("gpu").leaked_because

    assert draw(kept, Texts("ko"), SEOUL) == "i-1 still in EC2 since 05:00 on 2026-11-21 (Asia/Seoul)"


def test_a_warning_that_an_older_release_kept_as_a_sentence_is_still_shown(lab: LabOnMoto) -> None:
    at = EIGHT - timedelta(minutes=5)
    boto3.client("dynamodb").put_item(
        TableName=LEDGER,
        Item={
            "pk": {"S": "POOL#gpu"},
            "sk": {"S": "AUDIT#2026-11-20T19:55:00.000000Z#000000abcd"},
            "at": {"N": str(int(at.timestamp() * 1000))},
            "kind": {"S": "warned"},
            "who": {"S": "guard"},
            "what": {"S": "warns about pool gpu"},
            "why": {"S": "it is idle: it is closed at 20:10 UTC on 2026-11-20"},
            "details": {"S": '{"rule": "idle-lease", "action": "warn"}'},
        },
    )

    [entry] = lab.capacity.ledger.audit("gpu", EIGHT - timedelta(hours=1))

    assert draw(entry.what, Texts("ko"), SEOUL) == "warns about pool gpu"
    assert draw(entry.why, Texts("en"), SEOUL) == (
        "it is idle: it is closed at 05:10 on 2026-11-21 (Asia/Seoul)"
    )


def test_what_the_ledger_keeps_of_a_leak_is_read_back_as_the_same_reason(lab: LabOnMoto) -> None:
    lab.capacity.ledger.mark_leaked("gpu", EIGHT, LEFT)

    kept = lab.capacity.ledger.pool("gpu").leaked_because

    assert kept == LEFT
    assert in_english(kept) == "1 node is still ordered; EC2 still has i-1 and i-2"
    assert isinstance(LEFT.sentences[0], Reason)
