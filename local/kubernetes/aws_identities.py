"""Resolves an EKS token through the embedded AWS: STS names the caller, EKS the caller's access entry.

The embedded STS checks signatures. Expiry is not checked, because the token has the machine's date while the embedded
AWS may be at another time.
"""

import base64
import binascii
import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import boto3
import urllib3
from botocore.exceptions import ClientError

from local.hang import HANG_SECONDS
from local.kubernetes.token_webhook import User, policy_group

_PREFIX = "k8s-aws-v1."
_OK = 200
_ASSUMED_ROLE = re.compile(r"arn:aws:sts::(?P<account>\d+):assumed-role/(?P<role>[^/]+)/(?P<session>.+)")


class AwsIdentities:
    """The access entries of one cluster. `session` must be allowed to read them.

    `bind` gives the group of an access policy its rights in a namespace.
    """

    def __init__(
        self,
        endpoint: str,
        cluster: str,
        session: boto3.Session,
        bind: Callable[[str, str], None] = lambda *_: None,
    ) -> None:
        self._bind = bind
        self._endpoint = endpoint
        self._cluster = cluster
        self._eks = session.client("eks", endpoint_url=endpoint)
        self._http = urllib3.PoolManager(retries=False, timeout=HANG_SECONDS)

    def user(self, token: str) -> User | None:
        """The user and groups of the token's access entry; None without an identity or an entry."""
        caller = self._caller(token)
        if caller is None:
            return None
        found = _ASSUMED_ROLE.fullmatch(caller)
        session = found["session"] if found else caller.rsplit("/", 1)[-1]
        principal = self._principal(caller)
        if principal is None:
            return None
        entry = self._eks.describe_access_entry(clusterName=self._cluster, principalArn=principal)[
            "accessEntry"
        ]
        name = entry.get("username") or caller
        for placeholder in ("{{SessionName}}", "{{SessionNameRaw}}", "{{EC2PrivateDNSName}}"):
            name = name.replace(placeholder, session)
        groups = list(entry.get("kubernetesGroups", []))
        if entry.get("type") in ("EC2_LINUX", "EC2"):
            groups += ["system:nodes", "system:bootstrappers"]
        return User(name, (*groups, *self._policy_groups(principal)))

    def _caller(self, token: str) -> str | None:
        """The ARN that the embedded STS returns for the signer of the URL in the token."""
        if not token.startswith(_PREFIX):
            return None
        encoded = token.removeprefix(_PREFIX)
        try:
            url = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
        except (binascii.Error, UnicodeDecodeError):
            return None
        fields = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        signed = fields.get("X-Amz-SignedHeaders", "")
        if fields.get("Action") != "GetCallerIdentity" or "x-k8s-aws-id" not in signed.split(";"):
            return None
        # The same signature in a header instead of the URL, because moto looks for the caller there.
        signature = (
            f"AWS4-HMAC-SHA256 Credential={fields.get('X-Amz-Credential')}, "
            f"SignedHeaders={signed}, Signature={fields.get('X-Amz-Signature')}"
        )
        answer = self._http.request(
            "GET",
            f"{self._endpoint}/?Action=GetCallerIdentity&Version=2011-06-15",
            headers={"Authorization": signature, "x-k8s-aws-id": self._cluster},
        )
        found = re.search(r"<Arn>([^<]+)</Arn>", answer.data.decode(errors="replace"))
        return found[1] if found and answer.status == _OK else None

    def _principal(self, caller: str) -> str | None:
        """The ARN of the access entry for a caller: a role's session counts as its role, with or without a path."""
        found = _ASSUMED_ROLE.fullmatch(caller)
        wanted = f"arn:aws:iam::{found['account']}:role/{found['role']}" if found else caller
        for page in self._eks.get_paginator("list_access_entries").paginate(clusterName=self._cluster):
            for entry in page["accessEntries"]:
                if entry == wanted or (found and _without_path(entry) == wanted):
                    return entry
        return None

    def _policy_groups(self, principal: str) -> list[str]:
        try:
            associated = self._eks.list_associated_access_policies(
                clusterName=self._cluster, principalArn=principal
            )["associatedAccessPolicies"]
        except ClientError as error:
            if error.response["Error"]["Code"] == "ResourceNotFoundException":
                return []
            raise
        groups: list[str] = []
        for each in associated:
            policy = each["policyArn"].rsplit("/", 1)[-1]
            if each["accessScope"]["type"] == "cluster":
                groups.append(policy_group(policy))
                continue
            for namespace in each["accessScope"]["namespaces"]:
                if "*" not in namespace:  # a pattern is not supported: too few rights are safer
                    self._bind(policy, namespace)
                    groups.append(policy_group(policy, namespace))
        return groups


def _without_path(role: str) -> str:
    account, _, name = role.partition(":role/")
    return f"{account}:role/{name.rsplit('/', 1)[-1]}"
