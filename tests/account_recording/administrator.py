"""A user of the embedded account who may do everything that no other policy denies: its own key is not judged."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import boto3

from local.aws.embedded import EmbeddedAws
from tests.account_recording.replay import Call

NAME = "administrator"


def administrator(aws: EmbeddedAws) -> Mapping[str, str]:
    """Makes the user. Returns the variables with which a program is the user."""
    call = aws.around.call
    allowed = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    call("iam", "create_user", {"UserName": NAME})
    call("iam", "put_user_policy", {"UserName": NAME, "PolicyName": "everything", "PolicyDocument": document})
    key = call("iam", "create_access_key", {"UserName": NAME})["AccessKey"]
    return {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}


def calls_of(aws: EmbeddedAws, user: Mapping[str, str]) -> Call:
    """Calls in the name of the user."""
    key, secret = user["AWS_ACCESS_KEY_ID"], user["AWS_SECRET_ACCESS_KEY"]
    session = boto3.session.Session(key, secret, region_name=aws.around.region)

    @cache
    def client(service: str) -> Any:
        return session.client(service, endpoint_url=aws.endpoint)  # type: ignore[call-overload]

    def call(service: str, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = getattr(client(service), operation)(**request)
        return answer

    return call
