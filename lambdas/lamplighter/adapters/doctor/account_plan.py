"""Reads the plan of the account: AWS's Free plan has no GPU instances."""

from collections.abc import Mapping
from typing import Protocol

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason

REGION = "us-east-1"
"""The only region in which the Free Tier API answers: docs.aws.amazon.com/general/latest/gr/billing.html."""


class FreeTier(Protocol):
    """The call that is made of boto3's client."""

    def get_account_plan_state(self) -> Mapping[str, object]:
        """The plan and its state."""


@border
class AccountPlan:
    """The plan of the account."""

    def __init__(self, free_tier: FreeTier | None = None) -> None:
        self._free_tier: FreeTier = free_tier or client("freetier", region=REGION)

    def kind(self) -> str:
        """FREE or PAID."""
        with outside("freetier:GetAccountPlanState", "the account"):
            plan = self._free_tier.get_account_plan_state().get("accountPlanType")
        if plan not in ("FREE", "PAID"):
            raise OutsideFailed(reason("doctor.plan-without-type"))
        return str(plan)
