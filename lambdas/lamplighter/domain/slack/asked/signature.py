"""Whether a request is Slack's and fresh: the v0 signature over timestamp and raw body, and its age.

Source: https://docs.slack.dev/authentication/verifying-requests-from-slack. The adapter reads
the secret, and application/slack/receiving.py answers an unsigned request.
"""

import hashlib
import hmac
import re
from datetime import UTC, datetime, timedelta

OLDEST = timedelta(minutes=5)
SKEW = timedelta(seconds=1)
"""Slack writes whole seconds, rounded down. A later stamp is from the future."""
_STAMP = re.compile(r"[0-9]{1,11}", re.ASCII)
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}", re.ASCII)


def fresh(stamp: str, now: datetime) -> datetime | None:
    """When the request was made, by its stamp; None where that is unreadable, too old or in the future."""
    if not _STAMP.fullmatch(stamp):
        return None
    made = datetime.fromtimestamp(int(stamp), UTC)
    return made if -SKEW <= now - made <= OLDEST else None


def well_formed(given: str) -> bool:
    """Whether a text has the form of a signature. Nothing is computed for one that has not."""
    return _SIGNATURE.fullmatch(given) is not None


def signed(secret: str, stamp: str, body: bytes) -> str:
    """The signature that Slack gives such a request."""
    return "v0=" + hmac.new(secret.encode(), _base(stamp, body), hashlib.sha256).hexdigest()


def fits(secret: str, stamp: str, body: bytes, given: str) -> bool:
    """Whether the signature is Slack's, compared in constant time; an empty secret fits nothing."""
    return bool(secret) and hmac.compare_digest(signed(secret, stamp, body).encode(), given.encode())


def key_of(stamp: str, body: bytes) -> str:
    """16 hex digits that name a request. The same request always has the same ones."""
    return hashlib.sha256(_base(stamp, body)).hexdigest()[:16]


def _base(stamp: str, body: bytes) -> bytes:
    return b"v0:" + stamp.encode() + b":" + body
