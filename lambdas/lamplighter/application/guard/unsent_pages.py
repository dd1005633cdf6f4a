"""Pages that neither the topic nor the notices function took: the next sweep sends them again, once a sweep."""

from lamplighter.application.guard.services import GuardServices
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.guard import announcements
from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import MEMORY, PoolFacts
from lamplighter.reasons.reason import reason


def send_again(guard_services: GuardServices, facts: PoolFacts) -> None:
    """Send the unsent pages of earlier sweeps, unless this sweep has just paged about the same."""
    unsent = {(each.rule, each.lease, each.subject, each.at) for each in facts.earlier if each.unsent}
    if not unsent:
        return
    pool, ledger = facts.pool, guard_services.capacity.ledger
    last: dict[tuple[str, str | None, str], Entry] = {}
    for entry in ledger.audit(pool, facts.now - MEMORY):
        if "paged" in entry.details:
            last[entry.details["rule"], entry.lease, entry.details.get("subject", "")] = entry
    for about, entry in last.items():
        # A leak pages by its incident, which counts what was sent, and a person may have silenced it.
        if (*about, entry.at) not in unsent or about[0] == Rule.LEAKED:
            continue
        # A report stays one: other sweeps take any other act for an announced end, or for a page of a leak.
        action = GuardAction.SAY if entry.details["action"] == GuardAction.SAY else GuardAction.PAGE
        breach = Breach(Rule(entry.details["rule"]), entry.why, action, entry.lease)
        paged = guard_services.page(pool, announcements.of_breach(pool, breach))
        ledger.append_audit(
            Entry(
                at=guard_services.capacity.now(),
                pool=pool,
                kind="noted",
                who="guard",
                what=reason("guard.did.page", pool=pool),
                why=entry.why,
                lease=entry.lease,
                details={**entry.details, "action": action.value, "paged": paged},
            )
        )
