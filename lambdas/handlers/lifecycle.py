"""The lifecycle function: tells on the lab's bus what happened, and answers requests.

Called with batches of the ledger's stream, with `{"pools": […]}`, or by a rule every five minutes with anything else.
All is read from the ledger, so an event may come twice, late or never.
"""

from collections.abc import Mapping

from handlers import at_init  # noqa: F401 -- every event needs it
from lamplighter.application import logs
from lamplighter.application.events.changed_pools import changed_pools
from lamplighter.application.events.services import lifecycle_services
from lamplighter.application.events.telling import tell


def handler(event: Mapping[str, object], context: object) -> dict[str, object]:
    """Entry point. It fails where an event was not told, after all pools were tried."""
    logs.begin(event, context)
    services, told, failed = lifecycle_services(), {}, []
    for pool in changed_pools(event, services.lab.pools):
        try:
            told[pool] = tell(pool, services)
        except Exception as error:  # noqa: BLE001 -- whatever is wrong with one pool, the others are told
            logs.logger().warning("pool %s: %s", pool, error)
            failed.append(error)
    logs.logger().info("events told", extra={"told": told})
    if failed:
        raise failed[0]
    return {"told": told}
