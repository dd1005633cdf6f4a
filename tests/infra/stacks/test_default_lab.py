"""The templates of the default lab hold the Terraform lab, value for value.

The values are typed from the document (lab-sources 004), not taken from the model.
"""

import json

from tests.infra.conftest import Resource, Template

ZONES = ["ap-northeast-2a", "ap-northeast-2b", "ap-northeast-2c"]
PUBLIC = ["192.168.0.0/22", "192.168.4.0/22", "192.168.8.0/22"]
PRIVATE = ["192.168.12.0/22", "192.168.16.0/22", "192.168.20.0/22"]


def tags(properties: Resource) -> dict[str, str]:
    found = properties.get("Tags", [])
    if isinstance(found, dict):
        return found
    return {tag["Key"]: tag["Value"] for tag in found}


def test_the_vpc_has_the_labs_block_and_name(cluster: Template) -> None:
    dns = {"EnableDnsSupport": True, "EnableDnsHostnames": True}
    vpc = cluster.one("AWS::EC2::VPC", CidrBlock="192.168.0.0/16", **dns)
    assert tags(vpc)["Name"] == "gpu-lab-VPC"
    assert tags(cluster.one("AWS::EC2::InternetGateway"))["Name"] == "gpu-lab-IGW"


def test_each_zone_has_a_public_and_a_private_subnet_with_its_role(cluster: Template) -> None:
    for blocks, public, role, name in (
        (PUBLIC, True, "kubernetes.io/role/elb", "gpu-lab-PublicSubnet"),
        (PRIVATE, False, "kubernetes.io/role/internal-elb", "gpu-lab-PrivateSubnet"),
    ):
        for zone, block in zip(ZONES, blocks, strict=True):
            where = {"CidrBlock": block, "AvailabilityZone": zone, "MapPublicIpOnLaunch": public}
            subnet = cluster.one("AWS::EC2::Subnet", **where)
            assert (tags(subnet)[role], tags(subnet)["Name"]) == ("1", name)
    assert len(cluster.properties("AWS::EC2::Subnet")) == 6


def test_one_nat_gateway_stands_in_the_first_public_subnet(cluster: Template) -> None:
    nat = cluster.one("AWS::EC2::NatGateway")
    assert tags(nat)["Name"] == "gpu-lab-NAT"
    assert cluster.resources[nat["SubnetId"]["Ref"]]["Properties"]["CidrBlock"] == PUBLIC[0]


def test_the_cluster_has_the_labs_version_endpoints_and_logs(cluster: Template) -> None:
    support = {"UpgradePolicy": {"SupportType": "STANDARD"}, "BootstrapSelfManagedAddons": False}
    eks = cluster.one("AWS::EKS::Cluster", Name="gpu-lab", Version="1.35", **support)
    network, access = eks["ResourcesVpcConfig"], eks["AccessConfig"]
    assert (network["EndpointPublicAccess"], network["EndpointPrivateAccess"]) == (True, True)
    logs = eks["Logging"]["ClusterLogging"]["EnabledTypes"]
    assert [kind["Type"] for kind in logs] == ["api", "scheduler"]
    assert access == {"AuthenticationMode": "API", "BootstrapClusterCreatorAdminPermissions": True}
    subnets = [cluster.resources[s["Ref"]]["Properties"] for s in eks["ResourcesVpcConfig"]["SubnetIds"]]
    assert [subnet["CidrBlock"] for subnet in subnets] == PRIVATE


def test_pods_have_identities_of_their_own_through_irsa(cluster: Template) -> None:
    provider = cluster.one("AWS::IAM::OIDCProvider")
    assert provider["ClientIdList"] == ["sts.amazonaws.com"]
    assert provider["Url"]["Fn::GetAtt"][1] == "OpenIdConnectIssuerUrl"


