"""A pool of a hundred nodes with eight GPUs: everything that grows with nodes stays within the limits of AWS."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.checks import after_verdict
from lamplighter.domain.checks.gpu_proof import GpuProof
from lamplighter.domain.notices.opening import of_opening
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.fields import to_document
from tests.builders.leases import EIGHT
from tests.ledger_table import keep_proof, keep_verdicts
from tests.unit.ledger.test_ledger import lease
from tests.unit.notices.drawing import drawn
from tests.world.aws.workflows import LIMITS
from tests.world.world import World

NODES = 100
BEGINS = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
LAB: dict[str, Any] = {
    "name": "gpu-lab",
    "time_zone": "Etc/UTC",
    "pools": {"gpu": {"instance_type": "g4dn.xlarge", "max_nodes": NODES, "price_per_hour": "1"}},
    "checks": {"ladder": "standard"},
    "guard": {"budget": {"amount": "100000", "currency": "USD", "period": "month"}},
}
ASKED = {
    "id": "open-1",
    "verb": "open",
    "pool": "gpu",
    "nodes": NODES,
    "for_seconds": 3600,
    "owner": "alice",
    "by": "alice",
    "source": "cli",
    "issued": "2026-11-20T20:00:00Z",
    "expires": "2026-11-20T20:15:00Z",
}


def rows(nodes: int = NODES, verdict: str = "passed") -> list[dict[str, Any]]:
    """What a ladder says of nodes of eight GPUs, in the ladder's order."""
    checks = ("allocatable", "labels", "nvidia-smi", "vectoradd", "gpu-health", "dcgm-1", "dcgm-2", "xid")
    gpus = {
        f"gpu_{number}": {"uuid": "GPU-" + "0" * 32, "clocks": "0x0000000000000001"} for number in range(8)
    }
    return [
        {
            "check": check,
            "node": f"ip-10-0-{number // 250}-{number % 250}.ap-northeast-2.compute.internal",
            "verdict": verdict,
            "reason": "8 of 8 NVIDIA A10G, driver 580.105.08, no event reason but idle and software power cap",
            "measurements": gpus,
            "seconds": 12.5,
            "pull_seconds": 0.0,
        }
        for check in checks
        for number in range(nodes)
    ]


def test_verdicts_proof_and_receipt_of_many_nodes_stand_in_the_ledger_whole(ledger: Ledger) -> None:
    said = rows()
    assert len(json.dumps(said)) > 500_000, "more than an item holds"
    keep_verdicts(ledger, lease(), said)
    proof = GpuProof(EIGHT, "gpu", "cli-1", "g5.48xlarge", "passed", tuple(said), 300)
    keep_proof(ledger, proof)
    receipt = {"lease": "cli-1", "pool": "gpu", "closed": "2026-11-20T20:00:00Z", "verdicts": said}
    ledger.put_receipt("gpu", EIGHT, "cli-1", receipt)

    assert ledger.verdicts("gpu", "cli-1") == said
    assert ledger.proofs("gpu", 1) == [proof]
    assert ledger.receipt("gpu", "cli-1", EIGHT) == receipt
    assert ledger.receipts("gpu") == [receipt]
    (brief,) = ledger.receipts_in_brief("gpu")
    assert (brief["verdict"], "verdicts" in brief) == ("passed", False)
    (proven,) = ledger.proofs_in_brief("gpu", 1)
    assert (proven.verdict, proven.rows) == ("passed", ())


