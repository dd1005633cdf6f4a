"""What the pages say: every section of a receipt and of the lab, in the lab's zone and language."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from lamplighter.domain.capacity.zero import ZeroProof
from lamplighter.domain.leases.progress import ClaimStage, Noted, Progress
from lamplighter.domain.views import receipt_view
from lamplighter.domain.views.receipt_view import ReceiptView
from lamplighter.pages import frame, lab_page, receipt_page
from lamplighter.pages.axis import Axis
from lamplighter.pages.drawing import ruled
from lamplighter.pages.moments import MOST, moments
from tests import page_views as views
from tests.unit.views.test_pages_html import Read


def receipt(view: ReceiptView, language: str = "en", zone: ZoneInfo = views.SEOUL) -> str:
    return receipt_page.page(view, "seoul-lab", "ap-northeast-2", views.words(language, zone))


def said(page: str) -> str:
    """The page's text in one line."""
    return " ".join(Read(page.partition("</style>")[2]).text.split())


def stands_in(text: str, *words: str) -> None:
    assert [each for each in words if each not in text] == []


def test_a_receipt_says_who_when_what_it_came_to_and_that_nothing_is_left() -> None:
    stands_in(
        said(receipt(views.evening())),
        "evening, Tue 1 Dec 2026",
        "pool gpu, 2 nodes, for evening-class",
        "Tue 1 Dec 20:00–21:31 (Asia/Seoul, UTC+09:00)",  # noqa: RUF001
        "GPUs proven",
        "Zero nodes proven",
        "3.69 USD",
        "of this, 0.02 USD after the end",
        "GPU-minutes179",
        "6 min 30 s",
        "Read at Tue 1 Dec 21:31.",
        "minji asked for 30 minutes more",
        "No problem was found",
    )


def test_commands_in_the_trail_are_code() -> None:
    assert "<code>lamplighter extend</code> keeps it open." in receipt(views.evening())


def test_the_warm_up_has_the_stages_of_nodeclaims_where_the_nodes_have_them() -> None:
    progress: Progress = {
        ClaimStage.LAUNCHED: Noted(2, 2, views.minutes(1.0), views.minutes(1.1)),
        ClaimStage.REGISTERED: Noted(2, 2, views.minutes(1.1), views.minutes(2.1)),
        ClaimStage.INITIALIZED: Noted(2, 2, views.minutes(2.1), views.minutes(2.6)),
    }
    view = receipt_view.of(views.receipt_document(), replace(views.beside(), progress=progress))

    assert (
        "NodeClaim: instance launched took 6 s, up to 3 min is normal; NodeClaim: node registered took 1 min, up to"
        " 5 min is normal; NodeClaim: node initialized took 30 s" in said(receipt(view))
    )
    korean = said(receipt(view, "ko"))
    for words in ("NodeClaim: 인스턴스 시작", "NodeClaim: 노드 등록", "NodeClaim: 노드 초기화"):
        assert words in korean
    assert view.usual_stages()["claim-registered"] == {"seconds": 300, "measured": False}
    assert "NodeClaim" not in said(receipt(views.evening()))


def test_times_and_money_are_by_the_labs_zone_and_currency() -> None:
    text = said(receipt(views.evening(), zone=ZoneInfo("America/New_York")))
    assert "Tue 1 Dec 06:00–07:31 (America/New_York, UTC-05:00)" in text  # noqa: RUF001
    # A reason that was kept in UTC is told by the same clock.
    assert "armed the failsafe of pool gpu for Tue 1 Dec 07:10" in text


def test_the_warm_up_is_drawn_stage_by_stage_with_how_long_each_took_and_usually_takes() -> None:
    text = said(receipt(views.evening()))
    assert (
        "Failsafe armed took 18 s, up to 1 min is normal; Nodes took 1 min 48 s, usually 1 min 50 s; "
        "Node boots and joins took 36 s, usually 40 s; Node is ready took 12 s, up to 3 min is normal; "
        "GPU settings took 6 s, up to 5 min is normal; Operator: driver took 42 s" in text
    )


def test_bus_bandwidth_stands_against_its_floor() -> None:
    good, slow = receipt(views.evening()), receipt(views.degraded())
    assert "8.41 GB/s, at least 0.25 GB/s are needed" in said(good)
    assert 'class="measured short"' not in good
    assert 'class="measured short"' in slow


def test_a_degraded_receipt_names_findings_what_to_do_and_what_others_kept() -> None:
    stands_in(
        said(receipt(views.degraded())), "GPU checks failed", "no-capacity", "What to do: Wait",
        "1 node replaced", "What is left belongs to other", views.INSTANCES[1],
    )  # fmt: skip


