"""A bucket that wants TLS takes objects: conditions of policies are asserted on the templates, not judged here."""

import json

import pytest

TLS_ONLY = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Deny",
            "Principal": {"AWS": "*"},
            "Action": "s3:*",
            "Resource": ["arn:aws:s3:::pages/*"],
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }
    ],
}


def test_a_bucket_that_wants_tls_takes_an_object_and_gives_it_back(aws):
    aws.bucket("pages")
    aws.call("s3", "put_bucket_policy", Bucket="pages", Policy=json.dumps(TLS_ONLY))
    role = aws.role("draws", "s3:PutObject")

    aws.call("s3", "put_object", role=role, Bucket="pages", Key="lab.html", Body=b"a page")

    assert aws.call("s3", "get_object", Bucket="pages", Key="lab.html")["Body"].read() == b"a page"


@pytest.mark.parametrize("cloud", ["first", "second"])
def test_a_bucket_may_have_the_name_of_one_in_an_earlier_cloud(aws, cloud):
    where = {"LocationConstraint": "ap-northeast-2"}
    aws.call("s3", "create_bucket", Bucket="of-each", CreateBucketConfiguration=where)
    assert "Contents" not in aws.call("s3", "list_objects_v2", Bucket="of-each")
    aws.call("s3", "put_object", Bucket="of-each", Key=cloud, Body=b"")
