"""How every call to AWS is made: short time-outs, and errors translated once into ours.

Owns the connection settings; which calls are made is the business of the adapter beside it. boto3 is
imported on first use, so that a function that refuses early never pays for it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lamplighter.errors import BadInput, OutsideFailed, TryLater

# Two attempts of at most 4 s and a back-off of at most 1 s: an unreachable endpoint is told within 10 s.
ATTEMPTS = 2
CONNECT_SECONDS = 3
READ_SECONDS = 4

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


def client(service: str, *, read_seconds: int = READ_SECONDS, attempts: int = ATTEMPTS) -> Any:  # noqa: ANN401 -- narrowed to the service's type by the adapter
    """A boto3 client with our time-outs; endpoint, region and credentials as for any SDK program.

    A longer `read_seconds` is for calls that wait for somebody's work, with one attempt.
    """
    import boto3  # noqa: PLC0415 -- on first use
    from botocore.config import Config  # noqa: PLC0415
    from botocore.exceptions import NoRegionError, ProfileNotFound  # noqa: PLC0415

    try:
        return boto3.client(
            service,  # type: ignore[call-overload]
            # Every other SDK reads AWS_REGION; boto3 reads AWS_DEFAULT_REGION and the profile.
            region_name=os.environ.get("AWS_REGION"),
            config=Config(
                connect_timeout=CONNECT_SECONDS,
                read_timeout=read_seconds,
                retries={"mode": "standard", "total_max_attempts": attempts},
            ),
        )
    except NoRegionError as error:
        raise BadInput("no AWS region is set: name one with AWS_REGION or in your AWS profile") from error
    except ProfileNotFound as error:
        raise BadInput(f"AWS_PROFILE: {error}") from error


def error_code(error: Exception) -> str:
    """AWS's code of an error ("ResourceNotFoundException"), or "" where it has none."""
    response: dict[str, dict[str, str]] = getattr(error, "response", {})
    return response.get("Error", {}).get("Code", "")


@contextmanager
def outside(call: str, subject: str) -> Iterator[None]:
    """Turn what botocore raises into TryLater (throttled) or OutsideFailed, naming call and object."""
    try:
        yield
    except _botocore_errors() as error:
        code = error_code(error)
        if code in THROTTLED:
            raise TryLater(f"AWS asks us to slow down: {call} on {subject} ({code})") from error
        if code:
            raise OutsideFailed(f"{call} on {subject} failed: {error}") from error
        raise OutsideFailed(f"{call} on {subject} got no answer in {ATTEMPTS} attempts: {error}") from error


def _botocore_errors() -> tuple[type[Exception], ...]:
    # Evaluated only while an exception passes: botocore is imported by then, or was never in play.
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

    return (BotoCoreError, ClientError)
