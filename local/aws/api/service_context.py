"""What the services of the embedded AWS share: account, region, clock, and how one service calls another.

A service calls another over the endpoint, like any client, as the account itself or in the name of a role.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.awsrequest import AWSPreparedRequest
from botocore.client import BaseClient
from botocore.config import Config

from lamplighter.adapters.aws.calls import CALLED
from local.aws.api.own_services import Document
from local.aws.authorization.state import State
from local.aws.iam import Service, assume, refuse_untrusted
from local.clock import VirtualClock

#: One try, because a retry of the SDK would sleep in real time. It is as long as the longest function (15 minutes).
SDK = Config(
    retries={"total_max_attempts": 1},
    max_pool_connections=64,
    read_timeout=960,
    inject_host_prefix=False,
    user_agent=CALLED,
)


#: The fiber for whose work a call is made: local/clock_fibers.py.
FIBER_HEADER = "x-lamplighter-fiber"
#: Names and values.
Tags = tuple[tuple[str, str], ...]


@dataclass
class ServiceContext:
    """The context. `access_key_id` and `secret_access_key` belong to the account itself, which may do everything."""

    clock: VirtualClock
    region: str
    endpoint: str
    access_key_id: str
    secret_access_key: str
    account_id: str = "123456789012"
    #: Puts an event of an AWS service on the default bus. PutEvents refuses such events. EventBridge sets this.
    tell: Callable[[Document], None] = lambda _: None
    _clients: dict[tuple[str, str, Tags], BaseClient] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    #: One session for all services, because each session reads AWS's models again. Hold the lock while you make a
    #: client.
    _session: boto3.session.Session = field(default_factory=boto3.session.Session)

    def __post_init__(self) -> None:
        #: The state by which policies are judged.
        self.state = State(self.account_id, self.region, self.clock.time)

    def call(
        self,
        service: str,
        operation: str,
        request: Mapping[str, object],
        *,
        role: str = "",
        by: Service | None = None,
        session_tags: Tags = (),
    ) -> Document:
        """One call by boto3's names (`"eks", "describe_cluster"`). Raises botocore's errors.

        `by` is the service that takes the role, with these tags of its session. The trust policy of the role must allow
        it.
        """
        if role and by is not None:
            refuse_untrusted(role, by, self.state, tagged=bool(session_tags))
        answer: Document = getattr(self._client(service, role, session_tags), operation)(**request)
        answer.pop("ResponseMetadata", None)
        return answer

    def end_instances(self, instances: list[str]) -> None:
        """Ends instances as Auto Scaling does: `DisableApiTermination` stops people, but not Auto Scaling."""
        for instance in instances:
            self.call(
                "ec2",
                "modify_instance_attribute",
                {"InstanceId": instance, "DisableApiTermination": {"Value": False}},
            )
        self.call("ec2", "terminate_instances", {"InstanceIds": instances})

    def arn(self, service: str, resource: str) -> str:
        return f"arn:aws:{service}:{self.region}:{self.account_id}:{resource}"

    def _client(self, service: str, role: str, session_tags: Tags = ()) -> BaseClient:
        key = (service, role, session_tags)
        with self._lock:
            client = self._clients.get(key)
        if client is None:
            credentials = self._assume(role, session_tags) if role else {}
            with self._lock:
                client = self._clients.get(key) or self._new_client(service, credentials)
                self._clients[key] = client
        return client

    def _say_for_whom(self, request: AWSPreparedRequest, **_: object) -> None:
        """Marks a call as part of the work that makes it, whichever thread answers it."""
        fiber = self.clock.fiber()
        if fiber is not None:
            request.headers[FIBER_HEADER] = str(fiber.number)

    def _assume(self, role: str, session_tags: Tags) -> dict[str, Any]:
        if session_tags:
            given = assume(role, "embedded-aws", self.region, dict(session_tags))
            return {
                "aws_access_key_id": given.access_key_id,
                "aws_secret_access_key": given.secret_access_key,
                "aws_session_token": given.session_token,
            }
        session = {"RoleArn": role, "RoleSessionName": "embedded-aws"}
        credentials = self.call("sts", "assume_role", session)["Credentials"]
        return {
            "aws_access_key_id": credentials["AccessKeyId"],
            "aws_secret_access_key": credentials["SecretAccessKey"],
            "aws_session_token": credentials["SessionToken"],
        }

    def _new_client(self, service: str, credentials: dict[str, Any]) -> BaseClient:
        own = {"aws_access_key_id": self.access_key_id, "aws_secret_access_key": self.secret_access_key}
        client: BaseClient = self._session.client(
            service,  # type: ignore[call-overload]
            endpoint_url=self.endpoint,
            region_name=self.region,
            config=SDK,
            **(credentials or own),
        )
        client.meta.events.register("before-send", self._say_for_whom)
        return client
