"""Replies of our own services against botocore's models: right types, and every member AWS always gives."""

import json

import botocore.session
import pytest
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator

from tests.local.aws.eks_lab import GPU, Lab

#: What the product asks for, and the members that AWS's reply always has, by the path to them.
EXPECTED = {
    ("eks", "DescribeCluster"): {
        "cluster": "name arn createdAt version endpoint roleArn resourcesVpcConfig kubernetesNetworkConfig"
        " logging identity status certificateAuthority platformVersion tags health accessConfig upgradePolicy",
        "cluster.resourcesVpcConfig": "subnetIds securityGroupIds clusterSecurityGroupId vpcId"
        " endpointPublicAccess endpointPrivateAccess publicAccessCidrs",
        "cluster.identity.oidc": "issuer",
    },
    ("eks", "DescribeNodegroup"): {
        "nodegroup": "nodegroupName nodegroupArn clusterName version releaseVersion createdAt modifiedAt status"
        " capacityType scalingConfig subnets amiType nodeRole resources health updateConfig launchTemplate tags",
        "nodegroup.scalingConfig": "minSize maxSize desiredSize",
        "nodegroup.resources.autoScalingGroups.0": "name",
        "nodegroup.health": "issues",
    },
    ("eks", "ListNodegroups"): {"": "nodegroups"},
    ("eks", "UpdateNodegroupConfig"): {"update": "id status type params createdAt errors"},
    ("eks", "DescribeUpdate"): {"update": "id status type params createdAt errors"},
    ("eks", "ListUpdates"): {"": "updateIds"},
    ("eks", "CreateAccessEntry"): {
        "accessEntry": "clusterName principalArn kubernetesGroups accessEntryArn createdAt modifiedAt tags"
        " username type"
    },
    ("eks", "DescribeAccessEntry"): {"accessEntry": "username kubernetesGroups type"},
    ("eks", "ListAccessEntries"): {"": "accessEntries"},
    ("eks", "AssociateAccessPolicy"): {
        "": "clusterName principalArn associatedAccessPolicy",
        "associatedAccessPolicy": "policyArn accessScope associatedAt modifiedAt",
    },
    ("eks", "ListAssociatedAccessPolicies"): {"": "associatedAccessPolicies clusterName principalArn"},
    ("eks", "CreateAddon"): {"addon": "addonName clusterName status addonVersion health addonArn createdAt"},
    ("eks", "DescribeAddonVersions"): {
        "addons.0": "addonName type addonVersions publisher owner",
        "addons.0.addonVersions.0": "addonVersion architecture compatibilities requiresConfiguration",
    },
    ("eks", "CreatePodIdentityAssociation"): {
        "association": "clusterName namespace serviceAccount roleArn associationArn associationId createdAt"
    },
    ("autoscaling", "DescribeAutoScalingGroups"): {
        "AutoScalingGroups.0": "AutoScalingGroupName AutoScalingGroupARN LaunchTemplate MinSize MaxSize"
        " DesiredCapacity DefaultCooldown AvailabilityZones LoadBalancerNames TargetGroupARNs HealthCheckType"
        " HealthCheckGracePeriod Instances CreatedTime SuspendedProcesses VPCZoneIdentifier EnabledMetrics Tags"
        " TerminationPolicies NewInstancesProtectedFromScaleIn ServiceLinkedRoleARN CapacityRebalance",
        "AutoScalingGroups.0.Instances.0": "InstanceId InstanceType AvailabilityZone LifecycleState"
        " HealthStatus LaunchTemplate ProtectedFromScaleIn",
        "AutoScalingGroups.0.Tags.0": "ResourceId ResourceType Key Value PropagateAtLaunch",
    },
    ("autoscaling", "DescribeScalingActivities"): {
        "Activities.0": "ActivityId AutoScalingGroupName Description Cause StartTime EndTime StatusCode"
        " Progress Details AutoScalingGroupARN"
    },
    ("autoscaling", "DescribeAutoScalingInstances"): {
        "AutoScalingInstances.0": "InstanceId AutoScalingGroupName LifecycleState HealthStatus"
    },
    ("autoscaling", "DescribeLifecycleHooks"): {
        "LifecycleHooks.0": "LifecycleHookName AutoScalingGroupName LifecycleTransition HeartbeatTimeout"
        " GlobalTimeout DefaultResult"
    },
    ("scheduler", "CreateSchedule"): {"": "ScheduleArn"},
    ("scheduler", "GetSchedule"): {
        "": "Arn GroupName Name ScheduleExpression ScheduleExpressionTimezone State CreationDate"
        " LastModificationDate Target FlexibleTimeWindow ActionAfterCompletion",
        "Target": "Arn RoleArn Input RetryPolicy",
    },
    ("scheduler", "ListSchedules"): {
        "Schedules.0": "Arn Name GroupName State CreationDate LastModificationDate Target"
    },
    ("scheduler", "GetScheduleGroup"): {"": "Arn Name State CreationDate LastModificationDate"},
    ("stepfunctions", "DescribeStateMachine"): {
        "": "stateMachineArn name status definition roleArn type creationDate loggingConfiguration"
    },
    ("stepfunctions", "StartExecution"): {"": "executionArn startDate"},
    ("stepfunctions", "DescribeExecution"): {
        "": "executionArn stateMachineArn name status startDate stopDate input inputDetails output"
        " outputDetails redriveCount redriveStatus"
    },
    ("stepfunctions", "ListExecutions"): {
        "executions.0": "executionArn stateMachineArn name status startDate stopDate"
    },
    ("stepfunctions", "GetExecutionHistory"): {"events.0": "timestamp type id previousEventId"},
    ("service-quotas", "GetServiceQuota"): {"Quota": "ServiceCode QuotaCode QuotaName Value Unit Adjustable"},
    ("freetier", "GetAccountPlanState"): {"": "accountId accountPlanType accountPlanStatus"},
    ("pricing", "GetProducts"): {"": "FormatVersion PriceList"},
}
ROLE = "arn:aws:iam::123456789012:role/lab-cluster"


