"""The bucket of pages: puts a page there if it has changed, and signs a link to it.

Owns names, headers and the lifetime of a link. pages/ draws the pages.
"""

import hashlib
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from lamplighter.adapters.aws.calls import client, error_code, outside
from lamplighter.adapters.border import border

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

LAB = "lab.html"
LINK_LIVES = timedelta(hours=1)
"""A link is signed with the function's session, so a longer lifetime could not be promised."""
DIGEST = "drawn-from"
# Without the permission to list, S3 answers 403 for a page that does not exist.
ABSENT = frozenset({"404", "403", "NoSuchKey", "AccessDenied", "Forbidden"})


def receipt_key(receipt: Mapping[str, object]) -> str:
    """The key of a receipt's page; a receipt without a lease is named by the instant of its close."""
    return f"receipts/{receipt['pool']}/{receipt.get('lease') or 'unleased-' + str(receipt['closed'])}.html"


@border
class PageStore:
    """The pages of one lab."""

    def __init__(self, bucket: str, s3: "S3Client | None" = None) -> None:
        self._bucket = bucket
        self._s3: S3Client = s3 or client("s3")

    def keep(self, key: str, page: str, drawn_from: str | None = None) -> bool:
        """Puts a page; False if the stored one was drawn from the same data. `drawn_from` defaults to the page."""
        digest = hashlib.sha256((drawn_from or page).encode()).hexdigest()
        if self._digest(key) == digest:
            return False
        with outside("s3:PutObject", f"{self._bucket}/{key}"):
            self._s3.put_object(
                Bucket=self._bucket,
                Key=key,
                Body=page.encode(),
                ContentType="text/html; charset=utf-8",
                ContentDisposition="inline",
                # A page changes under the same key, so a browser must ask whether its copy is current.
                CacheControl="private, no-cache",
                Metadata={DIGEST: digest},
            )
        return True

    def link(self, key: str, lives: timedelta = LINK_LIVES) -> str:
        """An address that opens the page without credentials, for an hour at most."""
        with outside("s3:GetObject", f"{self._bucket}/{key}"):
            return self._s3.generate_presigned_url(
                "get_object",
                Params={"Bucket": self._bucket, "Key": key},
                ExpiresIn=int(min(lives, LINK_LIVES).total_seconds()),
            )

    def _digest(self, key: str) -> str | None:
        with outside("s3:HeadObject", f"{self._bucket}/{key}"):
            try:
                found = self._s3.head_object(Bucket=self._bucket, Key=key)
            except ClientError as error:
                if error_code(error) in ABSENT:
                    return None
                raise
        return found["Metadata"].get(DIGEST)
