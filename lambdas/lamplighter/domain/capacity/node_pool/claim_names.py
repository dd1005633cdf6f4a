"""Whose claim a name is: Karpenter names a claim after its NodePool, and the API server adds five characters.

It cuts a long name so that the whole has 63 (apiserver/pkg/storage/names/generate.go). Events outlive their claims, and
have nothing but the name.
"""

RANDOM, LONGEST = 5, 63


def is_claim_of(name: str, node_pool: str) -> bool:
    """Whether a claim of this name is the NodePool's."""
    before = f"{node_pool}-"[: LONGEST - RANDOM]
    added = name.removeprefix(before)
    return name.startswith(before) and len(added) == RANDOM and added.isalnum()
