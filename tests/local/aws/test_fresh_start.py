"""Every cloud begins with an empty account, whatever another one in this process has left behind."""

from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from local.aws.embedded import EmbeddedAws
from local.clock import VirtualClock
from tests.local.conftest import Aws


def launch_templates(folder: Path) -> list[str]:
    """Those that a new cloud has, which makes one of its own then."""
    embedded = EmbeddedAws(VirtualClock(folder / "clock"), folder, "ap-northeast-2")
    embedded.start()
    try:
        aws = Aws(embedded)
        found = aws.call("ec2", "describe_launch_templates")["LaunchTemplates"]
        data = {"InstanceType": "g5.xlarge"}
        aws.call("ec2", "create_launch_template", LaunchTemplateName="gpu", LaunchTemplateData=data)
        return [each["LaunchTemplateName"] for each in found]
    finally:
        embedded.stop()


def test_a_cloud_after_another_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    assert launch_templates(tmp_path) == []

    # whose reset at its end makes some services afresh, behind moto's own back
    with mock_aws():
        boto3.client("ec2", region_name="ap-northeast-2").describe_vpcs()
        boto3.client("autoscaling", region_name="ap-northeast-2").describe_auto_scaling_groups()
        boto3.client("iam", region_name="ap-northeast-2").list_roles()

    assert launch_templates(tmp_path) == []
    assert launch_templates(tmp_path) == []
