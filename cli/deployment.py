"""Finds the one lab that is deployed in the account and region, and the time by AWS's clock.

It reads the tag and the outputs of the stacks. The verbs decide what to do with the lab.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from cli import elsewhere, known_names, printing
from cli.nearest import did_you_mean
from lamplighter.adapters.aws.calls import FIRST_READ_SECONDS, client
from lamplighter.adapters.aws.cloudformation import Stack, Stacks
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.commands.meant import pool_meant, window_meant
from lamplighter.errors import BadInput, OutsideFailed
from lamplighter.lab.model import Lab

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

    from lamplighter.application.capacity.services import CapacityServices


class AwsClock:
    """The time by the `Date` header of the AWS endpoint, never by the machine."""

    def __init__(self, cloudformation: "CloudFormationClient") -> None:
        self._last_date: datetime | None = None
        self._cloudformation = cloudformation
        cloudformation.meta.events.register("after-call.cloudformation", self._note)

    def _note(self, http_response: Any, **_: object) -> None:  # noqa: ANN401 - botocore's own reply object
        date = http_response.headers.get("Date")
        self._last_date = parsedate_to_datetime(date) if date else None

    def last(self) -> datetime:
        """The time of the last reply; exact to the second."""
        if self._last_date is None:
            raise OutsideFailed("cloudformation:DescribeStacks answered without a Date header")
        return self._last_date

    def now(self) -> datetime:
        """The present time. It costs one call."""
        Stacks(self._cloudformation).of_labs()
        return self.last()


@dataclass(frozen=True)
class Deployment:
    """A deployed lab: the outputs of its controller stack by name, and the clock of its endpoint."""

    name: str
    outputs: Mapping[str, str]
    clock: AwsClock

    @property
    def now(self) -> datetime:
        """When the lab was found."""
        return self.clock.last()

    @cached_property
    def ledger(self) -> Ledger:
        return Ledger(self.outputs["LedgerTable"])

    @cached_property
    def lab(self) -> Lab:
        """The lab as it is deployed. A lab file in the working folder is not read."""
        document = self.ledger.document()
        if document is None:
            raise OutsideFailed(
                f"the ledger {self.outputs['LedgerTable']} holds no lab yet: its deployment has not finished"
            )
        lab = Lab.from_json(document)
        known_names.note("pools", lab.pools)
        known_names.note("windows", [window.name for window in lab.windows])
        printing.show_instants_in(ZoneInfo(lab.time_zone))
        return lab

    @cached_property
    def capacity(self) -> "CapacityServices":
        """The lab's pools in AWS."""
        from lamplighter.application.capacity.services import of_lab  # noqa: PLC0415 -- few verbs need it

        return of_lab(self.lab, self.ledger)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.lab.time_zone)

    def pool(self, name: str | None) -> str:
        """The named pool, or the lab's only one. BadInput names the pool that is most like an unknown name."""
        pools = list(self.lab.pools)
        if name is not None and name not in pools:
            raise BadInput(
                f"POOL: there is no pool '{name[:80]}', the lab has {', '.join(pools)}{did_you_mean(name, pools)}"
            )
        return pool_meant(name, pools)

    def window(self, name: str) -> str:
        """The name of a window. BadInput names the window that is most like an unknown name."""
        windows = [window.name for window in self.lab.windows]
        if windows and name not in windows:
            raise BadInput(
                f"WINDOW: there is no window '{name[:80]}', the lab has {', '.join(windows)}"
                f"{did_you_mean(name, windows)}"
            )
        return window_meant(name, windows)

    def pools(self, name: str | None) -> list[str]:
        """The named pool alone, or all."""
        return [self.pool(name)] if name is not None else list(self.lab.pools)


def find(lab_name: str | None) -> Deployment:
    """The one lab of the account and region, or the named one.

    Raises BadInput where there is none, or where there are several and none is named.
    """
    cloudformation: CloudFormationClient = client("cloudformation", read_seconds=FIRST_READ_SECONDS)
    clock = AwsClock(cloudformation)
    labs = {stack.lab: stack for stack in Stacks(cloudformation).of_labs() if "LedgerTable" in stack.outputs}
    known_names.note("labs", labs)
    stack = _only(labs, lab_name, cloudformation.meta.region_name)
    return Deployment(stack.lab, stack.outputs, clock)


def _only(labs: Mapping[str, Stack], lab_name: str | None, region: str) -> Stack:
    names = ", ".join(sorted(labs)) or "none"
    if lab_name is not None and lab_name in labs:
        return labs[lab_name]
    if lab_name is not None:
        others = _said(elsewhere.labs_elsewhere(region))
        raise BadInput(
            f"--lab-name: no lab '{lab_name[:80]}' is deployed in {region}; deployed there: {names}"
            f"{f'; the account has {others}' if others else did_you_mean(lab_name, labs)}"
        )
    if not labs:
        account, others = elsewhere.account(), _said(elsewhere.labs_elsewhere(region))
        raise BadInput(
            f"no lab is deployed in {region}{f' of account {account}' if account else ''}; "
            + (
                f"the account has {others}"
                if others
                else "deploy one, or name another region with AWS_REGION or another account with AWS_PROFILE"
            )
        )
    if len(labs) > 1:
        raise BadInput(f"--lab-name: several labs are deployed in {region}, name one of {names}")
    return next(iter(labs.values()))


def _said(labs: Mapping[str, str]) -> str:
    """`evening in us-west-2 (AWS_REGION=us-west-2)`; empty where there is none."""
    return ", ".join(f"{lab} in {region} (AWS_REGION={region})" for lab, region in sorted(labs.items()))
