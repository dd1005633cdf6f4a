"""Empties the bucket of pages for a destroy. page_store.py writes the pages."""

from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@border
class Bucket:
    """One bucket, without versions."""

    def __init__(self, name: str, s3: "S3Client | None" = None) -> None:
        self._name = name
        self._s3: S3Client = s3 or client("s3")

    def empty(self) -> None:
        """Deletes every object; a bucket that does not exist is empty. Raises OutsideFailed if an object stays."""
        with outside("s3:DeleteObjects", self._name):
            try:
                for page in self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._name):
                    keys = [found["Key"] for found in page.get("Contents", [])]
                    if keys:
                        self._delete(keys)
            except self._s3.exceptions.NoSuchBucket:
                return

    def _delete(self, keys: list[str]) -> None:
        reply = self._s3.delete_objects(
            Bucket=self._name, Delete={"Objects": [{"Key": key} for key in keys], "Quiet": True}
        )
        # The call succeeds even if it could not delete some of the objects.
        for left in reply.get("Errors", []):
            raise OutsideFailed(
                reason(
                    "aws.object-left",
                    key=str(left.get("Key")),
                    bucket=self._name,
                    error=str(left.get("Message")),
                ),
                "s3:DeleteObjects",
                self._name,
            )