def test_all_seven_add_ons_are_there(cluster: Template) -> None:
    add_ons = {add_on["AddonName"]: add_on for add_on in cluster.properties("AWS::EKS::Addon")}
    assert sorted(add_ons) == [
        *("cert-manager", "coredns", "eks-pod-identity-agent", "external-dns", "kube-proxy"),
        *("metrics-server", "vpc-cni"),
    ]
    # maxPods 50 on a t3.medium needs whole prefixes.
    assert json.loads(add_ons["vpc-cni"]["ConfigurationValues"]) == {
        "env": {"ENABLE_PREFIX_DELEGATION": "true"}
    }


def test_the_system_node_group_is_the_labs(cluster: Template) -> None:
    keys = {
        "AmiType": "AL2023_x86_64_STANDARD",
        "ScalingConfig": {"MinSize": 1, "MaxSize": 4, "DesiredSize": 2},
        "Labels": {"tier": "primary"},
        "ForceUpdateEnabled": False,
    }
    group = cluster.one("AWS::EKS::Nodegroup", NodegroupName="gpu-lab-ng-1", **keys)
    assert "Taints" not in group
    assert len(group["Subnets"]) == 3
    data = launch_template(cluster, group)
    assert data["InstanceType"] == "t3.medium"
    assert data["BlockDeviceMappings"][0]["Ebs"]["VolumeSize"] == 30
    script = data["UserData"]["Fn::Base64"]
    for words in ("maxPods: 50", "application/node.eks.aws", "dnf update -y"):
        assert words in script
    assert "dnf install -y tree bind-utils tcpdump nvme-cli links sysstat ipset htop\n" in script


def test_the_gpu_node_group_is_the_labs(cluster: Template) -> None:
    group = cluster.one("AWS::EKS::Nodegroup", NodegroupName="gpu-lab-ng-gpu")
    assert group["AmiType"] == "AL2023_x86_64_NVIDIA"
    assert group["CapacityType"] == "ON_DEMAND"
    # The maximum goes through the step that says what CloudFormation may send with it.
    step = cluster.one("Custom::LamplighterSizes", Nodegroup="gpu-lab-ng-gpu")
    assert (group["ScalingConfig"]["MinSize"], step["MaxSize"]) == (0, 2)
    assert group["Labels"] == {"tier": "gpu", "nvidia.com/gpu": "true"}
    assert group["Taints"] == [{"Key": "nvidia.com/gpu", "Value": "true", "Effect": "NO_SCHEDULE"}]
    autoscaler = "k8s.io/cluster-autoscaler/node-template"
    assert group["Tags"][f"{autoscaler}/label/nvidia.com/gpu"] == "true"
    assert group["Tags"][f"{autoscaler}/taint/nvidia.com/gpu"] == "true:NoSchedule"
    (subnet,) = group["Subnets"]
    assert cluster.resources[subnet["Ref"]]["Properties"]["AvailabilityZone"] == ZONES[0]
    data = launch_template(cluster, group)
    assert data["InstanceType"] == "g5.xlarge"
    assert data["BlockDeviceMappings"][0]["Ebs"]["VolumeSize"] == 100
    script = data["UserData"]["Fn::Base64"]
    assert "maxPods" not in script
    assert "dnf update" not in script
    assert "dnf install -y tree bind-utils tcpdump nvme-cli links sysstat ipset htop pciutils\n" in script


def test_instance_type_and_disk_are_in_the_launch_template_only(cluster: Template) -> None:
    for group in cluster.properties("AWS::EKS::Nodegroup"):
        assert "InstanceTypes" not in group
        assert "DiskSize" not in group


def test_nodes_demand_imdsv2_within_two_hops_and_no_ssh(cluster: Template) -> None:
    for group in cluster.properties("AWS::EKS::Nodegroup"):
        data = launch_template(cluster, group)
        assert data["MetadataOptions"] == {
            "HttpEndpoint": "enabled",
            "HttpTokens": "required",
            "HttpPutResponseHopLimit": 2,
        }
        assert "KeyName" not in data
        assert "RemoteAccess" not in group


