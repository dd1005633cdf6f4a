"""Where else labs are, for whoever asked in a region without the one that was meant.

Looks at the other regions of the partition at once and for a few seconds at most: only ever to say more in an
error, so that whatever fails here is left out.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.aws.cloudformation import Stacks
from lamplighter.errors import LamplighterError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_sts import STSClient

SECONDS = 4.0
READ_SECONDS = 3


@dataclass
class Elsewhere:
    """What was seen in time."""

    account: str | None = None
    labs: dict[str, str] = field(default_factory=dict)
    """The region of each lab."""

    def said(self) -> str:
        """`evening in us-west-2 (AWS_REGION=us-west-2)`, or nothing."""
        return ", ".join(
            f"{lab} in {region} (AWS_REGION={region})" for lab, region in sorted(self.labs.items())
        )


def look(region: str, seconds: float = SECONDS) -> Elsewhere:
    """The labs of the account in every other region of the partition."""
    seen = Elsewhere()
    # Clients are made here, one after the other: that is not safe among threads.
    sts: STSClient = client("sts", read_seconds=READ_SECONDS, attempts=1)
    asked = [_in_thread(partial(_account, sts, seen))]
    for other in _others(region):
        cloudformation: CloudFormationClient = client(
            "cloudformation", read_seconds=READ_SECONDS, attempts=1, region=other
        )
        asked.append(_in_thread(partial(_labs, cloudformation, seen)))
    deadline = time.monotonic() + seconds
    for thread in asked:
        thread.join(max(0.0, deadline - time.monotonic()))
    return Elsewhere(seen.account, dict(seen.labs))


def _others(region: str) -> list[str]:
    import boto3  # noqa: PLC0415 - known by now

    session = boto3.Session()
    try:
        partition = session.get_partition_for_region(region)
    except Exception:  # noqa: BLE001 - a region that botocore does not know has no neighbours
        return []
    return [each for each in session.get_available_regions("cloudformation", partition) if each != region]


def _account(sts: "STSClient", seen: Elsewhere) -> None:
    with outside("sts:GetCallerIdentity", "these credentials"):
        seen.account = sts.get_caller_identity()["Account"]


def _labs(cloudformation: "CloudFormationClient", seen: Elsewhere) -> None:
    for stack in Stacks(cloudformation).of_labs():
        if "LedgerTable" in stack.outputs:
            seen.labs[stack.lab] = cloudformation.meta.region_name


def _in_thread(look_there: Callable[[], None]) -> threading.Thread:
    """Started, and left behind where it is slow: a region that does not answer holds up nobody."""

    def quietly() -> None:
        try:
            look_there()
        except LamplighterError:
            return  # a region that is not enabled refuses

    thread = threading.Thread(target=quietly, daemon=True)
    thread.start()
    return thread
