"""The bucket of pages is emptied before it goes, however much is in it, and whoever was there first."""

import boto3
import pytest
from botocore.stub import Stubber

from lamplighter.adapters.aws.bucket import Bucket
from lamplighter.errors import OutsideFailed

NAME = "gpu-lab-pages"


@pytest.fixture
def s3():
    client = boto3.client(
        "s3", region_name="ap-northeast-2", aws_access_key_id="x", aws_secret_access_key="x"
    )
    with Stubber(client) as stubbed:
        yield client, stubbed
        stubbed.assert_no_pending_responses()


def delete(*keys: str) -> dict[str, object]:
    return {"Bucket": NAME, "Delete": {"Objects": [{"Key": key} for key in keys], "Quiet": True}}


def test_every_page_goes_batch_by_batch(s3) -> None:
    client, aws = s3
    asked = {"Bucket": NAME}
    first = {"Contents": [{"Key": "lab.html"}], "IsTruncated": True, "NextContinuationToken": "more"}
    aws.add_response("list_objects_v2", first, asked)
    aws.add_response("delete_objects", {}, delete("lab.html"))
    rest = {"Contents": [{"Key": "receipts/1.html"}, {"Key": "receipts/2.html"}], "IsTruncated": False}
    aws.add_response("list_objects_v2", rest, {**asked, "ContinuationToken": "more"})
    aws.add_response("delete_objects", {}, delete("receipts/1.html", "receipts/2.html"))

    Bucket(NAME, client).empty()


def test_an_empty_bucket_and_one_that_is_gone_are_empty(s3) -> None:
    client, aws = s3
    aws.add_response("list_objects_v2", {"IsTruncated": False}, {"Bucket": NAME})
    aws.add_client_error("list_objects_v2", "NoSuchBucket")

    Bucket(NAME, client).empty()
    Bucket(NAME, client).empty()


def test_a_bucket_that_may_not_be_emptied_is_named(s3) -> None:
    client, aws = s3
    aws.add_client_error("list_objects_v2", "AccessDenied")

    with pytest.raises(OutsideFailed, match=NAME):
        Bucket(NAME, client).empty()


def test_a_page_that_stays_is_named(s3) -> None:
    client, aws = s3
    aws.add_response("list_objects_v2", {"Contents": [{"Key": "lab.html"}], "IsTruncated": False})
    aws.add_response("delete_objects", {"Errors": [{"Key": "lab.html", "Message": "Access Denied"}]})

    with pytest.raises(OutsideFailed, match=r"lab\.html stays"):
        Bucket(NAME, client).empty()
