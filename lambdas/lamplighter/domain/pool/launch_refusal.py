"""What AWS refuses a launch for: the one reading of its texts, for the running lease and for the diagnosis.

Reads what Auto Scaling's activities, a node group's health and Karpenter say.

The text decides and not the code around it: EKS files quota and permission failures under one health code, and
Karpenter calls every refusal InsufficientCapacityError.
"""

import re

# First match wins: a text that carries several codes is judged by the inner, more particular one.
_REFUSALS = (
    (
        "vcpu-quota",
        re.compile(
            r"VcpuLimitExceeded|more vCPU capacity than your current vCPU limit|InstanceLimitExceeded"
            # The texts of these codes, as Auto Scaling passes them on without the code.
            r"|MaxSpotInstanceCountExceeded|Max spot instance count exceeded"
            r"|more instances \(\d+\) than your current instance limit|\d+ instance\(s\) are already running"
            r"|quota allows for \d+ more running instance",
            re.IGNORECASE,
        ),
    ),
    (
        "launch-denied",
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
        "no-addresses",
        re.compile(
            r"InsufficientFreeAddresses|InsufficientCidrBlocks"
            r"|(?:enough|sufficient|no) free (?:IP )?addresses|free addresses? in (?:the )?subnet",
            re.IGNORECASE,
        ),
    ),
    (
        "no-capacity",
        re.compile(
            r"InsufficientInstanceCapacity|not have sufficient|insufficient capacity|UnfulfillableCapacity"
            r"|InsufficientHostCapacity|InsufficientCapacity|is not supported in your requested Availability Zone"
            r"|no Spot capacity available|(?<![\w.-])(?-i:ICE)(?![\w.-])",
            re.IGNORECASE,
        ),
    ),
)


def refusal(said: str) -> str | None:
    """The cause that a refusal's text names; None for any other text."""
    return next((cause for cause, pattern in _REFUSALS if pattern.search(said)), None)


NEVER_JOINED = frozenset(
    {"NodeCreationFailure", "AccessDenied", "Ec2SubnetInvalidConfiguration", "ClusterUnreachable"}
)
"""Codes of a node group's health that speak of instances that run: no launch was refused."""


def health_refusal(code: str, message: str) -> str | None:
    """The cause that an issue of a node group's health names, by its text first; None for any other issue."""
    return None if code in NEVER_JOINED else refusal(message) or refusal(code)