def test_nodes_carry_the_node_and_the_auxiliary_group_only(cluster: Template) -> None:
    for group in cluster.properties("AWS::EKS::Nodegroup"):
        ids = [i["Fn::GetAtt"][0] for i in launch_template(cluster, group)["SecurityGroupIds"]]
        names = [tags(cluster.resources[i]["Properties"])["Name"] for i in ids]
        assert names == ["gpu-lab-node", "gpu-lab-node-group-sg"]


def test_roles_have_the_labs_names_and_policies(cluster: Template) -> None:
    own = {p.get("ManagedPolicyName") for p in cluster.properties("AWS::IAM::ManagedPolicy")}
    assert own == {
        None,  # what nodes are denied: tests/infra/test_permissions.py
        "gpu-lab-ap-northeast-2-AWSLoadBalancerControllerPolicy",
        "gpu-lab-ap-northeast-2-ExternalDNSPolicy",
        "gpu-lab-ap-northeast-2-CasAutoScalerPolicy",
    }
    system = cluster.node_role("gpu-lab-ng-1")["ManagedPolicyArns"]
    gpu = cluster.node_role("gpu-lab-ng-gpu")["ManagedPolicyArns"]
    for policies in (system, gpu):
        assert "AmazonSSMManagedInstanceCore" in json.dumps(policies)
    denied = [policy for policy in gpu if "Ref" in policy]
    assert len(denied) == 1
    assert sum(1 for policy in system if "Ref" in policy and policy not in denied) == 3


def test_the_gpu_operator_is_installed_as_in_the_lab(cluster: Template) -> None:
    keys = {
        "Release": "gpu-operator", "Chart": "gpu-operator", "Version": "v26.3.1", "Wait": True,
        "Namespace": "gpu-operator", "CreateNamespace": True, "Repository": "https://helm.ngc.nvidia.com/nvidia",
        # The one deliberate difference: the lab's 900 s is the life of the handler.
        "Timeout": "600s", "ServiceTimeout": "960",
    }  # fmt: skip
    chart = cluster.one("Custom::AWSCDK-EKS-HelmChart", **keys)
    assert "Atomic" not in chart
    assert json.loads(chart["Values"]) == {
        "driver": {"enabled": False},
        "toolkit": {"enabled": False},
        "devicePlugin": {"enabled": True},
        "nfd": {"enabled": True},
        "dcgmExporter": {"enabled": True},
        "validator": {"plugin": {"env": [{"name": "WITH_WORKLOAD", "value": "true"}]}},
        "operator": {
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
        },
    }


def test_every_output_of_the_lab_is_an_output(cluster: Template) -> None:
    assert set(cluster.outputs) >= {
        *("ClusterName", "ClusterEndpoint", "ClusterSecurityGroupId", "NodeSecurityGroupId"),
        *("AuxiliaryNodeSgId", "GpuSubnetId", "AmiAl2023Standard", "AmiAl2023Nvidia"),
    }
    configure = "aws eks --region ap-northeast-2 update-kubeconfig --name gpu-lab"
    assert cluster.outputs["ConfigureKubectl"] == configure
    assert cluster.outputs["GpuSubnetAz"] == "ap-northeast-2a"


def test_the_labs_tags_are_on_what_can_carry_them(cluster: Template, controller: Template) -> None:
    wanted = {"Environment": "cloudneta-lab", "Terraform": "true", "Week": "aews-5w"}
    kinds = ("AWS::EC2::VPC", "AWS::EKS::Cluster", "AWS::EKS::Nodegroup", "AWS::IAM::Role", "AWS::EKS::Addon")
    for properties in [p for kind in kinds for p in cluster.properties(kind)]:
        assert wanted.items() <= tags(properties).items()
    for kind in ("AWS::Lambda::Function", "AWS::DynamoDB::Table", "AWS::StepFunctions::StateMachine"):
        for properties in controller.properties(kind):
            assert wanted.items() <= tags(properties).items()


def launch_template(cluster: Template, group: Resource) -> Resource:
    reference = group["LaunchTemplate"]["Id"]["Ref"]
    data: Resource = cluster.resources[reference]["Properties"]["LaunchTemplateData"]
    return data
