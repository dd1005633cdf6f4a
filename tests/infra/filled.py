"""Values of a template as they are once it is deployed, in the partition, region and account of the tests."""

from collections.abc import Mapping
from typing import Any

ACCOUNT = "123456789012"
KNOWN = {"AWS::Partition": "aws", "AWS::AccountId": ACCOUNT, "AWS::Region": "ap-northeast-2"}


def filled(value: Any) -> Any:
    """An attribute becomes an ARN as long as AWS makes them."""
    if isinstance(value, Mapping):
        if "Ref" in value:
            return KNOWN.get(value["Ref"], value["Ref"])
        if "Fn::Join" in value:
            return value["Fn::Join"][0].join(map(filled, value["Fn::Join"][1]))
        if "Fn::GetAtt" in value:
            return f"arn:aws:service:ap-northeast-2:{ACCOUNT}:" + "x" * 80
        return {key: filled(inner) for key, inner in value.items()}
    return [filled(inner) for inner in value] if isinstance(value, list) else value
