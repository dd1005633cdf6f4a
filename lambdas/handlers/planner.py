"""The planner: hourly and at each deploy, windows become leases-to-be and schedules, 36 hours ahead.

Reconciles: what people or accidents changed about the schedules is put right, what is overdue is started.
"""

from collections.abc import Mapping
from functools import cache

from handlers import at_init  # noqa: F401 -- every event needs it
from lamplighter.adapters.aws.price_list import PriceList
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.application.environment import ENVIRONMENT
from lamplighter.application.leases.services import lease_services
from lamplighter.application.logs import logger
from lamplighter.application.notices import telling
from lamplighter.application.planner.plan import PlannerServices, plan_all


def handler(_event: Mapping[str, object], _context: object) -> dict[str, object]:
    """Entry point: whatever wakes it, it plans."""
    done = plan_all(_planner_services())
    logger().info("planned", extra=done)
    return done


@cache
def _planner_services() -> PlannerServices:
    return PlannerServices(
        lease_services(), Workflows(), telling.notices(), ENVIRONMENT.extend_lease, PriceList()
    )
