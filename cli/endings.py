"""The message and the exit code of a verb that fails: one line for a person.

Where AWS refuses the caller's credentials, the line says what to do. Only a person at a prompt can do it: for a
function the same answers are failures of the outside world.
"""

import os

from cli.nearest import did_you_mean
from cli.printing import drawn_error, in_line
from lamplighter.adapters.aws.calls import error_code
from lamplighter.errors import BadInput, LamplighterError, OutsideFailed, Refused

NO, BAD_INPUT, OUTSIDE = 1, 2, 3
OUR_MODULES = frozenset({"cli", "handlers", "lamplighter", "local", "stacks"})
OF_DEPLOY = frozenset({"aws_cdk", "constructs", "jsii"})
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


def ending(error: Exception) -> tuple[str, int]:
    """The message, with one line for each problem, and the exit code."""
    if isinstance(error, BadInput):
        # A lab file's problems are a line each. A reason is one sentence: what begins a line in it is a value.
        said = drawn_error(error)
        return said if isinstance(error.said, str) else in_line(said), BAD_INPUT
    if isinstance(error, Refused):
        return in_line(drawn_error(error)), NO
    if isinstance(error, LamplighterError):
        return _outside(error)
    if isinstance(error, OSError):
        return in_line(f"the operating system refused: {error}"), OUTSIDE
    extra = missing_extra(error)
    if extra is not None:
        return extra, BAD_INPUT
    fault = " ".join(f"{type(error).__name__}: {error}".split())[:MOST_OF_A_FAULT]
    return (
        f"lamplighter itself has a bug ({fault}): repeat the command with LAMPLIGHTER_TRACEBACK=1 and report "
        "the output"
    ), OUTSIDE


def is_bug(error: Exception) -> bool:
    """Whether the error is a bug of this program, so that its traceback is of use."""
    return not isinstance(error, (LamplighterError, OSError)) and missing_extra(error) is None


def missing_extra(error: Exception) -> str | None:
    """What to install, where a package of an extra is missing; None for every other error."""
    module = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if not module or module in OUR_MODULES:
        return None
    caller, extra = ("app.py", "deploy") if module in OF_DEPLOY else ("lamplighter local", "local")
    return f"`{caller}` needs the extra {extra}: uv tool install 'lamplighter[{extra}]' (no package {module} here)"


def _outside(error: LamplighterError) -> tuple[str, int]:
    cause = error.__cause__
    code = error_code(cause) if isinstance(error, OutsideFailed) and isinstance(cause, Exception) else ""
    message = _message(cause)
    if code in SKEWED or (code in MIXED_UP and "expired" in message.lower()):
        return (
            f"AWS refuses the time of the request: set this machine's clock, which is wrong ({message})",
            BAD_INPUT,
        )
    if code in EXPIRED:
        return (
            "your AWS credentials have expired: log in again, or name a profile with AWS_PROFILE",
            BAD_INPUT,
        )
    if code in UNKNOWN:
        return (
            f"AWS does not know these credentials ({message.rstrip('.')}): log in again, or name a profile with "
            "AWS_PROFILE; AWS says the same in a region that your account has not enabled"
        ), BAD_INPUT
    if code in MIXED_UP:
        return (
            "AWS does not accept the signature because the secret access key does not belong to the access key: "
            "set both again, or name a profile with AWS_PROFILE"
        ), BAD_INPUT
    if code in DENIED | NOT_ENABLED:
        what = f"{error.call} on {error.subject}" if isinstance(error, OutsideFailed) else "a call"
        return f"AWS denied {what}: {message or code}; an administrator of the account can allow it", OUTSIDE
    text = " ".join(drawn_error(error).split())
    region = _unknown_region() if type(cause).__name__ == "EndpointConnectionError" else None
    return (text, OUTSIDE) if region is None else (f"{region} ({text})", BAD_INPUT)


def _unknown_region() -> str | None:
    """The message about a region that does not exist; None where the region exists."""
    import boto3  # noqa: PLC0415 -- the failed call has imported it

    session = boto3.Session()
    region = os.environ.get("AWS_REGION") or session.region_name
    partitions = session.get_available_partitions()
    known = [
        name
        for partition in partitions
        for name in session.get_available_regions("cloudformation", partition)
    ]
    if "AWS_ENDPOINT_URL" in os.environ or region is None or region in known:
        return None
    return f"AWS_REGION: there is no region '{region[:80]}'{did_you_mean(region, known)}"


def _message(cause: BaseException | None) -> str:
    """AWS's own words, in one line."""
    response: dict[str, dict[str, str]] | None = getattr(cause, "response", None)
    return " ".join((response or {}).get("Error", {}).get("Message", "").split())