@pytest.fixture
def requests(aws):
    """An opened lab, a schedule and an ended execution; the request for each operation."""
    lab = Lab(aws).ready().opened(1)
    group = lab.group()["AutoScalingGroupName"]
    role = aws.role("schedules", "eks:*")
    target = {
        "Arn": "arn:aws:scheduler:::aws-sdk:eks:updateNodegroupConfig",
        "RoleArn": role,
        "Input": '{"ClusterName":"lab","NodegroupName":"lab-ng-gpu"}',
    }
    definition = '{"StartAt":"A","States":{"A":{"Type":"Pass","End":true}}}'
    machine = aws.call(
        "stepfunctions", "create_state_machine", name="m", definition=definition, roleArn=role
    )["stateMachineArn"]
    execution = aws.call("stepfunctions", "start_execution", stateMachineArn=machine)["executionArn"]
    aws.embedded.moto_additions.wait_for_execution(execution)
    sizes = {"minSize": 0, "desiredSize": 1}
    update = aws.call("eks", "update_nodegroup_config", **GPU, scalingConfig=sizes)["update"]["id"]
    lab.until(lambda: lab.update(update)["status"] == "Successful")
    entry = {"clusterName": "lab", "principalArn": ROLE}
    one = {"name": "lab", "nodegroupName": "lab-ng-gpu"}
    return {
        "DescribeCluster": {"name": "lab"},
        "DescribeNodegroup": GPU,
        "ListNodegroups": {"clusterName": "lab"},
        "UpdateNodegroupConfig": {**GPU, "scalingConfig": sizes},
        "DescribeUpdate": {**one, "updateId": update},
        "ListUpdates": one,
        "CreateAccessEntry": {**entry, "kubernetesGroups": ["lamplighter:cluster"]},
        "DescribeAccessEntry": entry,
        "ListAccessEntries": {"clusterName": "lab"},
        "AssociateAccessPolicy": {
            **entry,
            "policyArn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
            "accessScope": {"type": "cluster"},
        },
        "ListAssociatedAccessPolicies": entry,
        "CreateAddon": {"clusterName": "lab", "addonName": "vpc-cni"},
        "DescribeAddonVersions": {"addonName": "vpc-cni"},
        "CreatePodIdentityAssociation": {
            "clusterName": "lab",
            "namespace": "kube-system",
            "serviceAccount": "s",
            "roleArn": ROLE,
        },
        "DescribeLifecycleHooks": {"AutoScalingGroupName": group},
        "CreateSchedule": {
            "Name": "s",
            "ScheduleExpression": "rate(1 hour)",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "Target": target,
        },
        "GetSchedule": {"Name": "s"},
        "GetScheduleGroup": {"Name": "default"},
        "DescribeStateMachine": {"stateMachineArn": machine},
        "StartExecution": {"stateMachineArn": machine},
        "DescribeExecution": {"executionArn": execution},
        "ListExecutions": {"stateMachineArn": machine},
        "GetExecutionHistory": {"executionArn": execution},
        "GetServiceQuota": {"ServiceCode": "ec2", "QuotaCode": "L-DB2E81BA"},
        "GetProducts": {
            "ServiceCode": "AmazonEC2",
            "Filters": [
                {"Type": "TERM_MATCH", "Field": "regionCode", "Value": "ap-northeast-2"},
                {"Type": "TERM_MATCH", "Field": "instanceType", "Value": "g5.xlarge"},
            ],
        },
    }