def test_what_an_earlier_release_kept_in_one_item_is_read_as_it_stands(ledger: Ledger) -> None:
    said = rows(2)
    proof = GpuProof(EIGHT, "gpu", "cli-1", "g5.48xlarge", "passed", tuple(said), 300)
    receipt = {"lease": "cli-1", "pool": "gpu", "closed": "2026-11-20T20:00:00Z", "verdicts": said}
    for sort_key, document in (
        ("VERDICTS#cli-1", said),
        (f"PROOF#{items.sortable(EIGHT)}#cli-1", to_document(proof)),
        (f"RECEIPT#{items.sortable(EIGHT)}#cli-1", receipt),
    ):
        ledger._table.put(items.item("POOL#gpu", sort_key, {"document": json.dumps(document)}))

    assert ledger.verdicts("gpu", "cli-1") == said
    assert ledger.proofs("gpu", 1) == [proof]
    assert ledger.receipts("gpu") == ledger.receipts_in_brief("gpu") == [receipt]


def test_a_receipt_written_again_with_other_nodes_shows_no_rows_of_the_first(ledger: Ledger) -> None:
    for number, said in enumerate((rows(3), rows(2))):
        at = EIGHT + timedelta(minutes=number)
        ledger.keep_rows("gpu", "cli-1", at, said)
        ledger.keep_verdicts(lease(), at)

    assert ledger.verdicts("gpu", "cli-1") == rows(2)


@pytest.mark.parametrize("choice", ["keep", "close", "replace"])
def test_the_reason_for_what_follows_names_a_few_and_counts_the_rest(choice: Any) -> None:
    failed = rows(verdict="failed")
    nodes = [after_verdict.JudgedNode(row["node"], "i-0", used=False) for row in failed[:NODES]]

    decided = after_verdict.decide(failed, nodes, choice, replaceable=NODES)

    assert "and 795 more like these" in str(decided.reason)
    assert len(str(decided.reason)) < 2_000
    assert len(json.dumps(decided.to_json())) < 20_000


def test_a_notice_about_many_nodes_tells_some_and_where_the_rest_is() -> None:
    validate = {"verdict": "failed", "then": "keep", "verdicts": rows(verdict="failed"), "because": "x"}
    results: dict[str, Any] = {
        "Admit": {"outcome": "granted"},
        "AwaitNodes": {"wanted": NODES, "shortage": None},
        "AwaitGpus": {"nodes": [], "not_ready": []},
        "Validate": validate,
    }

    said = drawn(of_opening("gpu", lease(), results))

    assert len(said.text) < 3_000
    assert "`lamplighter why` tells 790 more." in said.text


@pytest.mark.long
def test_a_hundred_nodes_are_judged_told_and_closed_within_what_a_state_carries() -> None:
    """The world's GPUs know half of the ladder: what is said of the rest is as long."""
    with World(LAB, BEGINS) as world:
        world.give("open", ASKED)
        world.run(timedelta(minutes=30))
        ledger = Ledger("gpu-lab-ledger")

        (proof,) = ledger.proofs("gpu", 5)
        assert len(proof.nodes) == NODES
        assert len(json.dumps(to_document(proof))) > LIMITS.data_bytes, "it would not have fitted"
        assert len(kinds(ledger, "verdict")) == len(proof.rows)
        assert len(kinds(ledger, "announced")) == 1

        world.run(timedelta(hours=1))

        (receipt,) = ledger.receipts("gpu")
        assert len(receipt["verdicts"]) == len(proof.rows)
        assert receipt["proof_of_zero"]["instances"] == []
        assert {run.status for run in world.workflows.executions.values()} == {"SUCCEEDED"}


def kinds(ledger: Ledger, kind: str) -> list[str]:
    return [str(each.what) for each in ledger.audit("gpu", BEGINS) if each.kind == kind]


def test_dynamodb_refuses_an_item_of_more_than_400_kb(ledger: Ledger) -> None:
    with pytest.raises(OutsideFailed, match="Item size has exceeded"):
        ledger._table.put(items.item("POOL#gpu", "RECEIPT#x", {"document": json.dumps(rows())}))
    with pytest.raises(OutsideFailed, match="Item size has exceeded"):
        ledger._table.put_all([items.item("POOL#gpu", "RECEIPT#x", {"document": json.dumps(rows())})])
