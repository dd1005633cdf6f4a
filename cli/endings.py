"""How a verb ends that does not do what was asked: one line for a person, and the exit code.

Where AWS refuses whoever asks, it says what to do about it: only at a prompt, since for a function the same
answers are the outside world's failures, whatever they say.
"""

import difflib
import os

from lamplighter.adapters.aws.calls import error_code
from lamplighter.errors import BadInput, LamplighterError, OutsideFailed, Refused

NO, BAD_INPUT, OUTSIDE = 1, 2, 3
MOST_OF_A_FAULT = 200
EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"})
UNKNOWN = frozenset(
    {
        "AuthFailure",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "UnrecognizedClientException",
    }
)
MIXED_UP = frozenset({"IncompleteSignature", "InvalidSignatureException", "SignatureDoesNotMatch"})
SKEWED = frozenset({"RequestExpired", "RequestInTheFuture", "RequestTimeTooSkewed"})
DENIED = frozenset(
    {"AccessDenied", "AccessDeniedException", "NotAuthorized", "UnauthorizedOperation", "AuthorizationError"}
)
NOT_ENABLED = frozenset({"OptInRequired", "SubscriptionRequiredException"})


def told(error: Exception) -> tuple[str, int]:
    """What to say, one line for each problem, and the exit code."""
    if isinstance(error, BadInput):
        return str(error), BAD_INPUT
    if isinstance(error, Refused):
        return str(error), NO
    if isinstance(error, LamplighterError):
        return _outside(error)
    if isinstance(error, OSError):
        return f"the operating system refused: {error}", OUTSIDE
    fault = " ".join(f"{type(error).__name__}: {error}".split())[:MOST_OF_A_FAULT]
    return (
        f"this is a fault of lamplighter's own ({fault}): ask again with LAMPLIGHTER_TRACEBACK=1 and report "
        "what it says"
    ), OUTSIDE


def is_ours_to_mend(error: Exception) -> bool:
    """Whether it is a fault in this program, of which whoever mends it wants the traceback."""
    return not isinstance(error, (LamplighterError, OSError))


def _outside(error: LamplighterError) -> tuple[str, int]:
    cause = error.__cause__
    code = error_code(cause) if isinstance(error, OutsideFailed) and isinstance(cause, Exception) else ""
    said = _said(cause)
    if code in SKEWED or (code in MIXED_UP and "expired" in said.lower()):
        return (
            f"AWS refuses the time of the request: set this machine's clock, which is wrong ({said})",
            BAD_INPUT,
        )
    if code in EXPIRED:
        return (
            "your AWS credentials have expired: log in again, or name a profile with AWS_PROFILE",
            BAD_INPUT,
        )
    if code in UNKNOWN:
        return (
            f"AWS does not know these credentials ({said.rstrip('.')}): log in again, or name a profile with "
            "AWS_PROFILE; in a region that your account must enable first it says the same"
        ), BAD_INPUT
    if code in MIXED_UP:
        return (
            "AWS does not accept the signature: the secret access key does not belong to the access key, "
            "set both again or name a profile with AWS_PROFILE"
        ), BAD_INPUT
    if code in DENIED | NOT_ENABLED:
        what = f"{error.call} on {error.subject}" if isinstance(error, OutsideFailed) else "a call"
        return f"{what} was denied: {said or code}; whoever manages the account can allow it", OUTSIDE
    said = " ".join(str(error).split())
    region = _unknown_region() if type(cause).__name__ == "EndpointConnectionError" else None
    return (said, OUTSIDE) if region is None else (f"{region} ({said})", BAD_INPUT)


def _unknown_region() -> str | None:
    """What is wrong with the name of the region, where no such region is known: then nothing answers there."""
    import boto3  # noqa: PLC0415 -- known by now

    session = boto3.Session()
    region = os.environ.get("AWS_REGION") or session.region_name
    partitions = session.get_available_partitions()
    known = [each for name in partitions for each in session.get_available_regions("cloudformation", name)]
    if "AWS_ENDPOINT_URL" in os.environ or region is None or region in known:
        return None
    near = difflib.get_close_matches(region, known, 1)
    meant = f", did you mean {near[0]}?" if near else ""
    return f"AWS_REGION: there is no region '{region[:80]}'{meant}"


def _said(cause: BaseException | None) -> str:
    """AWS's own words, in one line."""
    response: dict[str, dict[str, str]] | None = getattr(cause, "response", None)
    return " ".join((response or {}).get("Error", {}).get("Message", "").split())
