"""The lock: an inline policy that denies whoever launches a pool's instances the launches of that pool alone.

The failsafe's machine puts it on the role of the pool's controller before it ends instances, else a living Karpenter
would start others. The next opening takes it away.
"""

from collections.abc import Mapping

DENIED = ("ec2:CreateFleet", "ec2:RunInstances")


def policy_name(node_pool: str) -> str:
    """The name of the inline policy: by NodePool, since two labs of one cluster may have a pool of the same name."""
    return f"lamplighter-lock-{node_pool}"


def document(tags: Mapping[str, str]) -> Mapping[str, object]:
    """The policy's document. Every launch carries the tags by which instances are the pool's.

    They name the cluster too: controllers of two clusters may have the same role.
    """
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "LamplighterLock",
                "Effect": "Deny",
                "Action": list(DENIED),
                "Resource": "*",
                "Condition": {
                    "StringEquals": {f"aws:RequestTag/{key}": value for key, value in tags.items()}
                },
            }
        ],
    }
