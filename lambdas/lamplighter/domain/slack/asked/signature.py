"""Whether a request is Slack's and fresh: the v0 signature over timestamp and raw body, and its age.

Source: https://docs.slack.dev/authentication/verifying-requests-from-slack. Where the secret comes from is the
adapter's, what an unsigned request is answered is application/slack/receiving.py's.
"""

import hashlib
import hmac
import re
from datetime import UTC, datetime, timedelta

OLDEST = timedelta(minutes=5)
SKEW = timedelta(seconds=1)
"""Slack writes whole seconds, rounded down: a stamp that lies ahead by more is from the future."""
_STAMP = re.compile(r"[0-9]{1,11}", re.ASCII)
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}", re.ASCII)


def fresh(stamp: str, now: datetime) -> datetime | None:
    """When the request was made, by its stamp; None for one that is unreadable, too old or from the future."""
    if not _STAMP.fullmatch(stamp):
        return None
    made = datetime.fromtimestamp(int(stamp), UTC)
    return made if -SKEW <= now - made <= OLDEST else None


def well_formed(given: str) -> bool:
    """Whether this may be a signature at all: nothing is asked about one that cannot."""
    return _SIGNATURE.fullmatch(given) is not None


def signed(secret: str, stamp: str, body: bytes) -> str:
    """The signature that Slack gives such a request."""
    return "v0=" + hmac.new(secret.encode(), _base(stamp, body), hashlib.sha256).hexdigest()


def fits(secret: str, stamp: str, body: bytes, given: str) -> bool:
    """Whether the signature is Slack's, found out in a time that tells nothing; an empty secret fits nothing."""
    return bool(secret) and hmac.compare_digest(signed(secret, stamp, body).encode(), given.encode())


def key_of(stamp: str, body: bytes) -> str:
    """16 hex digits that name this very request: seen again, it has them again."""
    return hashlib.sha256(_base(stamp, body)).hexdigest()[:16]


def _base(stamp: str, body: bytes) -> bytes:
    return b"v0:" + stamp.encode() + b":" + body
