"""Settings of every call to AWS: short time-outs, and AWS's errors translated into ours.

Owns the connection settings; which calls are made is the business of the adapter beside it. boto3 is
imported on first use, so that a function that refuses early never pays for it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from lamplighter.errors import BadInput, OutsideFailed, TryLater
from lamplighter.reasons.reason import Reason, reason

# Two attempts of at most 4 s and a back-off of at most 1 s: an unreachable endpoint is told within 10 s.
ATTEMPTS = 2
CONNECT_SECONDS = 3
READ_SECONDS = 4
FIRST_READ_SECONDS = 3
"""For the first call of a program: its start takes time too, and a person waits at a prompt."""

CALLED = "lamplighter"
"""The caller's name in CloudTrail. botocore would build its own user agent twice a call, a sixth of the call's cost."""

THROTTLED = frozenset(
    {
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)


def client(
    service: str, *, read_seconds: int = READ_SECONDS, attempts: int = ATTEMPTS, region: str | None = None
) -> Any:  # noqa: ANN401 -- narrowed to the service's type by the adapter
    """A boto3 client with our time-outs; endpoint, region and credentials as for any SDK program.

    `region` is for a service that is in few regions only. A longer `read_seconds` is for calls that wait
    for somebody's work, with one attempt. A function keeps its clients, because its environment never
    changes: to make one for EC2 takes as long as thirty calls.
    """
    make = _kept if "AWS_LAMBDA_FUNCTION_NAME" in os.environ else _made
    return make(service, read_seconds, attempts, region)


def _made(service: str, read_seconds: int, attempts: int, region: str | None) -> Any:  # noqa: ANN401
    import boto3  # noqa: PLC0415 -- on first use
    from botocore.config import Config  # noqa: PLC0415
    from botocore.exceptions import (  # noqa: PLC0415
        ConfigParseError,
        InvalidConfigError,
        InvalidRegionError,
        NoRegionError,
        ProfileNotFound,
    )

    try:
        return boto3.client(
            service,  # type: ignore[call-overload]
            # Every other SDK reads AWS_REGION; boto3 reads AWS_DEFAULT_REGION and the profile.
            region_name=region or os.environ.get("AWS_REGION"),
            config=Config(
                connect_timeout=CONNECT_SECONDS,
                read_timeout=read_seconds,
                user_agent=CALLED,
                retries={"mode": "standard", "total_max_attempts": attempts},
            ),
        )
    except NoRegionError as error:
        raise BadInput(reason("aws.no-region")) from error
    except InvalidRegionError as error:
        raise BadInput(reason("aws.bad-region", error=str(error).rstrip("."))) from error
    except ProfileNotFound as error:
        raise BadInput(reason("aws.bad-profile", error=str(error))) from error
    except (ConfigParseError, InvalidConfigError) as error:
        raise BadInput(reason("aws.bad-settings", error=str(error))) from error
    except _no_credentials() as error:
        raise BadInput(_log_in(error, service)) from error
    except ValueError as error:
        # botocore raises it for an endpoint that is no URL.
        raise BadInput(reason("aws.bad-endpoint", error=str(error))) from error


_kept = cache(_made)


def error_code(error: Exception) -> str:
    """AWS's code of an error ("ResourceNotFoundException"), or "" if it has none."""
    # The error of a broken connection has a response too: None.
    response: dict[str, dict[str, str]] | None = getattr(error, "response", None)
    return (response or {}).get("Error", {}).get("Code", "")


@contextmanager
def outside(call: str, subject: str) -> Iterator[None]:
    """Translates botocore's errors into TryLater (throttled) or OutsideFailed, with the call and its subject."""
    try:
        yield
    except _botocore_errors() as error:
        if isinstance(error, _unreached()):
            raise OutsideFailed(_log_in(error, call), call) from error
        if isinstance(error, _no_credentials()):
            raise BadInput(_log_in(error, call)) from error
        code = error_code(error)
        if code in THROTTLED:
            raise TryLater(reason("aws.throttled", call=call, subject=subject, error=code)) from error
        if isinstance(error, _not_aws()):
            what = str(error).splitlines()[0]
            raise OutsideFailed(
                reason("aws.not-from-aws", call=call, subject=subject, answer=what), call, subject
            ) from error
        if code:
            raise OutsideFailed(
                reason("aws.failed", call=call, subject=subject, error=str(error)), call, subject
            ) from error
        raise OutsideFailed(
            reason("aws.no-answer", call=call, subject=subject, attempts=ATTEMPTS, error=str(error)), call
        ) from error
    except FileNotFoundError as error:
        # botocore reads the token of a web identity at the first call.
        raise BadInput(_log_in(error, call)) from error


def _log_in(error: Exception, call: str) -> Reason:
    from botocore.exceptions import SSOError, TokenRetrievalError  # noqa: PLC0415

    said = " ".join(str(error).split()).rstrip(".")
    if isinstance(error, (SSOError, TokenRetrievalError)):
        return reason("aws.sso-ended", error=said)
    return reason("aws.no-credentials", call=call, error=said)


def _not_aws() -> type[Exception]:
    from botocore.parsers import ResponseParserError  # noqa: PLC0415

    return ResponseParserError


def _unreached() -> tuple[type[Exception], ...]:
    """Whoever gives the credentials did not answer: no fact about what was asked."""
    from botocore.exceptions import CredentialRetrievalError, MetadataRetrievalError  # noqa: PLC0415

    return CredentialRetrievalError, MetadataRetrievalError


def _no_credentials() -> tuple[type[Exception], ...]:
    from botocore import exceptions  # noqa: PLC0415

    return (
        exceptions.NoCredentialsError,
        exceptions.PartialCredentialsError,
        exceptions.CredentialRetrievalError,
        exceptions.MetadataRetrievalError,
        exceptions.UnknownCredentialError,
        exceptions.TokenRetrievalError,
        exceptions.SSOError,
    )


def _botocore_errors() -> tuple[type[Exception], ...]:
    # Evaluated only for an exception: botocore is imported by then, or was never used.
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415
    from botocore.parsers import ResponseParserError  # noqa: PLC0415

    return (BotoCoreError, ClientError, ResponseParserError)
