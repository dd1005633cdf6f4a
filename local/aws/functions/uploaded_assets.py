"""The assets that a custom resource reads from the bootstrap bucket: Helm charts, uploaded as `cdk deploy` does.

Code assets are not here: functions run from the archives of the assembly (assets.py).
"""

import io
import re
from pathlib import Path

from botocore.exceptions import ClientError

from local.aws.api.service_context import ServiceContext
from local.aws.functions.assets import Assets
from stacks import archive

#: How a template names an archive that one of its custom resources fetches.
_ADDRESS = re.compile(r"s3://([a-z0-9-]+\$\{AWS::AccountId\}[a-z0-9-]+)/([0-9a-f]+\.zip)")


def upload(around: ServiceContext, template: str, assets: Assets) -> None:
    """Uploads each asset that the template names by its address, unless it is there."""
    for named, key in sorted(set(_ADDRESS.findall(template))):
        bucket = named.replace("${AWS::AccountId}", around.account_id)
        source = assets.source(key)
        if source is not None and not _is_there(around, bucket, key):
            around.call("s3", "put_object", {"Bucket": bucket, "Key": key, "Body": _zipped(source)})


def _is_there(around: ServiceContext, bucket: str, key: str) -> bool:
    """Whether the object is there. Makes the bucket, which `cdk bootstrap` makes in an account."""
    try:
        around.call("s3", "head_bucket", {"Bucket": bucket})
    except ClientError:
        region = {"LocationConstraint": around.region}
        around.call("s3", "create_bucket", {"Bucket": bucket, "CreateBucketConfiguration": region})
    found = around.call("s3", "list_objects_v2", {"Bucket": bucket, "Prefix": key})
    return bool(found.get("KeyCount"))


def _zipped(folder: Path) -> bytes:
    content = io.BytesIO()
    archive.pack(folder, content)
    return content.getvalue()
