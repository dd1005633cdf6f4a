"""Looks for labs in the other regions that the user works in, to say more in the error that this region has none.

The user's AWS settings name these regions, at most three are asked, and a region that fails is left out.
"""

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.aws.cloudformation import Stacks
from lamplighter.errors import LamplighterError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_sts import STSClient

MOST_REGIONS = 3
READ_SECONDS = 2


def labs_elsewhere(region: str) -> dict[str, str]:
    """The region of each lab in the account's other regions, by the lab's name."""
    labs: dict[str, str] = {}
    for other in _configured_regions(region)[:MOST_REGIONS]:
        with suppress(LamplighterError):  # for example a region that the account has not enabled
            cloudformation: CloudFormationClient = client(
                "cloudformation", read_seconds=READ_SECONDS, attempts=1, region=other
            )
            stacks = Stacks(cloudformation).of_labs()
            labs |= {stack.lab: other for stack in stacks if "LedgerTable" in stack.outputs}
    return labs


def account() -> str | None:
    """The account of the caller's credentials; None where AWS does not say."""
    with suppress(LamplighterError), outside("sts:GetCallerIdentity", "these credentials"):
        sts: STSClient = client("sts", read_seconds=READ_SECONDS, attempts=1)
        return sts.get_caller_identity()["Account"]
    return None


def _configured_regions(region: str) -> list[str]:
    """The regions that AWS_DEFAULT_REGION and the profiles name, without this one."""
    from botocore.session import get_session  # noqa: PLC0415 -- help needs no botocore

    profiles = get_session().full_config.get("profiles", {}).values()
    named = [os.environ.get("AWS_DEFAULT_REGION"), *(profile.get("region") for profile in profiles)]
    return [name for name in dict.fromkeys(named) if name and name != region]
