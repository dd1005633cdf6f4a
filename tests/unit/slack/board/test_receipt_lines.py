"""What a lease's message and its thread say of a receipt, line by line, and what an old receipt leaves out."""

from dataclasses import replace

from lamplighter.domain.capacity.zero import ZeroProof
from lamplighter.domain.money.money import Money
from lamplighter.domain.slack.message import MessageExtras, receipt_lines
from lamplighter.domain.slack.thread import ThreadFacts, posts
from lamplighter.domain.views import receipt_view
from lamplighter.domain.views.lease_view import LeaseStanding
from tests.unit.slack.board.test_message import EIGHT, LOOK, OPEN, shown, texts
from tests.unit.views.test_receipt_views import BARE, RECEIPT

WHOLE = receipt_view.of(RECEIPT, receipt_view.ReceiptExtras("g4dn.12xlarge"))
LINES = [
    "Cost: *4.00 USD*, nodes: 2.",
    "Of this, 1.00 USD ran after the end of the lease or beside its nodes.",
    "GPU-minutes: 933.",
    "GPUs were ready after 8 minutes.",
    "GPU checks passed: 1 of 2.",
    "At 07:05 on 2026-11-21 (Asia/Seoul) only the nodes of other leases were left.",
]


def test_a_receipt_is_told_line_by_line() -> None:
    assert receipt_lines(WHOLE, LOOK).splitlines() == LINES


def test_what_a_receipt_does_not_know_is_left_out() -> None:
    bare = receipt_view.of(BARE, receipt_view.ReceiptExtras())

    assert receipt_lines(bare, LOOK) == "Cost: *0.00 USD*, nodes: 0."
    assert receipt_lines(replace(bare, gpu_minutes=0, minutes_to_ready=0.0), LOOK).splitlines()[1:] == [
        "GPU-minutes: 0.",
        "GPUs were ready after 0 minutes.",
    ]
    proven = replace(bare, overrun=Money.zero("USD"), proof_of_zero=ZeroProof(EIGHT, kubernetes_nodes=()))
    assert receipt_lines(proven, LOOK).splitlines()[1:] == [
        "Of this, 0.00 USD ran after the end of the lease or beside its nodes.",
        "Zero was proven at 20:00 (Asia/Seoul): nothing is left running.",
    ]


def test_a_closed_lease_shows_its_receipt_and_an_open_one_does_not() -> None:
    beside = MessageExtras(receipt=WHOLE)
    assert "\n".join(LINES) in texts(shown(replace(OPEN, standing=LeaseStanding.CLOSED), beside))
    assert "\n".join(LINES) not in texts(shown(OPEN, beside))
    assert "\n".join(LINES) not in texts(shown(replace(OPEN, standing=LeaseStanding.CLOSED)))


def test_the_thread_tells_the_receipt_once_with_its_page() -> None:
    [post] = posts(OPEN, ThreadFacts(), MessageExtras(receipt=WHOLE, page="https://example.com/r"), LOOK)
    assert (post.key, post.aloud) == ("receipt", None)
    assert post.message.text.splitlines() == ["*Receipt*", *LINES]
    assert [block["type"] for block in post.message.blocks] == ["section", "context"]