def test_what_ran_without_a_lease_has_a_receipt_too() -> None:
    text = said(receipt(views.unleased()))
    assert "Pool gpu, without a lease" in text
    assert "no owner: no lease justified the nodes" in text
    assert "No GPU check gave a verdict." in text


def test_a_receipt_without_a_proof_of_zero_says_so_and_shows_no_badge_of_zero() -> None:
    unproven = replace(views.unleased(), proof_of_zero=ZeroProof())
    text = said(receipt(unproven))
    assert "Zero not proven" in text
    assert "It was not proven." in text
    assert "Zero nodes proven" not in text


def test_the_same_receipt_is_the_same_page() -> None:
    assert receipt(views.evening()) == receipt(views.evening())


def test_a_page_is_one_file_that_runs_and_fetches_nothing() -> None:
    for page in (receipt(views.evening()), lab_page.page(views.busy_lab(), views.words())):
        found = Read(page)
        assert not {"script", "link", "img", "iframe", "object"} & set(found.tags)
        assert not [name for name, _ in found.attributes if name.startswith("on") or name in {"src", "style"}]
        assert [value for name, value in found.attributes if name == "href"] == ["#main"]
        assert ("content", frame.policy()) in found.attributes


def test_every_drawing_has_a_title_and_a_description() -> None:
    for page in (receipt(views.degraded()), lab_page.page(views.busy_lab(), views.words())):
        drawings = page.split("<svg")[2:]  # the first is the mark, which says nothing
        assert drawings
        for drawing in drawings:
            assert 'role="img"' in drawing
            assert "<desc" in drawing


def test_a_korean_page_says_so_and_is() -> None:
    page = receipt(views.degraded(), "ko")
    assert '<html lang="ko">' in page
    assert "영수증" in page
    assert "2026년 12월 1일 (화)" in page


def test_the_lab_says_who_has_what_and_how_far_it_is() -> None:
    stands_in(
        said(lab_page.page(views.busy_lab(), views.words())),
        "As of Tue 1 Dec 20:03",
        "old is leaked",
        "Paused by jiho until Thu 3 Dec 05:20: the exams",
        "2 leases in force",
        "Nodes 1/2",
        "3 in use, 5 free (seen at 19:59)",
        "budget 300.00 USD",
        "forecast 227.91 USD",
        "skipped by jiho because of the exams",
        "the budget has 1.20 USD left",
        "Capacity held: reservation cr-0a1b2c3d is active",
        "in doubt, checked Tue 1 Dec 18:03: no pod is available of kube-system/coredns",
        "Time to ready, pool gpu",
        "without a lease",
    )


def test_a_kind_that_is_experimental_is_called_so_by_both_pages() -> None:
    lab = views.new_lab()
    pools = tuple(replace(pool, experimental=True) for pool in lab.pools)
    assert "experimental" in said(receipt(replace(views.evening(), experimental=True)))
    assert "experimental" not in said(receipt(views.evening()))
    assert "on a real account" in said(lab_page.page(replace(lab, pools=pools), views.words()))
    assert "experimental" not in said(lab_page.page(lab, views.words()))


def test_a_new_lab_says_that_there_is_nothing_yet() -> None:
    stands_in(
        said(lab_page.page(views.new_lab(), views.words())),
        "All closed",
        "Nothing is planned for the next two weeks.",
        "No lease has ended yet.",
        "0.00 USD",
    )


def test_the_rows_of_a_budget_add_up_to_what_was_spent() -> None:
    view = views.busy_lab()
    spent = replace(view, budget=replace(view.budget, spent=views.usd("85.31")))
    assert "without a lease1.000.000.00" in said(lab_page.page(spent, views.words()))
    assert "without a lease0" not in said(lab_page.page(view, views.words()))


def test_nodes_whose_checks_all_passed_are_one_line_with_short_names() -> None:
    view = views.evening()
    names = [f"ip-10-0-0-{number}.ap-northeast-2.compute.internal" for number in range(3)]
    row = view.verdict_rows[0]
    rows = [replace(row, node=name, verdict="passed") for name in names]
    page = receipt(replace(view, verdict_rows=(*rows, replace(row, node="sick", verdict="failed"))))
    [summary] = re.findall("<summary>(.*?)</summary>", page)
    assert "3 nodes passed all checks" in summary
    assert re.findall(r'<bdi title="([^"]*)" class="unbroken">([^<]*)</bdi>', summary) == [
        (name, name.partition(".")[0]) for name in names
    ]
    assert page.index(">sick<") < page.index("<summary>")


