"""The rest of an AWS account, as far as functions read it: the caller, trails, secrets, S3 and CloudWatch's counts."""

import json
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from tests.world.outside import ACCOUNT, REGION, refused

Json = dict[str, Any]


def services(secret: Json, buckets: dict[str, dict[str, Json]]) -> dict[str, object]:
    """The services by boto3's names. `secret` is the Slack app's; `buckets` are the objects by bucket and key."""
    trail = f"arn:aws:cloudtrail:{REGION}:{ACCOUNT}:trail/all"
    return {
        "s3": S3(buckets),
        "sqs": SimpleNamespace(
            get_queue_url=lambda QueueName: {"QueueUrl": f"https://sqs.world/{QueueName}"},
            get_queue_attributes=lambda *, AttributeNames, **_: {
                "Attributes": dict.fromkeys(AttributeNames, "0")
            },
        ),
        "logs": SimpleNamespace(
            describe_log_groups=lambda logGroupNamePrefix: {
                "logGroups": [{"logGroupName": logGroupNamePrefix}]
            },
            delete_log_group=lambda logGroupName: {},
        ),
        "sts": SimpleNamespace(get_caller_identity=_caller),
        "secretsmanager": SimpleNamespace(
            get_secret_value=lambda SecretId: {"Name": SecretId, "SecretString": json.dumps(secret)}
        ),
        "cloudtrail": SimpleNamespace(
            describe_trails=lambda includeShadowTrails: {
                "trailList": [{"Name": "all", "TrailARN": trail, "IsMultiRegionTrail": includeShadowTrails}]
            },
            get_trail_status=lambda Name: {"IsLogging": Name == trail},
            get_event_selectors=lambda TrailName: {
                "EventSelectors": [{"ReadWriteType": "All", "IncludeManagementEvents": TrailName == trail}]
            },
        ),
        "cloudwatch": SimpleNamespace(get_metric_statistics=_counted),
    }


def _caller() -> Json:
    arn = f"arn:aws:sts::{ACCOUNT}:assumed-role/doctor/doctor"
    return {"Account": ACCOUNT, "Arn": arn, "ResponseMetadata": {"HTTPHeaders": {}}}


def _counted(*, StartTime: datetime, EndTime: datetime, **_asked: Any) -> Json:
    return {"Datapoints": [{"Timestamp": StartTime, "Sum": 1.0 if StartTime < EndTime else 0.0}]}


class S3:
    """Objects by bucket and key."""

    def __init__(self, buckets: dict[str, dict[str, Json]]) -> None:
        self._buckets = buckets

    def head_object(self, *, Bucket: str, Key: str) -> Json:
        found = self._buckets.setdefault(Bucket, {}).get(Key)
        if found is None:
            raise refused("404", "Not Found", "HeadObject", 404)
        return {"Metadata": found["Metadata"]}

    def put_object(self, *, Bucket: str, Key: str, **content: Any) -> Json:
        self._buckets.setdefault(Bucket, {})[Key] = content
        return {"ETag": "world"}

    def list_objects_v2(self, *, Bucket: str) -> Json:
        return {"Contents": [{"Key": key} for key in self._buckets.get(Bucket, {})]}

    def delete_objects(self, *, Bucket: str, Delete: Json) -> Json:
        for each in Delete["Objects"]:
            self._buckets.get(Bucket, {}).pop(each["Key"], None)
        return {}
