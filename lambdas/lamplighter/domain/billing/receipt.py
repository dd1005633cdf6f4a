"""The receipt of a closed lease, with the keys of the contract.

Puts the facts together. Other modules meter, prove and keep them.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from lamplighter.domain.billing.metering import NodeLife
from lamplighter.domain.capacity.zero import ZeroProof
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.money.money import Money
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.domain.money.spot import rates_between, summary
from lamplighter.reasons.document import document
from lamplighter.reasons.fields import to_document
from lamplighter.values import instant

Proof = Mapping[str, object]


def receipt(
    lease: Lease,
    verdicts: Sequence[Mapping[str, object]],
    proof: Proof,
    findings: Sequence[Mapping[str, object]] = (),
) -> dict[str, object]:
    """The receipt of a lease that is closed and settled; `findings` are the causes that were found meanwhile."""
    return {
        "lease": lease.id,
        "pool": lease.pool,
        "owner": lease.owner,
        "source": lease.source,
        "opened": instant.written(lease.opens),
        "closed": instant.written(lease.closed or lease.closes),
        "nodes": lease.nodes,
        "instance_types": list(lease.instance_types),
        "node_seconds": lease.node_seconds or 0,
        "minutes_to_ready": _minutes(lease.opens, lease.ready),
        "verdicts": [_verdict(verdict) for verdict in verdicts],
        "findings": [dict(finding) for finding in findings],
        "cost": (lease.cost or Money.zero(lease.hold.currency)).to_json(),
        **({"prepaid": True} if lease.price_per_hour == 0 else {}),
        "overrun": _overrun(lease),
        "replaced": list(lease.replaced),
        **({"taken": list(lease.taken)} if lease.taken else {}),
        "proof_of_zero": proof_of_zero(proof),
        "window": lease.window,
        "by": lease.by,
        "because": None if lease.because is None else document(lease.because),
        "moved_to": lease.moved_to and to_document(lease.moved_to),
        "moved_from": lease.moved_from and to_document(lease.moved_from),
    }


def named(pool: str, receipts: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """The receipts of a close as its workflow carries them: few keys, since the ledger has the whole receipts."""
    rows = [
        {key: receipt.get(key) for key in ("lease", "closed", "node_seconds", "cost")} for receipt in receipts
    ]
    first = rows[0] if rows else {"lease": None}
    return {**first, "pool": pool, "also": rows[1:]}


def node_lives(lease: Lease, lives: Sequence[NodeLife]) -> list[dict[str, object]]:
    """Every node that ran during the lease, other leases' nodes included, with start and end by AWS's records."""
    closed = lease.closed or lease.closes
    return [
        {
            "instance": life.instance,
            "from": instant.written(life.started),
            "to": instant.written(life.ended) if life.ended else None,
            **_spot_prices(lease, life),
        }
        for life in sorted(lives, key=lambda life: life.started)
        if life.started < closed and (life.ended is None or life.ended > lease.opens)
    ]


def _spot_prices(lease: Lease, life: NodeLife) -> dict[str, object]:
    """The Spot prices that a node was paid at during the lease, each from its instant on."""
    if not life.rates:
        return {}
    rates = rates_between(life.rates, *_during(lease, life))
    changes = [{"from": instant.written(rate.since), "per_hour": str(rate.per_hour)} for rate in rates]
    return {"zone": life.zone, "spot_prices": changes}


def purchase(lease: Lease, lives: Sequence[NodeLife]) -> dict[str, object]:
    """That a lease's nodes were Spot Instances, and the range of their prices."""
    closed = lease.closed or lease.closes
    ran = [
        (life.rates, *_during(lease, life))
        for life in lives
        if life.started < closed and (life.ended is None or life.ended > lease.opens)
    ]
    return summary(ran, lease.hold.currency)


def _during(lease: Lease, life: NodeLife) -> tuple[datetime, datetime]:
    closed = lease.closed or lease.closes
    return max(life.started, lease.opens), min(life.ended or closed, closed)


def unleased_receipt(pool: str, closed: datetime, ran: NodeTime, proof: Proof) -> dict[str, object]:
    """The receipt for nodes that no lease justified, or that ran past a lease that was closed before."""
    return {
        "lease": None,
        "pool": pool,
        "owner": None,
        "source": "guard",
        "opened": None,
        "closed": instant.written(closed),
        "nodes": 0,
        "node_seconds": ran.seconds,
        "minutes_to_ready": None,
        "verdicts": [],
        "cost": ran.cost.to_json(),
        "proof_of_zero": proof_of_zero(proof),
    }


def proof_of_zero(proof: Proof) -> dict[str, object]:
    """What ProveZero read; with other leases in force, it has the nodes that they justified."""
    return ZeroProof.from_json(proof).to_json()


def _overrun(lease: Lease) -> dict[str, object] | None:
    """The part of its node-seconds and cost that ran past its end, or beside its nodes; None where there is none."""
    past = lease.overrun
    return None if past is None else {"node_seconds": past.seconds, "cost": past.cost.to_json()}


def _minutes(opens: datetime, ready: datetime | None) -> float | None:
    return None if ready is None else round((ready - opens).total_seconds() / 60, 1)


def _verdict(verdict: Mapping[str, object]) -> dict[str, object]:
    told = {key: verdict.get(key) for key in ("check", "node", "verdict", "reason", "measurements")}
    return told | {key: verdict[key] for key in ("seconds", "pull_seconds") if key in verdict}
