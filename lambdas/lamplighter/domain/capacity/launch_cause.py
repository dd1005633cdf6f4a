"""Why AWS refuses to launch instances: the one decision, for a lease that waits for nodes and for a diagnosis.

Judges what AWS and Karpenter say about launches and about a pool's health. The text decides and not the code around
it: EKS files quota and permission failures under one health code, and Karpenter calls every refusal
InsufficientCapacityError.
"""

import re
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from lamplighter.domain.capacity.evidence import HealthIssue


class LaunchCause(StrEnum):
    """The causes of `diagnose` that are about a refused launch."""

    VCPU_QUOTA = "vcpu-quota"
    LAUNCH_DENIED = "launch-denied"
    NO_ADDRESSES = "no-addresses"
    NO_CAPACITY = "no-capacity"
    WRONG_INSTANCE_TYPE = "wrong-instance-type"
    """The zone does not offer the type, so no waiting helps."""
    UNKNOWN = "unknown"
    """No rule here knows the text."""


class LaunchAttempt(NamedTuple):
    """A launch as AWS records it."""

    started: datetime | None
    status: str
    text: str
    """What AWS says about it."""

    @property
    def failed(self) -> bool:
        """Whether AWS refused it or gave it up."""
        return self.status in {"Failed", "Cancelled"}


class LaunchRefusal(NamedTuple):
    """A refused launch, or an issue of the pool's health that speaks of one."""

    cause: LaunchCause
    text: str
    """The words of AWS that name the cause."""


NEVER_JOINED = frozenset(
    {"NodeCreationFailure", "AccessDenied", "Ec2SubnetInvalidConfiguration", "ClusterUnreachable"}
)
"""Codes of a pool's health about instances that run and did not join: no launch was refused."""

# The first match wins: of a text with several codes the inner, more particular one counts.
_TEXTS = (
    (
        LaunchCause.VCPU_QUOTA,
        re.compile(
            r"VcpuLimitExceeded|more vCPU capacity than your current vCPU limit|InstanceLimitExceeded"
            # The texts of these codes, as AWS passes them on without the code.
            r"|MaxSpotInstanceCountExceeded|Max spot instance count exceeded"
            r"|more instances \(\d+\) than your current instance limit|\d+ instance\(s\) are already running"
            r"|quota allows for \d+ more running instance",
            re.IGNORECASE,
        ),
    ),
    (
        LaunchCause.LAUNCH_DENIED,
        re.compile(
            r"UnauthorizedOperation|not authorized|Access ?Denied|AuthFailure|explicit deny"
            # Never a bare KMS, which anybody may have in the name of a role or a launch template.
            r"|InvalidKMSKey|KMSKeyNotAccessible|\bKMS\.\w+Exception|\bKMS key (?:provided|specified|ID|is|was|does)\b"
            r"|customer master key"
            r"|service-linked role|ServiceLinkedRole|Client\.InternalError|Invalid ?IAM ?Instance ?Profile"
            r"|IamInstanceProfileNotFound|IamNodeRoleNotFound",
            re.IGNORECASE,
        ),
    ),
    (
        LaunchCause.NO_ADDRESSES,
        re.compile(
            r"InsufficientFreeAddresses|InsufficientCidrBlocks"
            r"|(?:enough|sufficient|no) free (?:IP )?addresses|free addresses? in (?:the )?subnet",
            re.IGNORECASE,
        ),
    ),
    (
        LaunchCause.NO_CAPACITY,
        re.compile(
            r"InsufficientInstanceCapacity|not have sufficient|insufficient capacity|UnfulfillableCapacity"
            r"|InsufficientHostCapacity|InsufficientCapacity"
            r"|no Spot capacity available|no more unused capacity|(?<![\w.-])(?-i:ICE)(?![\w.-])",
            re.IGNORECASE,
        ),
    ),
    (
        LaunchCause.WRONG_INSTANCE_TYPE,
        # EC2's code Unsupported, also for a type that the zone will never have. After a shortage in another zone, where
        # waiting helps.
        re.compile(r"is not supported in your requested Availability Zone", re.IGNORECASE),
    ),
)


class AccountBlocker(StrEnum):
    """What holds back a whole account, so that no change of the lab helps."""

    FREE_PLAN = "free-plan"
    VERIFICATION = "verification"
    BLOCKED = "blocked"
    SERVICE_ROLE = "service-role"
    """A service-linked role that AWS needs for the launch does not exist, and nobody who asked may create it."""


#: Words of EC2 and of its codes, in lower case. Plain words cost nothing at a cold start.
_BLOCKERS = {
    "not eligible for free tier": AccountBlocker.FREE_PLAN,
    "free plan": AccountBlocker.FREE_PLAN,
    "pendingverification": AccountBlocker.VERIFICATION,
    "currently being verified": AccountBlocker.VERIFICATION,
    "in this region is being validated": AccountBlocker.VERIFICATION,
    "account is currently blocked": AccountBlocker.BLOCKED,
    "optinrequired": AccountBlocker.BLOCKED,
    "not subscribed to this service": AccountBlocker.BLOCKED,
    # EC2's code AuthFailure.ServiceLinkedRoleCreationNotPermitted and its text, that of a group, and IAM's action.
    "servicelinkedrolecreation": AccountBlocker.SERVICE_ROLE,
    "create the service-linked role": AccountBlocker.SERVICE_ROLE,
    "the default service-linked role for": AccountBlocker.SERVICE_ROLE,
    "iam:createservicelinkedrole": AccountBlocker.SERVICE_ROLE,
}
_EBS_QUOTA = "volumelimitexceeded", "maxiopslimitexceeded"


def blocker_of(text: str) -> AccountBlocker | None:
    """What holds back the account, by AWS's words; None where they say nothing of it."""
    low = text.lower()
    return next((blocker for words, blocker in _BLOCKERS.items() if words in low), None)


def of_ebs_quota(text: str) -> bool:
    """Whether AWS's words are about the account's quota of EBS volumes, which is no permission and no vCPU."""
    return any(code in text.lower() for code in _EBS_QUOTA)


def refusals(attempts: Iterable[LaunchAttempt], issues: Iterable[HealthIssue]) -> tuple[LaunchRefusal, ...]:
    """The refusals whose cause is known, in the order of the attempts.

    The pool's health counts only where no attempt names a cause: EKS keeps an issue until a launch succeeds.
    Callers leave out attempts and issues that are history.
    """
    named = tuple(
        LaunchRefusal(cause, attempt.text)
        for attempt in attempts
        if attempt.failed and (cause := cause_of(attempt.text)) is not LaunchCause.UNKNOWN
    )
    return named or tuple(
        LaunchRefusal(cause, issue.text)
        for issue in issues
        if (cause := cause_of_health(issue)) is not LaunchCause.UNKNOWN
    )


def cause_of(text: str) -> LaunchCause:
    """The cause that a text of AWS or Karpenter names."""
    if blocker_of(text):
        return LaunchCause.LAUNCH_DENIED
    return next((cause for cause, pattern in _TEXTS if pattern.search(text)), LaunchCause.UNKNOWN)


def cause_of_health(issue: HealthIssue) -> LaunchCause:
    """The cause that an issue of a pool's health names: its message counts before its code."""
    if issue.code in NEVER_JOINED:
        return LaunchCause.UNKNOWN
    cause = cause_of(issue.message)
    return cause if cause is not LaunchCause.UNKNOWN else cause_of(issue.code)