def test_what_happened_is_told_in_sentences_with_short_names() -> None:
    page = receipt(views.evening())
    [told] = re.findall('<ol class="moments">(.*?)</ol>', page, re.DOTALL)
    stands_in(
        said(f"</style>{told}"),
        "20:00 Leases granted the evening lease.",
        "20:06 Pool gpu is open until 21:00 (Asia/Seoul).",
        "Minji (U0123456789) extended the evening lease.",
        "Cluster drained ip-192-168-12-5, ip-192-168-12-6.",
    )
    assert f'title="{views.NODES[0]}"' in told
    korean = receipt(views.evening(), "ko")
    assert "guard – proved pool gpu at zero" in said(korean)  # noqa: RUF001


def test_the_trail_has_short_names_with_the_whole_as_title() -> None:
    trail = receipt(views.evening()).partition('id="trail"')[2]
    assert f'drained <bdi title="{views.NODES[0]}" class="unbroken">ip-192-168-12-5</bdi>, <bdi' in trail


@pytest.mark.parametrize("width", [340, 472, 640])
def test_times_of_an_axis_do_not_touch(width: int) -> None:
    begins = datetime(2026, 12, 1, 11, tzinfo=UTC)
    for minutes in range(5, 200):
        axis = Axis(begins, begins + timedelta(minutes=minutes), 0, width)
        drawn = "".join(ruled(axis, views.words(), 20, 90))
        middles = [float(each) for each in re.findall(r'<text x="([\d.]+)"', drawn)]
        assert middles[0] >= 18
        assert middles[-1] <= width + 10 - 18
        assert all(after - before >= 2 * 18 for before, after in pairwise(middles))


def test_a_forecast_above_the_budget_is_said() -> None:
    view = views.busy_lab()
    over = replace(view, budget=replace(view.budget, planned=views.usd("500")))
    assert "The forecast is above the budget" in said(lab_page.page(over, views.words()))


def test_the_lab_leads_to_receipts_that_lie_beside_it() -> None:
    page = lab_page.page(views.busy_lab(), views.words(), {"evening-2026-11-30": "receipt.html"})
    assert page.count('href="receipt.html"') == 1


def test_many_moments_are_the_first_and_the_last_ones() -> None:
    found = moments(views.TRAIL * 20)
    assert [each.number for each in found] == list(range(1, MOST + 1))
    assert found[0].entry == views.TRAIL[0]


def test_many_nodes_are_counted_rather_than_drawn() -> None:
    view = views.evening()
    nodes = tuple(replace(view.bars[1], label=f"i-{number}") for number in range(40))
    assert "and 28 more nodes" in said(receipt(replace(view, bars=(view.bars[0], *nodes))))


@pytest.mark.parametrize("minutes", [1, 7, 45, 90, 240, 1440, 10_000, 100_000])
def test_ticks_stand_apart_at_round_times(minutes: int) -> None:
    begins = datetime(2026, 3, 29, 0, 13, tzinfo=UTC)
    axis = Axis(begins, begins + timedelta(minutes=minutes), 0, 800)
    ticks = axis.ticks(ZoneInfo("Europe/Berlin"))
    assert len(ticks) <= 15
    assert all(axis.begins <= tick <= axis.ends for tick in ticks)
    if minutes >= 7:
        assert ticks
    if ticks and minutes <= 1440:
        assert ticks[0].astimezone(ZoneInfo("Europe/Berlin")).second == 0


def test_lengths_and_money_are_as_short_as_they_may_be() -> None:
    words = views.words()
    lengths = [45, 252, 600, 3120, 5400]
    assert [words.length(timedelta(seconds=each)) for each in lengths] == [
        "45 s",
        "4 min 12 s",
        "10 min",
        "52 min",
        "1 h 30 min",
    ]
    assert [words.money(views.usd(each)) for each in ("0", "2.414", "1234.5", "0.0041")] == [
        "0.00 USD",
        "2.41 USD",
        "1,234.50 USD",
        "0.0041 USD",
    ]


def test_what_happened_to_the_pool_after_the_close_is_no_part_of_the_receipt() -> None:
    later = replace(views.said(125, "breach", "closes pool gpu", who="guard"), lease=None)
    before = replace(views.said(50, "announced", "A lease on pool gpu was refused"), lease=None)
    text = said(
        receipt(receipt_view.of(views.receipt_document(), views.beside((*views.TRAIL, before, later))))
    )
    assert "A lease on pool gpu was refused" in text
    assert "closes pool gpu" not in text


def test_bandwidth_is_held_against_the_floor_that_it_was_judged_by() -> None:
    view = receipt_view.of(views.receipt_document(), replace(views.beside(), floor=Decimal(99)))
    assert [each.floor for each in view.bandwidth] == [Decimal("0.25")] * 2
