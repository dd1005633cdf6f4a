"""S3 buckets with the properties that we use: public access, lifetime of objects, TLS only."""

import json

from botocore.exceptions import ClientError

from local.aws.cloudformation.api_parameters import fitted
from local.aws.cloudformation.kinds import Failed, Kind, Order, Physical, is_absent, tolerant

#: Property -> the call that sets it, and the parameter of that call.
SETTINGS = {
    "BucketEncryption": ("put_bucket_encryption", "ServerSideEncryptionConfiguration"),
    "PublicAccessBlockConfiguration": ("put_public_access_block", "PublicAccessBlockConfiguration"),
}


def _bucket(order: Order) -> Physical:
    name = order.name("BucketName", 63).lower()
    order.call(
        "s3",
        "create_bucket",
        Bucket=name,
        CreateBucketConfiguration={"LocationConstraint": order.region},
    )
    _settings(order, name)
    arn = f"arn:aws:s3:::{name}"
    domain = f"{name}.s3.{order.region}.amazonaws.com"
    return Physical(name, {"Arn": arn, "DomainName": domain, "RegionalDomainName": domain})


def _settings(order: Order, name: str) -> None:
    for key, (operation, parameter) in SETTINGS.items():
        if key in order.properties:
            value = dict(order.get(key))
            if key == "BucketEncryption":
                rules = value["ServerSideEncryptionConfiguration"]
                value = {
                    "Rules": [
                        {"ApplyServerSideEncryptionByDefault": rule["ServerSideEncryptionByDefault"]}
                        for rule in rules
                    ]
                }
            order.call("s3", operation, Bucket=name, **{parameter: fitted("s3", operation, parameter, value)})


def _bucket_changed(order: Order, physical: Physical) -> Physical:
    _settings(order, physical.id)
    return physical


def _bucket_deleted(order: Order, physical: Physical) -> None:
    try:
        order.call("s3", "delete_bucket", Bucket=physical.id)
    except ClientError as error:
        if not is_absent(error):
            raise Failed(f"The bucket you tried to delete is not empty ({error})", physical) from error


def _policy(order: Order) -> Physical:
    bucket = order.get("Bucket")
    order.call("s3", "put_bucket_policy", Bucket=bucket, Policy=json.dumps(order.get("PolicyDocument")))
    return Physical(bucket)


def _policy_changed(order: Order, physical: Physical) -> Physical:
    _policy(order)
    return physical


def _policy_deleted(order: Order, physical: Physical) -> None:
    tolerant(order, "s3", "delete_bucket_policy", Bucket=physical.id)


KINDS = {
    "AWS::S3::Bucket": Kind(_bucket, _bucket_changed, _bucket_deleted, frozenset({"BucketName"})),
    "AWS::S3::BucketPolicy": Kind(_policy, _policy_changed, _policy_deleted, frozenset({"Bucket"})),
}
