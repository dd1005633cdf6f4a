"""Checks one window again before it opens, keeps the result, and lets the notices function tell what changed.

It touches no pool. A check that comes late, or twice, or for a window that is open or taken back does nothing more.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.functions import Functions
from lamplighter.adapters.doctor.window import WindowReading
from lamplighter.application.doctor.examining import facts_of
from lamplighter.application.environment import ENVIRONMENT
from lamplighter.domain.doctor.window import Plan, judge
from lamplighter.domain.schedules.of_leases import unopened
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from datetime import datetime

    from lamplighter.adapters.aws.ledger.ledger import Ledger
    from lamplighter.lab.model import Lab

PATIENCE_SECONDS = 4


def look_again(asked: object, found: "Lab", ledger: "Ledger", now: "datetime") -> dict[str, object]:
    """-> the grade and the checks that are not ok; no grade where there is nothing to check."""
    pool = asked.get("pool") if isinstance(asked, Mapping) else None
    lease_id = asked.get("lease") if isinstance(asked, Mapping) else None
    if pool not in found.pools or not isinstance(lease_id, str):
        raise BadInput(
            reason("command.run-without-pool", lab=found.name, pool=str(pool), pools=", ".join(found.pools))
        )
    lease = ledger.lease(str(pool), lease_id)
    if lease is None or not unopened(lease) or lease.opens <= now:
        return {"lease": lease_id, "grade": None}
    facts = facts_of(found, ledger)
    leases = [one for name in found.pools for one in ledger.leases(name)]
    readiness = judge(
        lease, found, facts, WindowReading().facts(found), Plan(leases, ledger.pauses()), now=now
    )
    ledger.keep_readiness(readiness)
    run = {"pool": lease.pool, "lease": lease.id}
    Functions(patience_seconds=PATIENCE_SECONDS).start(
        ENVIRONMENT.notices_function, {"step": "AnnounceReadiness", "run": run}
    )
    return {
        "lease": lease.id,
        "grade": readiness.grade.value,
        "not_ok": [one.check for one in readiness.findings],
        "not_known": list(readiness.unread),
    }
