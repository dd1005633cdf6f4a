"""What Karpenter reads of types and prices: every type of the region with its hardware, and a spot price of its own."""

import pytest
from botocore.exceptions import ClientError

FILTERS = [
    {"Name": "supported-virtualization-type", "Values": ["hvm"]},
    {"Name": "processor-info.supported-architecture", "Values": ["x86_64", "arm64"]},
]


def pages(aws, operation, result, **request):
    found, token = [], ""
    while token is not None:
        more = {"NextToken": token} if token else {}
        answer = aws.call("ec2", operation, **request, **more)
        found.append(answer[result])
        token = answer.get("NextToken")
    return found


def test_the_types_of_the_region_come_in_pages(aws):
    found = pages(aws, "describe_instance_types", "InstanceTypes", Filters=FILTERS, MaxResults=100)
    assert {len(page) for page in found[:-1]} == {100}
    types = {each["InstanceType"]: each for page in found for each in page}
    assert types["g5.xlarge"]["GpuInfo"]["Gpus"][0]["Count"] == 1
    assert "p6-b200.48xlarge" not in types  # not in Seoul
    assert len(types) == sum(len(page) for page in found)


def test_a_kept_answer_says_the_same(aws):
    ask = {"InstanceTypes": ["g5.xlarge", "m5.large"]}
    assert aws.call("ec2", "describe_instance_types", **ask) == aws.call(
        "ec2", "describe_instance_types", **ask
    )


def test_a_dry_run_says_whether_the_call_is_allowed(aws):
    with pytest.raises(ClientError, match="DryRunOperation"):
        aws.call("ec2", "describe_instance_types", DryRun=True)


def test_an_unknown_type_is_refused(aws):
    with pytest.raises(ClientError, match="InvalidInstanceType"):
        aws.call("ec2", "describe_instance_types", InstanceTypes=["g5.giant"])


def test_spot_costs_less_than_on_demand_and_more_for_more(aws):
    def prices(*types):
        found = pages(
            aws,
            "describe_spot_price_history",
            "SpotPriceHistory",
            InstanceTypes=list(types),
            ProductDescriptions=["Linux/UNIX", "Linux/UNIX (Amazon VPC)"],
        )
        return [float(each["SpotPrice"]) for page in found for each in page]

    small, large = prices("g5.xlarge"), prices("g5.48xlarge")
    assert len(small) == 3
    assert 0.3 < min(small) <= max(small) < 1.0
    assert max(small) < min(large)
    assert len(prices()) > 1000
