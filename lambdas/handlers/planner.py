"""The planner: every hour and at each deploy it turns windows into planned leases and schedules, 36 hours ahead.

It reconciles: it corrects schedules that people or accidents changed, and starts workflows that are overdue.
"""

from collections.abc import Mapping
from functools import cache

from handlers import at_init  # noqa: F401 -- every event needs it
from lamplighter.adapters.aws.price_list import PriceList
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.application import logs
from lamplighter.application.environment import ENVIRONMENT
from lamplighter.application.leases.services import lease_services
from lamplighter.application.notices import telling
from lamplighter.application.planner.plan import PlannerServices, plan_all


def handler(event: Mapping[str, object], context: object) -> dict[str, object]:
    """Entry point: every event makes it plan."""
    logs.begin(event, context)
    done = plan_all(_planner_services())
    logs.logger().info("planned", extra=done)
    return done


@cache
def _planner_services() -> PlannerServices:
    return PlannerServices(
        lease_services(), Workflows(), telling.notices(), ENVIRONMENT.extend_lease, PriceList()
    )
