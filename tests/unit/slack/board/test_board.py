"""A whole evening in Slack: one message that is updated, its thread, and few mentions."""

import json
from pathlib import Path
from typing import Any

import pytest

from lamplighter.domain.leases.lease import LeaseState, MovedLease
from lamplighter.domain.leases.progress import Stage
from lamplighter.domain.money.money import Money
from lamplighter.values.instant import written
from tests.page_views import receipt_document
from tests.unit.slack.recording import EIGHT, INSTRUCTOR, MINUTE, LabInSlack, evening, lab_in_slack

ID = "evening-2026-11-20"


def opened(lab: LabInSlack) -> None:
    lab.put(evening(LeaseState.OPEN, ordered=EIGHT, ready=EIGHT + 6 * MINUTE))
    for stage in Stage:
        of = {Stage.NODES: 2, Stage.GPUS: 2, Stage.CHECKS: 6}.get(stage, 1)
        lab.ledger.note_progress("gpu", ID, stage, of, of, EIGHT + 5 * MINUTE)
    lab.at(6)
    lab.tell()


def receipt(lab: LabInSlack) -> None:
    closed, cost = EIGHT + 185 * MINUTE, Money.of("7.42", "USD")
    ran = {"ordered": EIGHT, "ready": EIGHT + 6 * MINUTE, "closed": closed}
    lab.put(evening(LeaseState.CLOSED, **ran, cost=cost))
    proof = {"at": written(closed), "desired": 0, "instances": [], "kubernetes_nodes": []}
    document = receipt_document(lease=ID, closed=written(closed), cost=cost.to_json(), proof_of_zero=proof)
    lab.ledger.put_receipt("gpu", closed, ID, document)
    lab.at(186)
    lab.tell()


def test_a_planned_window_is_not_told_of_before_it_opens(lab: LabInSlack) -> None:
    lab.at(-60)
    lab.put(evening(LeaseState.PLANNED))
    lab.tell()
    assert not lab.slack.messages


def test_one_message_follows_the_warm_up_stage_by_stage(lab: LabInSlack) -> None:
    lab.put(evening(LeaseState.ADMITTED))
    lab.ledger.note_progress("gpu", ID, Stage.ARMED, 1, 1, EIGHT)
    lab.tell()
    [said] = lab.slack.messages
    assert "✓ armed" in said.words
    assert "○ nodes" in said.words

    lab.put(evening(LeaseState.OPENING, ordered=EIGHT))
    lab.ledger.note_progress("gpu", ID, Stage.NODES, 1, 2, EIGHT + MINUTE)
    lab.at(1)
    lab.tell()
    assert "● nodes 1/2" in said.words
    assert said.updates == 1

    opened(lab)
    [said] = lab.slack.messages
    assert "Open until 23:00 (Asia/Seoul)" in said.words
    assert "✓ nodes 2/2" in said.words
    assert "✓ GPUs 2/2" in said.words
    assert "✓ checks 6/6" in said.words
    assert "0.25 USD so far" in said.words
    assert said.buttons == ["extend", "close", "why"]


def test_the_open_message_says_how_it_is_used_and_has_a_pod_to_start_from(lab: LabInSlack) -> None:
    opened(lab)
    [said] = lab.slack.messages
    assert "ssh class@bastion &amp; kubectl &lt;apply&gt;" in said.words
    assert "tolerations:\n    - {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}" in said.words
    assert 'limits: {"nvidia.com/gpu": 1}' in said.words
    assert "eks.amazonaws.com/nodegroup: gpu-lab-ng-gpu" in said.words


def test_warnings_and_findings_are_told_in_the_thread_in_their_order(lab: LabInSlack) -> None:
    opened(lab)
    causes = {"cause": "xid", "summary": "a GPU fell off", "advice": "Replace it."}
    lab.note("finding", "xid: a GPU fell off", 60, ID, **causes)
    lab.note("warned", "Pool gpu closes in 15 minutes", 165, ID, notice="warned")
    lab.at(165)
    lab.tell()
    lab.note("finding", "xid: a GPU fell off", 170, ID, **causes)
    lab.at(170)
    lab.tell()
    [said] = lab.slack.in_channel
    found, warned = lab.slack.thread_of(said)
    assert "xid" in found
    assert "closes in 15 minutes" in warned
    assert not lab.slack.pings


