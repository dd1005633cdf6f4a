"""Finds the one lab that is deployed in the account and region, and what time AWS says it is.

Owns the look-up by stack tag and the outputs' names; what a verb then does with the lab is the verb's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from cli import elsewhere
from cli.look_after import known_names
from lamplighter.adapters.aws.calls import FIRST_READ_SECONDS, client
from lamplighter.adapters.aws.cloudformation import Stack, Stacks
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.commands.meant import pool_meant, window_meant
from lamplighter.errors import BadInput, OutsideFailed
from lamplighter.lab.model import Lab

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient


class AwsClock:
    """The time as the AWS endpoint's `Date` header tells it, never the machine's."""

    def __init__(self, cloudformation: "CloudFormationClient") -> None:
        self._seen: datetime | None = None
        self._cloudformation = cloudformation
        cloudformation.meta.events.register("after-call.cloudformation", self._note)

    def _note(self, http_response: Any, **_: object) -> None:  # noqa: ANN401 - botocore's own reply object
        said = http_response.headers.get("Date")
        self._seen = parsedate_to_datetime(said) if said else None

    def last(self) -> datetime:
        """The time of the last reply; exact to the second."""
        if self._seen is None:
            raise OutsideFailed("cloudformation:DescribeStacks answered without a Date header")
        return self._seen

    def now(self) -> datetime:
        """The present time, by one more call."""
        Stacks(self._cloudformation).of_labs()
        return self.last()


@dataclass(frozen=True)
class Deployment:
    """A deployed lab: its outputs by name and the clock of its endpoint."""

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
        """The lab as it is deployed, not as a file beside you says."""
        document = self.ledger.document()
        if document is None:
            raise OutsideFailed(
                f"the ledger {self.outputs['LedgerTable']} holds no lab yet: its deployment has not finished"
            )
        lab = Lab.from_json(document)
        known_names.note("pools", lab.pools)
        known_names.note("windows", [window.name for window in lab.windows])
        return lab

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.lab.time_zone)

    def pool(self, named: str | None) -> str:
        """The pool that is meant: the named one, or the only one."""
        return pool_meant(named, list(self.lab.pools))

    def window(self, named: str) -> str:
        """The name of a window, if the lab has it."""
        return window_meant(named, [window.name for window in self.lab.windows])

    def pools(self, named: str | None) -> list[str]:
        """The named pool alone, or all."""
        return [self.pool(named)] if named is not None else list(self.lab.pools)


def find(lab_name: str | None) -> Deployment:
    """The one lab of the account and region, or the named one.

    Raises BadInput when there is none, or several and none is named.
    """
    cloudformation: CloudFormationClient = client("cloudformation", read_seconds=FIRST_READ_SECONDS)
    clock = AwsClock(cloudformation)
    labs = {stack.lab: stack for stack in Stacks(cloudformation).of_labs() if "LedgerTable" in stack.outputs}
    known_names.note("labs", labs)
    found = _only(labs, lab_name, cloudformation.meta.region_name)
    return Deployment(found.lab, found.outputs, clock)


def _only(labs: Mapping[str, Stack], lab_name: str | None, region: str) -> Stack:
    seen = ", ".join(sorted(labs)) or "none"
    if lab_name is not None and lab_name in labs:
        return labs[lab_name]
    if lab_name is not None:
        others = elsewhere.look(region)
        there = f"; this account has {others.said()}" if others.labs else ""
        raise BadInput(
            f"--lab-name: no lab '{lab_name[:80]}' is deployed in {region}; deployed there: {seen}{there}"
        )
    if not labs:
        others = elsewhere.look(region)
        account = f" of account {others.account}" if others.account else ""
        there = (
            f"it has {others.said()}"
            if others.labs
            else "and none was seen in its other regions: deploy one, or name another region with AWS_REGION"
        )
        raise BadInput(f"no lab is deployed in {region}{account}; {there}; AWS_PROFILE names another account")
    if len(labs) > 1:
        raise BadInput(f"--lab-name: several labs are deployed in {region}, name one of {seen}")
    return next(iter(labs.values()))
