"""The account of a running cloud, with its own key."""

from typing import Any

import boto3
from botocore.config import Config

from lamplighter.adapters.aws.calls import CALLED
from local.cloud import Cloud


class Account:
    """AWS for whoever owns the account. It keeps one client for each service: making one takes longer than a call."""

    def __init__(self, cloud: Cloud) -> None:
        endpoints = cloud.endpoints()
        self.session = boto3.session.Session(
            aws_access_key_id=endpoints.access_key_id,
            aws_secret_access_key=endpoints.secret_access_key,
            region_name=endpoints.region,
        )
        self.endpoint = endpoints.endpoint
        self._clients: dict[str, Any] = {}

    def api(self, service: str) -> Any:
        """boto3's client of a service."""
        if service not in self._clients:
            self._clients[service] = self.session.client(
                service,  # type: ignore[call-overload]
                endpoint_url=self.endpoint,
                config=Config(user_agent=CALLED),
            )
        return self._clients[service]