def at(reply, path):
    for step in path.split(".") if path else ():
        reply = reply[int(step)] if step.isdigit() else reply[step]
    return reply


def test_replies_are_as_the_models_say_and_whole(aws, requests):
    session = botocore.session.get_session()
    for (service, operation), members in EXPECTED.items():
        reply = aws.call(service, botocore.xform_name(operation), **requests.get(operation, {}))
        aws.clock.sleep(1)  # what was started ends
        shape = session.get_service_model(service).operation_model(operation).output_shape
        assert shape is not None
        report = ParamValidator().validate(reply, shape)
        assert not report.has_errors(), f"{operation}: {report.generate_report()}"
        for path, names in members.items():
            missing = set(names.split()) - set(at(reply, path))
            assert not missing, f"{operation} {path} lacks {missing}"


def test_prices_and_quotas_can_be_read(aws):
    filters = [
        {"Type": "TERM_MATCH", "Field": "regionCode", "Value": "ap-northeast-2"},
        {"Type": "TERM_MATCH", "Field": "instanceType", "Value": "g5.xlarge"},
    ]
    (product,) = aws.call("pricing", "get_products", ServiceCode="AmazonEC2", Filters=filters)["PriceList"]
    dimension = json.loads(product)["terms"]["OnDemand"]["term"]["priceDimensions"]["dimension"]
    assert dimension["pricePerUnit"]["USD"] == "1.2370000000"
    aws.embedded.moto_additions.faults.quota(8)
    quota = aws.call("service-quotas", "get_service_quota", ServiceCode="ec2", QuotaCode="L-DB2E81BA")[
        "Quota"
    ]
    assert quota["Value"] == 8
    usage = "EKS-Auto:g5.xlarge-management-hours"
    fee_of = [filters[0], {"Type": "CONTAINS", "Field": "usagetype", "Value": usage}]
    (fee,) = aws.call("pricing", "get_products", ServiceCode="AmazonEKS", Filters=fee_of)["PriceList"]
    assert '"USD": "0.0964900000"' in fee


@pytest.mark.parametrize(("service", "code", "wanted", "words"), [
    ("ec2", "L-DB2E81BA", 64, "You must provide a quota value greater than the current quota value"),
    ("lambda", "L-B99A9384", 100, "You must provide a quota value greater than the default quota value of 1000.0"),
])  # fmt: skip
def test_a_request_for_no_more_than_the_account_or_every_account_has_is_refused(
    aws, service: str, code: str, wanted: int, words: str
) -> None:
    quota = {"ServiceCode": service, "QuotaCode": code}
    with pytest.raises(ClientError, match=f"IllegalArgumentException.*{words}"):
        aws.call("service-quotas", "request_service_quota_increase", **quota, DesiredValue=wanted)
    aws.call("service-quotas", "request_service_quota_increase", **quota, DesiredValue=1000)
