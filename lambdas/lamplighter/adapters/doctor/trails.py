"""Reads the CloudTrail trails that record a region, with those of the organisation."""

from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border
from lamplighter.domain.doctor.facts import Trail

if TYPE_CHECKING:
    from mypy_boto3_cloudtrail import CloudTrailClient
    from mypy_boto3_cloudtrail.type_defs import AdvancedEventSelectorOutputTypeDef as Selector
    from mypy_boto3_cloudtrail.type_defs import EventSelectorOutputTypeDef as PlainSelector
    from mypy_boto3_cloudtrail.type_defs import TrailTypeDef

READS_ONLY = "ReadOnly"


@border
class Trails:
    """The trails of the account and region."""

    def __init__(self, cloudtrail: "CloudTrailClient | None" = None) -> None:
        self._cloudtrail: CloudTrailClient = cloudtrail or client("cloudtrail")

    def recording(self, region: str) -> tuple[Trail, ...]:
        """The trails that cover the region, switched on or not."""
        with outside("cloudtrail:DescribeTrails", region):
            described = self._cloudtrail.describe_trails(includeShadowTrails=True)["trailList"]
        return tuple(
            self._trail(each)
            for each in described
            if each.get("IsMultiRegionTrail") or each.get("HomeRegion") == region
        )

    def _trail(self, found: "TrailTypeDef") -> Trail:
        arn = found.get("TrailARN", "")
        with outside("cloudtrail:GetTrailStatus", arn):
            logging = bool(self._cloudtrail.get_trail_status(Name=arn).get("IsLogging"))
        with outside("cloudtrail:GetEventSelectors", arn):
            selectors = self._cloudtrail.get_event_selectors(TrailName=arn)
        plain, advanced = selectors.get("EventSelectors", []), selectors.get("AdvancedEventSelectors", [])
        # A trail without selectors records all management events.
        changes = any(map(_plain, plain)) or any(map(_advanced, advanced)) or not (plain or advanced)
        return Trail(found.get("Name", arn), logging, changes)


def _plain(selector: "PlainSelector") -> bool:
    return selector.get("IncludeManagementEvents", True) and selector.get("ReadWriteType") != READS_ONLY


def _advanced(selector: "Selector") -> bool:
    fields = {each["Field"]: each.get("Equals", []) for each in selector.get("FieldSelectors", [])}
    return "Management" in fields.get("eventCategory", []) and "true" not in fields.get("readOnly", [])
