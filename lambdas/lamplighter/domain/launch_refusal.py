"""What AWS refuses a launch for: the one reading of its texts, for the running lease and for the diagnosis.

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
            r"|MaxSpotInstanceCountExceeded",
            re.IGNORECASE,
        ),
    ),
    (
        "launch-denied",
        re.compile(
            r"UnauthorizedOperation|not authorized|Access ?Denied|AuthFailure|explicit deny|KMS"
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
            r"|\bICE\b",
            re.IGNORECASE,
        ),
    ),
)


def refusal(said: str) -> str | None:
    """The cause that a refusal's text names; None for any other text."""
    return next((cause for cause, pattern in _REFUSALS if pattern.search(said)), None)
