"""The two switches of the NCCL experiment take exactly their rules away, and nothing else."""

from collections.abc import Callable

from tests.infra.conftest import Assembly, Template

WEBHOOKS = {4443, 6443, 8443, 9443, 10251}


def rules(template: Template) -> set[tuple[str, str, str, int, int]]:
    """(group, source, protocol, from, to) of every rule that is a resource of its own."""
    return {
        (
            _called(template, rule["GroupId"]),
            _called(template, rule["SourceSecurityGroupId"])
            if "SourceSecurityGroupId" in rule
            else rule["CidrIp"],
            rule["IpProtocol"],
            rule.get("FromPort", 0),
            rule.get("ToPort", 0),
        )
        for rule in template.properties("AWS::EC2::SecurityGroupIngress")
    }


def _called(template: Template, reference: dict[str, list[str]]) -> str:
    group = template.resources[reference["Fn::GetAtt"][0]]["Properties"]
    names: list[str] = [tag["Value"] for tag in group["Tags"] if tag["Key"] == "Name"]
    return names[0].removeprefix("gpu-lab-")


BASE = {
    ("cluster", "node", "tcp", 443, 443),
    ("node", "cluster", "tcp", 443, 443),
    ("node", "cluster", "tcp", 10250, 10250),
    ("node", "node", "tcp", 53, 53),
    ("node", "node", "udp", 53, 53),
}
RECOMMENDED = {("node", "cluster", "tcp", port, port) for port in WEBHOOKS} | {
    ("node", "node", "tcp", 1025, 65535)
}
AUXILIARY = {("node-group-sg", "192.168.0.0/16", "-1", 0, 0)}


def egress(template: Template, name: str) -> list[tuple[str, str]]:
    groups = template.properties("AWS::EC2::SecurityGroup")
    (group,) = [g for g in groups if {"Key": "Name", "Value": name} in g["Tags"]]
    return [(rule["IpProtocol"], rule["CidrIp"]) for rule in group["SecurityGroupEgress"]]


EVERYTHING_OUT = [("-1", "0.0.0.0/0")]


def test_the_default_lab_has_all_rules(cluster: Template) -> None:
    assert rules(cluster) == BASE | RECOMMENDED | AUXILIARY
    assert egress(cluster, "gpu-lab-node") == EVERYTHING_OUT
    assert egress(cluster, "gpu-lab-node-group-sg") == EVERYTHING_OUT


def test_the_experiment_takes_the_paths_between_nodes_and_keeps_the_way_out(
    synthesise: Callable[..., Assembly],
) -> None:
    lab = synthesise(security_groups={"aux_vpc_allow": False, "recommended_rules": False})

    template = lab.template("gpu-lab-cluster")

    assert rules(template) == BASE
    assert egress(template, "gpu-lab-node") == [("icmp", "255.255.255.255/32")]
    assert egress(template, "gpu-lab-node-group-sg") == EVERYTHING_OUT


def test_the_auxiliary_group_has_the_labs_name(cluster: Template) -> None:
    cluster.one("AWS::EC2::SecurityGroup", GroupName="gpu-lab-node-group-sg")
