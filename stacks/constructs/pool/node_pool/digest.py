"""A digest of what a deploy would send, so that a step is asked only when that changes."""

import hashlib
import json

from aws_cdk import Stack
from constructs import Construct


def digest(scope: Construct, *sent: object) -> str:
    """16 hexadecimal digits; references to other resources count by their names."""
    document = json.dumps(Stack.of(scope).resolve(list(sent)), sort_keys=True, default=str)
    return hashlib.sha256(document.encode()).hexdigest()[:16]
