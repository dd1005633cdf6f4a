"""Reads who calls AWS, and the region in their settings."""

import os
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import boto3
from botocore.exceptions import BotoCoreError

from lamplighter.adapters.aws.calls import client, error_code, outside
from lamplighter.adapters.border import border
from lamplighter.domain.doctor.facts import AwsIdentity, NoAccess
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from mypy_boto3_sts import STSClient

#: The error codes by which AWS rejects a key, a signature or a session.
REFUSALS = frozenset(
    {
        "AccessDenied",
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "InvalidClientTokenId",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
AGAIN = reason("doctor.log-in")
LOOK = reason("doctor.see-configuration")


@border
def who() -> AwsIdentity | NoAccess:
    """The caller, or why AWS rejects the credentials. Raises OutsideFailed where AWS does not answer."""
    try:
        sts: STSClient = client("sts")
        with outside("sts:GetCallerIdentity", "your credentials"):
            try:
                found = sts.get_caller_identity()
            except sts.exceptions.ClientError as error:
                if error_code(error) not in REFUSALS:
                    raise
                return NoAccess(reason("doctor.no-credentials-taken", error=str(error)), AGAIN)
    except BadInput as error:
        return NoAccess(error.said, LOOK)
    date = found["ResponseMetadata"].get("HTTPHeaders", {}).get("date")
    return AwsIdentity(
        found.get("Account", ""), found.get("Arn", ""), parsedate_to_datetime(date) if date else None
    )


@border
def configured_region() -> str | None:
    """The region of the environment, else of the AWS profile; None where neither names one."""
    try:
        return os.environ.get("AWS_REGION") or boto3.Session().region_name
    except BotoCoreError:
        # The profile does not exist; the credentials check reports it.
        return None
