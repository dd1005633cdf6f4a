"""The Free Tier API: the plan of the account, which is Paid as that of most accounts."""

from local.aws.api.own_services import Document
from local.aws.api.service_context import ServiceContext


class FreeTier:
    """Public methods with the names of boto3's operations are operations of `freetier`."""

    def __init__(self, service_context: ServiceContext) -> None:
        self._service_context = service_context
        self.plan = "PAID"

    def get_account_plan_state(self, _request: Document) -> Document:
        return {
            "accountId": self._service_context.account_id,
            "accountPlanType": self.plan,
            "accountPlanStatus": "ACTIVE",
        }
