"""The bearer token by which EKS recognises an IAM role: a presigned STS call that is valid for 15 minutes.

The API server resolves the token to a role, and the cluster's access entry resolves the role to a group.
"""

import base64
import os
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from lamplighter.clock import monotonic
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from botocore.signers import RequestSigner

# aws-iam-authenticator signs for 60 s; EKS accepts the token for 15 minutes from its signing.
SIGNED_FOR_SECONDS = 60
RENEW_AFTER_SECONDS = 600


class BearerToken(Protocol):
    """A token that signs us in, and can be renewed."""

    def value(self) -> str:
        """The token to send now."""

    def forget(self) -> None:
        """Make a new token next time: the server did not accept this one."""


class Token:
    """Bearer token of this process's role for one cluster; renewed before it expires."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._value = ""
        self._renew_at = 0.0

    def value(self) -> str:
        """The token to send now."""
        if not self._value or monotonic() > self._renew_at:
            self._value = self._signed()
            self._renew_at = monotonic() + RENEW_AFTER_SECONDS
        return self._value

    def forget(self) -> None:
        """Sign a new token next time: the server did not accept this one."""
        self._value = ""

    def _signed(self) -> str:
        signer, region, endpoint, _ = self._signer
        url = signer.generate_presigned_url(
            {
                "method": "GET",
                "url": f"{endpoint}/?Action=GetCallerIdentity&Version=2011-06-15",
                "body": {},
                "headers": {"x-k8s-aws-id": self._cluster},
                "context": {},
            },
            region_name=region,
            expires_in=SIGNED_FOR_SECONDS,
            operation_name="",
        )
        return "k8s-aws-v1." + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")

    @cached_property
    def _signer(self) -> "tuple[RequestSigner, str, str, object]":
        """The signer, whose credentials renew themselves, the region and the address of STS. It needs the events."""
        import boto3  # noqa: PLC0415 -- on first use
        from botocore.signers import RequestSigner  # noqa: PLC0415

        session = boto3.Session(region_name=os.environ.get("AWS_REGION"))
        sts = session.client("sts")
        credentials = session.get_credentials()
        if credentials is None:
            call = "sts:GetCallerIdentity"
            raise OutsideFailed(reason("gpu.kubernetes.no-credentials", call=call), call)
        region = sts.meta.region_name
        signer = RequestSigner(
            sts.meta.service_model.service_id, region, "sts", "v4", credentials, session.events
        )
        return signer, region, sts.meta.endpoint_url, session.events
