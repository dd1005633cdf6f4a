"""What people see in Slack before they do anything: until when, which GPUs are free, what opens next; in Korean too."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.leases.progress import Stage
from tests.unit.slack.recording import EIGHT, INSTRUCTOR, MINUTE, STUDENT, evening
from tests.unit.slack.requests import Knocks, knocks, running

HOUR = timedelta(hours=1)


def test_status_says_until_when_which_gpus_are_free_and_what_is_next(door: Knocks) -> None:
    door.lab.put(running(f"jin ({INSTRUCTOR})", EIGHT + HOUR))
    tomorrow = EIGHT + 24 * HOUR
    door.lab.put(
        evening(LeaseState.PLANNED, id="evening-2026-11-21", opens=tomorrow, closes=tomorrow + 3 * HOUR)
    )
    at = int((EIGHT - 3 * MINUTE).timestamp() * 1000)
    door.lab.set_pool(gpus_in_use=1, gpus_seen=4, gpus_seen_at=at)

    until, gpus, following = door.type("status")["text"].splitlines()

    assert until == "*gpu* is open until 21:00 (Asia/Seoul) with 1 node, for jin."
    assert gpus == "GPUs: 3 free, 1 in use (seen at 19:57)."
    assert following == "Next: evening at 2026-11-21 20:00 (Asia/Seoul) with 2 nodes."


AUTO_MODE: dict[str, Any] = {
    "cluster": {"auto_mode": {"enabled": True}},
    "gpu_operator": {"enabled": False},
    "pools": {"gpu": {"kind": "auto-mode", "max_nodes": 4}},
}


@pytest.mark.parametrize(("more", "experimental"), [(AUTO_MODE, True), ({}, False)])
def test_a_pool_of_auto_mode_is_called_experimental_where_it_is_shown_and_where_it_opens(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, more: dict[str, Any], experimental: bool
) -> None:
    door = knocks(monkeypatch, tmp_path, **more)
    shown, granted = door.type("status")["text"], door.type("open for 1h")["text"]
    assert granted.startswith("Granted")
    assert ["This pool is experimental" in said for said in (shown, granted)] == [experimental] * 2


def test_a_pool_whose_nodes_come_with_pods_promises_no_gpus_and_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    door = knocks(monkeypatch, tmp_path, **AUTO_MODE)
    lease = door.lab.put(running(f"jin ({INSTRUCTOR})", EIGHT + HOUR, state=LeaseState.OPENING))
    door.lab.ledger.note_progress("gpu", lease.id, Stage.NODES, 0, 0, EIGHT)
    why = "no node yet: NodePool x starts nodes when pods ask for them"
    told = Entry(EIGHT, "gpu", "announced", "notices", "told", why, lease.id, details={"notice": "degraded"})
    door.lab.ledger.append_audit(told)

    shown, second = door.type("status")["text"].splitlines(), door.type("open")["text"]

    assert shown[0] == "*gpu* is open until 21:00 (Asia/Seoul) with 1 node, for jin."
    assert "No node yet: NodePool x starts nodes when pods ask for them." in shown
    assert "No node runs yet: nodes start when pods ask for GPUs." in second


@pytest.fixture
def korean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Knocks:
    """A lab whose language is Korean."""
    roles = {"staff": {"members": [INSTRUCTOR], "may": ["open"], "max_nodes": 1}}
    return knocks(monkeypatch, tmp_path, slack={"roles": roles}, notify={"language": "ko"})


def test_who_may_not_is_told_why_in_the_labs_language(korean: Knocks) -> None:
    assert korean.type("open", STUDENT)["text"].startswith(
        "허용되지 않습니다: 이 랩에서 맡은 역할이 없습니다."
    )
    assert "역할 staff: 노드는 한 번에 1개까지" in korean.type("open 2")["text"]


def test_an_unknown_word_is_asked_back_in_the_labs_language(korean: Knocks) -> None:
    said = korean.type("opne 2")["text"]
    assert "'open' 명령을 뜻하셨습니까?" in said
    assert "did you mean" not in said
