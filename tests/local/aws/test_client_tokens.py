"""EC2 launches once for a request that a client sends again, because it had no answer."""

from tests.local.conftest import Aws


def test_a_launch_that_is_asked_for_again_launches_nothing_more(aws: Aws) -> None:
    def launched(token: str) -> list[str]:
        image = {"ImageId": "ami-00aec23bbe1278680", "InstanceType": "t4g.nano"}
        answer = aws.call("ec2", "run_instances", **image, MinCount=2, MaxCount=2, ClientToken=token)
        return [instance["InstanceId"] for instance in answer["Instances"]]

    first = launched("once")

    assert launched("once") == first
    assert not set(launched("twice")) & set(first)
