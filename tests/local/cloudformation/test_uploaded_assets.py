"""What a custom resource reads from the bootstrap bucket is there when its stack is deployed."""

import io
import json
import zipfile
from pathlib import Path

import pytest

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