def test_the_receipt_comes_to_the_message_and_to_the_thread(lab: LabInSlack) -> None:
    opened(lab)
    lab.put(evening(LeaseState.CLOSING, ordered=EIGHT, ready=EIGHT + 6 * MINUTE))
    lab.at(180)
    lab.tell()
    [said] = lab.slack.in_channel
    assert "Closing" in said.words
    receipt(lab)
    assert "*Closed* at 23:05 (Asia/Seoul)" in said.words
    assert "*7.42 USD*" in said.words
    assert "Zero was proven at 23:05" in said.words
    assert "<https://pages.example.com/gpu/evening-2026-11-20.html?X-Amz-Signature=abc&amp;x=1|" in said.words
    assert said.buttons == ["why"]
    assert "Receipt" in lab.slack.thread_of(said)[-1]


def test_what_a_clock_alone_moves_is_told_every_five_minutes_at_most(lab: LabInSlack) -> None:
    opened(lab)
    [said] = lab.slack.messages
    before = said.updates
    for minute in (6.5, 7, 8, 9):
        lab.at(minute)
        lab.tell(("POOL#gpu", "STATE"))
    assert said.updates == before
    lab.at(11)
    lab.tell(("POOL#gpu", "STATE"))
    assert said.updates == before + 1


@pytest.mark.parametrize("more", [{}, {"window": None, "source": "cli"}])
def test_a_lease_that_is_refused_at_its_opening_pings_and_has_no_other_message(
    lab: LabInSlack, more: dict[str, Any]
) -> None:
    because = "held plus spent would pass the budget of 120 USD"
    lab.put(evening(LeaseState.REFUSED, because=because, **more))
    lab.tell()
    [said] = lab.slack.messages
    assert f"<@{INSTRUCTOR}>" in said.words
    assert "would pass the budget" in said.words


def test_a_window_that_was_refused_long_ago_is_not_told_of(lab: LabInSlack) -> None:
    lab.put(evening(LeaseState.REFUSED, because="no money"))
    lab.at(24 * 60)
    lab.tell()
    assert not lab.slack.messages


def test_a_degraded_opening_pings_once(lab: LabInSlack) -> None:
    lab.put(evening(LeaseState.OPENING, ordered=EIGHT, missing=1))
    lab.note("announced", "Pool gpu is open with 1 of 2 nodes", 4, ID, notice="degraded")
    lab.at(4)
    lab.tell()
    lab.tell(("POOL#gpu", "STATE"))
    assert len(lab.slack.pings) == 1
    assert "1 of 2 nodes" in lab.slack.pings[0]


def test_a_late_opening_pings_once_and_names_the_stage(lab: LabInSlack) -> None:
    lab.put(evening(LeaseState.OPENING, ordered=EIGHT))
    lab.ledger.note_progress("gpu", ID, Stage.NODES, 1, 2, EIGHT)
    for minute in (20, 25, 30):
        lab.at(minute)
        lab.tell(("POOL#gpu", "STATE"))
    [ping] = lab.slack.pings
    assert "*late*, at stage nodes" in ping


def test_a_message_that_comes_late_tells_no_old_news(lab: LabInSlack) -> None:
    lab.put(evening(LeaseState.OPEN, ordered=EIGHT, ready=EIGHT + MINUTE))
    lab.note("warned", "old news", 30, ID)
    lab.note("warned", "fresh news", 55, ID)
    lab.at(60)
    lab.tell()
    [told] = lab.slack.thread_of(lab.slack.in_channel[0])
    assert "fresh news" in told


