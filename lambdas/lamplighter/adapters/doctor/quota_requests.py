"""Asks AWS for a larger quota, and reads what the account asked for before.

One request of a quota is open at a time: AWS refuses a second one
(https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_RequestServiceQuotaIncrease.html).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border

if TYPE_CHECKING:
    from mypy_boto3_service_quotas import ServiceQuotasClient
    from mypy_boto3_service_quotas.literals import RequestStatusType

#: AWS has not answered these; a request with a support case may stay open for days.
OPEN: tuple["RequestStatusType", ...] = ("PENDING", "CASE_OPENED")


@border
class QuotaRequests:
    """The requests of the account in the region, by the codes of the service and of its quota."""

    def __init__(self, quotas: "ServiceQuotasClient | None" = None) -> None:
        self._quotas: ServiceQuotasClient = quotas or client("service-quotas")

    def open_value(self, service: str, code: str) -> float | None:
        """The value that an open request asks for; None where none is open."""
        return next(self._open(service, code), None)

    def ask(self, service: str, code: str, value: int) -> bool:
        """Ask for a value. False where a request is open already: it is left as it is, and may be for another value."""
        with outside("servicequotas:RequestServiceQuotaIncrease", f"{service}/{code}"):
            try:
                self._quotas.request_service_quota_increase(
                    ServiceCode=service, QuotaCode=code, DesiredValue=value
                )
            except self._quotas.exceptions.ResourceAlreadyExistsException:
                return False  # somebody else's, or ours where its answer got lost and the call was repeated
        return True

    def _open(self, service: str, code: str) -> Iterator[float]:
        with outside("servicequotas:ListRequestedServiceQuotaChangeHistoryByQuota", f"{service}/{code}"):
            history = self._quotas.get_paginator("list_requested_service_quota_change_history_by_quota")
            for status in OPEN:
                for page in history.paginate(ServiceCode=service, QuotaCode=code, Status=status):
                    yield from (float(each["DesiredValue"]) for each in page["RequestedQuotas"])
