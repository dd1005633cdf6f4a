"""What a custom resource reads from the bootstrap bucket is there when its stack is deployed.

Another program may upload templates and code itself, and deploys from the bucket.
"""

import io
import json
import zipfile
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from local.stack_template import StackTemplate

KEY = f"{'a' * 64}.zip"
BUCKET = "cdk-hnb659fds-assets-123456789012-ap-northeast-2"
TEMPLATE = {
    "Resources": {
        "Named": {
            "Type": "AWS::SSM::Parameter",
            "Properties": {
                "Type": "String",
                "Name": "named",
                "Value": {"Fn::Sub": f"s3://cdk-hnb659fds-assets-${{AWS::AccountId}}-ap-northeast-2/{KEY}"},
            },
        }
    }
}


@pytest.fixture
def assembly(tmp_path: Path) -> Path:
    (tmp_path / "asset" / "templates").mkdir(parents=True)
    (tmp_path / "asset" / "Chart.yaml").write_text("name: one")
    (tmp_path / "asset" / "templates" / "crd.yaml").write_text("kind: Any")
    destination = {"bucketName": BUCKET, "objectKey": KEY}
    file = {"source": {"path": "asset", "packaging": "zip"}, "destinations": {"here": destination}}
    (tmp_path / "stack.assets.json").write_text(json.dumps({"files": {"a": file}}))
    return tmp_path


def test_a_folder_is_uploaded_as_an_archive_under_the_address_that_the_template_names(
    aws, assembly: Path
) -> None:
    aws.embedded.assets.read(assembly)
    for _ in range(2):  # the second deploy finds it there
        aws.embedded.deploy(StackTemplate("stack", json.dumps(TEMPLATE), {}))

        body = aws.call("s3", "get_object", Bucket=BUCKET, Key=KEY)["Body"].read()
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            assert sorted(archive.namelist()) == ["Chart.yaml", "templates/crd.yaml"]
            assert archive.read("Chart.yaml") == b"name: one"


def role(**named: str) -> dict[str, object]:
    taken = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = {"Version": "2012-10-17", "Statement": [taken]}
    return {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": document, **named}}


@pytest.mark.parametrize(
    "address",
    [
        "https://s3.ap-northeast-2.amazonaws.com/ours/t.json",
        "https://ours.s3.ap-northeast-2.amazonaws.com/t.json",
    ],
)
def test_a_stack_and_its_code_come_from_a_bucket(aws, address: str) -> None:
    code = {
        "Type": "AWS::Lambda::Function",
        "Properties": {
            "FunctionName": "f",
            "Runtime": "python3.13",
            "Handler": "index.handler",
            "Role": {"Fn::GetAtt": ["Role", "Arn"]},
            "Code": {"S3Bucket": "ours", "S3Key": "code.zip"},
        },
    }
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as content:
        content.writestr("index.py", "def handler(event, context): return 'from the bucket'")
    aws.bucket("ours")
    template = json.dumps({"Resources": {"Role": role(), "Function": code}})
    for key, body in (("code.zip", archive.getvalue()), ("t.json", template.encode())):
        aws.call("s3", "put_object", Bucket="ours", Key=key, Body=body)

    request = {"StackName": "s", "TemplateURL": address, "Capabilities": ["CAPABILITY_IAM"]}
    aws.call("cloudformation", "create_stack", **request)

    assert aws.embedded.stacks.await_settled("s").status == "CREATE_COMPLETE"
    assert aws.invoke("f") == ("from the bucket", None)
    aws.call("s3", "delete_object", Bucket="ours", Key="code.zip")
    assert aws.invoke("f") == ("from the bucket", None)


def test_a_template_that_is_not_in_its_bucket_is_refused(aws) -> None:
    with pytest.raises(ClientError, match="The specified key does not exist"):
        aws.call(
            "cloudformation",
            "create_stack",
            StackName="s",
            TemplateURL="https://ours.s3.amazonaws.com/t.json",
        )


@pytest.mark.parametrize(
    ("resource", "given", "needed"),
    [
        (role(), [], "CAPABILITY_IAM"),
        (role(RoleName="mine"), ["CAPABILITY_IAM"], "CAPABILITY_NAMED_IAM"),
    ],
)
def test_iam_resources_need_the_word_of_the_caller(aws, resource, given, needed: str) -> None:
    request = {"StackName": "s", "TemplateBody": json.dumps({"Resources": {"Role": resource}})}
    with pytest.raises(ClientError, match=rf"Requires capabilities : \[{needed}\]"):
        aws.call("cloudformation", "create_stack", **request, Capabilities=given)

    aws.call("cloudformation", "create_stack", **request, Capabilities=[needed])
    assert aws.embedded.stacks.await_settled("s").status == "CREATE_COMPLETE"