def test_an_end_pings_only_while_gpus_are_in_use(lab: LabInSlack) -> None:
    opened(lab)
    seen_at = int((EIGHT + 160 * MINUTE).timestamp() * 1000)
    lab.set_pool(gpus_in_use=0, gpus_seen=2, gpus_seen_at=seen_at)
    lab.note("warned", "Pool gpu closes in 15 minutes", 165, ID, notice="warned")
    lab.at(165)
    lab.tell()
    assert not lab.slack.pings
    lab.set_pool(gpus_in_use=1, gpus_seen=2, gpus_seen_at=seen_at)
    for minutes in (170, 175):
        lab.note("warned", f"Pool gpu closes in {180 - minutes} minutes", minutes, ID, notice="warned")
        lab.at(minutes)
        lab.tell()
    [ping] = lab.slack.pings
    assert "closes in 10 minutes" in ping
    assert "GPUs: 1 free, 1 in use" in lab.slack.in_channel[0].words


def test_a_leaked_pool_pings_once_whoever_started_it(lab: LabInSlack) -> None:
    lab.set_pool(
        leaked_since=int(EIGHT.timestamp() * 1000), leaked_because="EC2 still has i-0abc", phase="leaked"
    )
    lab.tell()
    lab.tell(("POOL#gpu", "STATE"))
    [said] = lab.slack.messages
    assert f"<@{INSTRUCTOR}>" in said.words
    assert "EC2 still has i-0abc" in said.words


def test_people_are_pinged_themselves_where_they_are_in_slack(lab: LabInSlack) -> None:
    whose = {"window": None, "source": "slack", "owner": "minji (U0MINJI)"}
    lab.put(evening(LeaseState.OPENING, missing=1, ordered=EIGHT, **whose))
    lab.note("announced", "Pool gpu is open with 1 of 2 nodes", 4, ID, notice="degraded")
    lab.at(4)
    lab.tell()
    assert lab.slack.pings[0].startswith("<@U0MINJI> *Pool gpu")
    # Its message names them without a ping.
    assert "<@" not in lab.slack.in_channel[0].words
    assert "minji" in lab.slack.in_channel[0].words


def test_a_lease_that_may_move_has_a_button_for_it_and_the_lease_there_says_where_it_comes_from(
    lab: LabInSlack,
) -> None:
    left = MovedLease("small", "evening-0")
    lab.put(evening(LeaseState.OPENING, ordered=EIGHT, missing=2, moved_from=left))
    lab.note("announced", "Pool gpu has no capacity", 4, ID, notice="degraded", move="other")
    lab.at(4)
    lab.tell()
    [asked] = [said for said in lab.slack.in_channel if "has no capacity" in str(said.body["text"])]
    assert asked.buttons == ["move"]
    [row] = [block["elements"] for block in asked.body["blocks"] if block["type"] == "actions"]
    assert (row[0]["text"]["text"], json.loads(row[0]["value"])) == (
        "Move to pool other",
        {"p": "other", "l": ID},
    )
    assert [said for said in lab.slack.in_channel if "moved from pool small" in said.words]


def test_a_lab_without_a_channel_says_nothing_in_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lab = lab_in_slack(monkeypatch, tmp_path, slack={"command": "gpu"})
    opened(lab)
    assert not lab.slack.messages


def test_a_lease_that_ends_without_its_nodes_is_told_once_with_the_next_free_times_as_buttons(
    lab: LabInSlack,
) -> None:
    lab.put(evening(LeaseState.OPENING, ordered=EIGHT, missing=2))
    free = "2026-11-21T11:00:00Z/2026-11-21T14:00:00Z 2026-11-22T15:00:00Z/2026-11-22T18:00:00Z"
    lab.note("announced", "Pool gpu closes with 0 of 2 nodes", 180, ID, notice="unfilled", free=free)
    lab.at(180)
    lab.tell()
    lab.tell(("POOL#gpu", "STATE"))
    [letter] = [said for said in lab.slack.in_channel if "0 of 2 nodes" in str(said.body["text"])]
    assert f"<@{INSTRUCTOR}>" in letter.words
    assert letter.buttons == ["book", "book:2"]
    [row] = [block["elements"] for block in letter.body["blocks"] if block["type"] == "actions"]
    assert [button["text"]["text"] for button in row] == [
        "Book 2026-11-21 20:00-23:00",
        "Book 2026-11-23 00:00-03:00",
    ]
    assert json.loads(row[0]["value"]) == {
        "p": "gpu", "n": 2, "o": 1795258800, "u": 1795269600, "a": ID
    }  # fmt: skip
