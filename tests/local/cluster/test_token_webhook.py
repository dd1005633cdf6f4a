"""An EKS token is worth what the role's access entry and RBAC say, through the embedded AWS."""

import base64
from functools import partial

import boto3
import pytest
from botocore.signers import RequestSigner

from local.kubernetes.api import ApiError, KubernetesApi
from local.kubernetes.aws_identities import AwsIdentities
from local.kubernetes.token_webhook import bind_access_policy
from tests.local.cluster.lab import await_true

CLUSTER = "gpu-lab"
REGION = "ap-northeast-2"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


def token_for(aws, role: str, endpoint: str = "https://sts.ap-northeast-2.amazonaws.com") -> str:
    """The bearer token that a function makes from its role's credentials."""
    credentials = aws.call("sts", "assume_role", RoleArn=role, RoleSessionName="function")["Credentials"]
    session = boto3.Session(
        credentials["AccessKeyId"], credentials["SecretAccessKey"], credentials["SessionToken"], REGION
    )
    sts, own = session.client("sts"), session.get_credentials()
    assert own is not None
    signer = RequestSigner(sts.meta.service_model.service_id, REGION, "sts", "v4", own, session.events)
    request = {
        "method": "GET",
        "url": f"{endpoint}/?Action=GetCallerIdentity&Version=2011-06-15",
        "body": {},
        "headers": {"x-k8s-aws-id": CLUSTER},
        "context": {},
    }
    url = signer.generate_presigned_url(request, region_name=REGION, expires_in=60, operation_name="")
    return "k8s-aws-v1." + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")


@pytest.fixture
def eks(aws, control_plane):
    """The embedded AWS with a cluster whose API server is the control plane."""
    moto_additions = aws.embedded.moto_additions
    moto_additions.control_plane(
        control_plane.endpoint, base64.b64encode(control_plane.ca_pem.encode()).decode()
    )
    cluster_of(aws)
    around = aws.embedded.around
    session = boto3.Session(around.access_key_id, around.secret_access_key, region_name=REGION)
    bind = partial(bind_access_policy, control_plane.admin())
    control_plane.authenticate_through(AwsIdentities(aws.embedded.endpoint, CLUSTER, session, bind))
    return aws


def cluster_of(aws, name: str = CLUSTER) -> None:
    vpc = aws.call("ec2", "create_vpc", CidrBlock="192.168.0.0/16")["Vpc"]["VpcId"]
    subnets = []
    for zone, block in (("a", "192.168.8.0/22"), ("b", "192.168.12.0/22")):
        made = aws.call("ec2", "create_subnet", VpcId=vpc, CidrBlock=block, AvailabilityZone=REGION + zone)
        subnets.append(made["Subnet"]["SubnetId"])
    aws.call(
        "eks",
        "create_cluster",
        name=name,
        version="1.35",
        roleArn=aws.role("cluster"),
        resourcesVpcConfig={"subnetIds": subnets},
        accessConfig={"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": False},
    )


@pytest.fixture
def enter(control_plane, tmp_path):
    authority = tmp_path / "ca.crt"
    authority.write_text(control_plane.ca_pem)
    return lambda token: KubernetesApi(control_plane.endpoint, authority, token=token)


def entry(eks, name: str, policy: str, namespaces: tuple[str, ...] = ()) -> str:
    """A role with an access entry and one of EKS's policies for it."""
    role = eks.role(name)
    who = {"clusterName": CLUSTER, "principalArn": role}
    scope = {"type": "namespace", "namespaces": [*namespaces]} if namespaces else {"type": "cluster"}
    eks.call("eks", "create_access_entry", **who)
    arn = f"arn:aws:eks::aws:cluster-access-policy/{policy}"
    eks.call("eks", "associate_access_policy", **who, policyArn=arn, accessScope=scope)
    return role


def status(client, path: str) -> int:
    try:
        client.get(path)
    except ApiError as error:
        return error.status
    return 200


def test_a_role_without_an_access_entry_is_unknown(eks, enter):
    assert status(enter(token_for(eks, eks.role("nobody"))), "/api/v1/nodes") == 401


def test_a_role_may_do_what_its_group_is_bound_to_and_no_more(eks, enter, kubernetes):
    # given a role whose entry names a group that nothing is bound to
    role = eks.role("onlooker")
    eks.call(
        "eks",
        "create_access_entry",
        clusterName=CLUSTER,
        principalArn=role,
        kubernetesGroups=["lamplighter:onlooker"],
    )
    client = enter(token_for(eks, role))
    assert status(client, "/api/v1/nodes") == 403

    # when the group may list nodes
    kubernetes.create(
        f"{RBAC}/clusterroles",
        {
            "metadata": {"name": "sees-nodes"},
            "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}],
        },
    )
    kubernetes.create(
        f"{RBAC}/clusterrolebindings",
        {
            "metadata": {"name": "sees-nodes"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "sees-nodes"},
            "subjects": [
                {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "lamplighter:onlooker"}
            ],
        },
    )

    # then it lists nodes, and still no secrets
    await_true(lambda: status(client, "/api/v1/nodes") == 200, "the binding acts")
    assert status(client, "/api/v1/secrets") == 403


def test_a_cluster_admin_may_do_everything_and_the_tokens_host_does_not_matter(eks, enter):
    role = entry(eks, "admin", "AmazonEKSClusterAdminPolicy")
    # as the AWS CLI signs it when AWS_ENDPOINT_URL leads to the embedded cloud
    token = token_for(eks, role, eks.embedded.endpoint)
    assert status(enter(token), "/api/v1/secrets") == 200


def test_a_viewer_sees_pods_but_no_secrets(eks, enter):
    client = enter(token_for(eks, entry(eks, "viewer", "AmazonEKSViewPolicy")))
    # Which rights a viewer has, the controller manager puts together from other roles.
    await_true(lambda: status(client, "/api/v1/pods") == 200, "the binding acts")
    assert status(client, "/api/v1/secrets") == 403


def test_an_editor_of_a_namespace_edits_there_and_nowhere_else(eks, enter, kubernetes):
    role = entry(eks, "editor", "AmazonEKSEditPolicy", ("lessons", "not-there"))
    kubernetes.create("/api/v1/namespaces", {"metadata": {"name": "lessons"}})
    client = enter(token_for(eks, role))

    assert client.create("/api/v1/namespaces/lessons/configmaps", {"metadata": {"name": "made"}})
    assert status(client, "/api/v1/namespaces/default/configmaps") == 403
    assert status(client, "/api/v1/nodes") == 403
