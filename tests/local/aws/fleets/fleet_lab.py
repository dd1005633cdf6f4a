"""A network, a node role and a launch template as Karpenter makes them, and what tests ask of fleets."""

import json

POOL, CLUSTER = "lab-gpu", "lab"
ZONES = ("ap-northeast-2a", "ap-northeast-2c")
#: The tags that Karpenter 1.14.3 gives to whatever it creates (pkg/utils, GetTags).
TAGS = {
    "karpenter.sh/nodepool": POOL,
    "karpenter.k8s.aws/ec2nodeclass": POOL,
    "eks:eks-cluster-name": CLUSTER,
    f"kubernetes.io/cluster/{CLUSTER}": "owned",
}
EC2_TRUST = {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}


def listed(tags):
    return [{"Key": key, "Value": value} for key, value in tags.items()]


class FleetLab:
    """`call` takes the role that calls, if it is not the account itself."""

    def __init__(self, aws):
        self.aws = aws
        self.clock = aws.clock
        self.moto_additions = aws.embedded.moto_additions
        self.vpc = aws.call("ec2", "create_vpc", CidrBlock="192.168.0.0/16")["Vpc"]["VpcId"]
        self.subnets = {zone: self._subnet(zone, number) for number, zone in enumerate(ZONES)}
        self.group = aws.call(
            "ec2", "create_security_group", GroupName="nodes", Description="nodes", VpcId=self.vpc
        )["GroupId"]
        trust = json.dumps({"Version": "2012-10-17", "Statement": [EC2_TRUST]})
        self.node_role = aws.call("iam", "create_role", RoleName="nodes", AssumeRolePolicyDocument=trust)[
            "Role"
        ]["Arn"]
        aws.call("iam", "create_instance_profile", InstanceProfileName="nodes")
        aws.call("iam", "add_role_to_instance_profile", InstanceProfileName="nodes", RoleName="nodes")
        self.template()

    def _subnet(self, zone, number):
        made = self.aws.call(
            "ec2", "create_subnet", VpcId=self.vpc, CidrBlock=f"192.168.{number}.0/24", AvailabilityZone=zone
        )
        return made["Subnet"]["SubnetId"]

    def template(self, name="karpenter.k8s.aws/1", tags=TAGS, role="", dry_run=False, **data):
        """A launch template with the settings that Karpenter writes."""
        of_interfaces = {"ResourceType": "network-interface", "Tags": listed(tags)}
        written = {
            "ImageId": "ami-0123456789abcdef0",
            "IamInstanceProfile": {"Name": "nodes"},
            "SecurityGroupIds": [self.group],
            "UserData": "bm9kZQ==",
            "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 1},
            "BlockDeviceMappings": [
                {
                    "DeviceName": "/dev/xvda",
                    "Ebs": {"VolumeSize": 100, "VolumeType": "gp3", "Encrypted": True},
                }
            ],
            "TagSpecifications": [of_interfaces],
            **data,
        }
        given = [{"ResourceType": "launch-template", "Tags": listed(tags)}]
        made = self.aws.call(
            "ec2",
            "create_launch_template",
            role=role,
            LaunchTemplateName=name,
            LaunchTemplateData={key: value for key, value in written.items() if value is not None},
            TagSpecifications=given,
            DryRun=dry_run,
        )
        return made["LaunchTemplate"]["LaunchTemplateId"]

    def fleet(
        self,
        *types,
        zones=ZONES,
        count=1,
        spot=False,
        role="",
        tags=TAGS,
        session_tags=(),
        template="karpenter.k8s.aws/1",
        **more,
    ):
        """CreateFleet as Karpenter calls it: every type in every zone."""
        overrides = [
            {
                "InstanceType": kind,
                "SubnetId": self.subnets[zone],
                "ImageId": "ami-0123456789abcdef0",
                "AvailabilityZone": zone,
                "Priority": 1.0,
            }
            for kind in types or ("g5.xlarge",)
            for zone in zones
        ]
        named = {"LaunchTemplateName": template, "Version": "$Latest"}
        options = (
            {"SpotOptions": {"AllocationStrategy": "price-capacity-optimized"}}
            if spot
            else {"OnDemandOptions": {"AllocationStrategy": "lowest-price"}}
        )
        target = {"TotalTargetCapacity": count, "DefaultTargetCapacityType": "spot" if spot else "on-demand"}
        specifications = [
            {"ResourceType": kind, "Tags": listed(tags)} for kind in ("instance", "volume", "fleet")
        ]
        request = {
            "Type": "instant",
            "LaunchTemplateConfigs": [{"LaunchTemplateSpecification": named, "Overrides": overrides}],
            "TargetCapacitySpecification": target,
            "TagSpecifications": specifications,
            **options,
            **more,
        }
        around = self.aws.embedded.around
        return around.call("ec2", "create_fleet", request, role=role, session_tags=session_tags)

    def instance(self, fleet):
        found = self.aws.call("ec2", "describe_instances", InstanceIds=fleet["Instances"][0]["InstanceIds"])
        return found["Reservations"][0]["Instances"][0]

    def errors(self, fleet):
        """(code, zone) of each error."""
        return [
            (each["ErrorCode"], each["LaunchTemplateAndOverrides"]["Overrides"]["AvailabilityZone"])
            for each in fleet["Errors"]
        ]
