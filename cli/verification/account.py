"""The AWS account that `lamplighter verify` asks: its clients, its clock, its stacks, and the lab that is there."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any, Self

from cli import deployed as played
from cli.deployment import Deployment
from cli.use.orders import waiting
from cli.verification.outcome import Differs, Unfit
from lamplighter.adapters.aws.calls import client, error_code, outside
from lamplighter.adapters.aws.cloudformation import Stacks
from lamplighter.data import prices
from lamplighter.domain.capacity.evidence import NOW, Part, Seen
from lamplighter.domain.capacity.kinds import NODE_GROUP
from lamplighter.domain.capacity.node_pool.off_switch import MACHINE
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.money import Money, cost
from lamplighter.errors import LamplighterError, OutsideFailed, TryLater
from lamplighter.lab.kinds import KINDS, Code

PAUSE_SECONDS = 5.0
CURRENCY = "USD"
STACK_MINUTES = 15
READ_SECONDS = 30
"""EC2 answers when it has accepted every instance of a hundred."""
# An import may have a word of its own: CDK takes both for a success.
CREATED = {"CREATE_COMPLETE", "IMPORT_COMPLETE"}
ROLLED_BACK = {"ROLLBACK_COMPLETE", "IMPORT_ROLLBACK_COMPLETE"}
REVIEWED = "REVIEW_IN_PROGRESS"
DENIED = "is not authorized to perform", "with an explicit deny"
FUNCTION = "AWS::Lambda::Function"
SOON = timedelta(hours=3)
"""Longer than any step."""
OVER = frozenset({LeaseState.CLOSED, LeaseState.REFUSED})


@dataclass
class Account:
    """The account and region of the caller's credentials. `deployment` is the lab there, None where there is none."""

    id: str
    region: str
    clock: Callable[[], datetime]
    deployment: Deployment | None = None
    kind: Code = NODE_GROUP
    """The kind of the pool on which nodes are started."""
    _clients: dict[str, Any] = field(default_factory=dict)

    def call(self, service: str, operation: str, subject: str, **request: object) -> dict[str, Any]:
        """One call by boto3's names. Raises OutsideFailed or TryLater with its call and subject."""
        if service not in self._clients:
            self._clients[service] = client(service, read_seconds=READ_SECONDS)
        name = "".join(word.capitalize() for word in operation.split("_"))
        with outside(f"{service}:{name}", subject):
            reply: dict[str, Any] = getattr(self._clients[service], operation)(**request)
        return reply

    def attempt(
        self, codes: Collection[str], service: str, operation: str, subject: str, **request: object
    ) -> dict[str, Any] | None:
        """The same; None where AWS refuses it with one of these error codes."""
        try:
            return self.call(service, operation, subject, **request)
        except OutsideFailed as error:
            if isinstance(error.__cause__, Exception) and error_code(error.__cause__) in codes:
                return None
            raise

    def until(self, what: str, within: timedelta, look: Callable[[], bool]) -> None:
        """Look again and again until it is so. Raises Differs after `within`, or the error of the last look."""
        unread: LamplighterError | None = None
        for _ in waiting(within.total_seconds(), PAUSE_SECONDS):
            try:
                if look():
                    return
                unread = None
            except (OutsideFailed, TryLater) as error:
                # One answer that did not come is no reason to give up half an hour of waiting.
                unread = error
        if unread is not None:
            raise unread
        raise Differs(f"not within {within.total_seconds() / 60:.0f} minutes: {what}")

    # the throw-away stack

    def create_stack(
        self, name: str, template: str, fails_at: str | None = None, *, imports: bool = False
    ) -> Mapping[str, str]:
        """Create a stack and wait until it is complete, or rolled back because this resource failed. It `imports` what
        an earlier one left, as `cdk deploy --import-existing-resources` does.

        Its roles have the permissions boundary that the lab's have: an organisation may demand it. Returns its
        outputs. Raises Differs at another end, Unfit where the caller may not make what is in it.
        """
        boundary = self.deployment.lab.permissions_boundary if self.deployment else None
        document = json.loads(template)
        for resource in document["Resources"].values():
            if boundary is not None and resource["Type"] == "AWS::IAM::Role":
                resource["Properties"]["PermissionsBoundary"] = boundary
        request = {"TemplateBody": json.dumps(document), "Capabilities": ["CAPABILITY_IAM"]}
        if imports:
            self._import(name, request)
        else:
            self.call("cloudformation", "create_stack", name, StackName=name, **request)
        ended = self._settled(name)
        status, failed = ended["StackStatus"], self.failure(name)
        as_asked = CREATED if fails_at is None else ROLLED_BACK
        if status not in as_asked or (fails_at is not None and failed[0] != fails_at):
            failure = ": ".join(failed)
            # Of a service control policy, a boundary or the caller's own policies.
            if any(words in failure for words in DENIED):
                advice = _advice(failure, boundary)
                raise Unfit(f"the caller may not make the stack {name}: {failure}{advice}")
            raise Differs(f"the stack {name} ended {status}: {failure}")
        return {output["OutputKey"]: output["OutputValue"] for output in ended.get("Outputs", [])}

    def _import(self, name: str, request: Mapping[str, object]) -> None:
        change = {"StackName": name, "ChangeSetName": name}
        asked = {**change, **request, "ChangeSetType": "CREATE", "ImportExistingResources": True}
        self.call("cloudformation", "create_change_set", name, **asked)

        def ready() -> bool:
            found = self.call("cloudformation", "describe_change_set", name, **change)
            if found["Status"] == "FAILED":
                raise Differs(f"CloudFormation refuses the change set {name}: {found['StatusReason']}")
            return bool(found["Status"] == "CREATE_COMPLETE")

        self.until(f"the change set {name} is complete", timedelta(minutes=STACK_MINUTES), ready)
        self.call("cloudformation", "execute_change_set", name, **change)

    def delete_stack(self, name: str) -> None:
        """Delete a stack and wait until it is gone. A stack that does not exist is gone.

        CloudFormation may refuse while it still works on the stack, for a caller that was killed: that is awaited.
        """
        still = f"CloudFormation's work on the stack {name} ends"
        self.until(still, timedelta(minutes=STACK_MINUTES), lambda: not self._at_work(name))
        if not self._status(name):
            return
        self.call("cloudformation", "delete_stack", name, StackName=name)
        self.until(f"the stack {name} is deleted", timedelta(minutes=STACK_MINUTES), lambda: self._gone(name))

    def _at_work(self, name: str) -> bool:
        """A stack whose first change set was never executed waits for nothing."""
        status = self._status(name)
        return status != REVIEWED and status.endswith("IN_PROGRESS")

    def _gone(self, name: str) -> bool:
        status = self._status(name)
        if status == "DELETE_FAILED":
            raise Differs(
                f"CloudFormation could not delete the stack {name}: {': '.join(self.failure(name))}"
            )
        return not status

    def _settled(self, name: str) -> dict[str, Any]:
        def settled() -> bool:
            status = self._status(name)
            return bool(status) and not status.endswith("IN_PROGRESS")

        self.until(f"the stack {name} is complete", timedelta(minutes=STACK_MINUTES), settled)
        return self._stack(name) or {}

    def _status(self, name: str) -> str:
        """CloudFormation's word for it; empty where the stack does not exist."""
        return str((self._stack(name) or {"StackStatus": ""})["StackStatus"])

    def _stack(self, name: str) -> dict[str, Any] | None:
        # A stack that does not exist has no code of its own.
        reply = self.attempt({"ValidationError"}, "cloudformation", "describe_stacks", name, StackName=name)
        stacks = reply["Stacks"] if reply else []
        return next((stack for stack in stacks if stack["StackStatus"] != "DELETE_COMPLETE"), None)

    def failure(self, name: str) -> tuple[str, str]:
        """The first resource of the stack that failed, and its reason."""
        events = self.call("cloudformation", "describe_stack_events", name, StackName=name)["StackEvents"]
        failures = (
            (event["LogicalResourceId"], event.get("ResourceStatusReason", ""))
            for event in reversed(events)
            if event["ResourceStatus"].endswith("FAILED")
        )
        return next(failures, (name, "no reason is given"))

    # the lab

    @property
    def lab(self) -> Deployment:
        """The deployed lab. Raises Unfit where there is none."""
        if self.deployment is None:
            raise Unfit("no lab is deployed in this region")
        return self.deployment

    def on(self, kind: Code) -> Self:
        """The same account, with nodes on a pool of this kind."""
        return self if kind == self.kind else replace(self, kind=kind)

    @cached_property
    def pool(self) -> str:
        """The cheapest pool of its kind, on which nodes are started. Raises Unfit where there is none."""
        pools = self.lab.lab.pools
        priced = [(self._price(name), name) for name, pool in pools.items() if pool.kind == self.kind]
        if not priced:
            raise Unfit(f"the lab has no pool of kind {self.kind}")
        return min(priced)[1]

    def _price(self, pool: str) -> Decimal:
        terms = self._terms.get(pool)
        if terms is None:
            raise Unfit(f"the price of the pool {pool} is not known")
        return terms.price_per_hour

    @cached_property
    def _terms(self) -> Mapping[str, Terms]:
        return played.look(self.lab).terms

    def cost(self, nodes: int, length: timedelta, instance_type: str | None = None) -> Money:
        """What nodes of the pool cost for so long, or instances of a type at the price that Lamplighter ships."""
        if not nodes:
            return Money.zero(self.currency)
        if instance_type is None:
            return cost(nodes, length, self._price(self.pool), self.currency)
        price = prices.on_demand(self.region, instance_type, self.currency)
        if price is None:
            raise Unfit(f"the price of {instance_type} in {self.region} is not known in {self.currency}")
        return cost(nodes, length, price, self.currency)

    @property
    def currency(self) -> str:
        return self.deployment.lab.guard.budget.currency if self.deployment else CURRENCY

    @property
    def failsafe(self) -> str:
        """The state machine that is the failsafe of the lab's NodePools."""
        return f"arn:aws:states:{self.region}:{self.id}:stateMachine:{self.lab.name}-{MACHINE}"

    def see(self) -> Seen:
        """The pool as it is now; of a NodePool what EC2 has, since few callers may read Kubernetes."""
        return self.lab.capacity.see(
            self.pool, {Part.INSTANCES} if "node pool" in KINDS[self.kind].traits else NOW
        )

    def leased(self, until: datetime, of: str | None = None) -> str | None:
        """A lease of the lab, or of one pool, that runs or begins before an instant; None where there is none."""
        for pool in [of] if of else self.lab.lab.pools:
            for lease in self.lab.ledger.leases(pool):
                if lease.state not in OVER and lease.opens < until:
                    return lease.id
        return None

    def idle(self) -> None:
        """Raises Unfit unless no lease of the lab runs or begins soon, and its pool has no node."""
        lease = self.leased(self.clock() + SOON)
        if lease is not None:
            raise Unfit(f"the lease {lease} runs, or begins within {SOON.total_seconds() / 3600:.0f} hours")
        seen = self.see()
        if seen.size or seen.existing:
            raise Unfit(f"the pool {self.pool} is not at zero")

    def functions(self) -> list[str]:
        """The names of all functions in the lab's stacks."""
        return self.resources(FUNCTION)

    def resources(self, kind: str) -> list[str]:
        """The physical ids of all resources of a type in the lab's stacks."""
        names: list[str] = []
        for stack in Stacks().of_labs(self.lab.name):
            token: dict[str, str] = {}
            while True:
                page = self.call(
                    "cloudformation", "list_stack_resources", stack.name, StackName=stack.name, **token
                )
                names += [
                    found["PhysicalResourceId"]
                    for found in page["StackResourceSummaries"]
                    if found["ResourceType"] == kind
                ]
                if "NextToken" not in page:
                    break
                token = {"NextToken": page["NextToken"]}
        return names


def _advice(failure: str, boundary: str | None) -> str:
    """What to set where an organisation denies a role: it may demand a permissions boundary."""
    if "iam:CreateRole" not in failure or DENIED[1] not in failure:
        return ""
    if boundary is None:
        return "; if the organisation demands a permissions boundary, set the lab's key permissions_boundary"
    return (
        f"; the role has the boundary of the lab's key permissions_boundary, {boundary}: is it the right one?"
    )
