"""Reads the version of CDK's bootstrap in the account and region."""

from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, error_code, outside
from lamplighter.adapters.border import border
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

#: Of CDK's default qualifier; the templates name the same parameter.
VERSION = "/cdk-bootstrap/hnb659fds/version"


@border
class Bootstrap:
    """The bootstrap of the account and region."""

    def __init__(self, ssm: "SSMClient | None" = None) -> None:
        self._ssm: SSMClient = ssm or client("ssm")

    def version(self) -> int | None:
        """Its version; None where the region is not bootstrapped."""
        with outside("ssm:GetParameter", VERSION):
            try:
                found = self._ssm.get_parameter(Name=VERSION)["Parameter"].get("Value", "")
            except self._ssm.exceptions.ClientError as error:
                if error_code(error) != "ParameterNotFound":
                    raise
                return None
        if not found.isdecimal():
            raise OutsideFailed(reason("doctor.bootstrap-unreadable", name=VERSION, value=found[:40]))
        return int(found)
