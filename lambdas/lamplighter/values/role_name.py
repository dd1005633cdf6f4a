"""The names of a lab's IAM roles. The stacks create the roles; a function that changes one must name it."""

import hashlib

# IAM allows 64 characters for a role; a lab's name may have 40.
LENGTH = 64


def role_name(lab: str, region: str, purpose: str) -> str:
    """Roles are global to an account, so the region is part of the name."""
    name = f"{lab}-{region}-{purpose}"
    if len(name) <= LENGTH:
        return name
    # The short digest distinguishes two labs whose names begin the same.
    digest = hashlib.sha256(name.encode()).hexdigest()[:6]
    kept = LENGTH - len(purpose) - len(digest) - 2
    return f"{name[:kept]}-{digest}-{purpose}"
