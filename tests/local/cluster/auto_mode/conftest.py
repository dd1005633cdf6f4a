"""A cluster with the imitation of Auto Mode: EC2, EKS, the roles, a NodeClass, and one static NodePool at rest."""

import json
from dataclasses import dataclass

import pytest

from local.auto_mode.controller import AutoMode
from local.auto_mode.definitions import CLAIMS, CLASSES, POOLS
from local.aws.embedded import EmbeddedAws
from tests.local.aws.eks_lab import Lab as EksLab
from tests.local.cluster.lab import Lab, await_true
from tests.local.conftest import Aws

CLUSTER_ROLE, NODE_ROLE = "auto-mode-cluster", "auto-mode-nodes"
COMPUTE = "arn:aws:iam::aws:policy/AmazonEKSComputePolicy"
POOL = "lab-gpu"


@dataclass
class AutoModeLab:
    eks: EksLab
    lab: Lab

    def call(self, service, operation, **request):
        return self.eks.aws.call(service, operation, **request)

    def switch(self, *, on: bool) -> None:
        update = self.call(
            "eks",
            "update_cluster_config",
            name="lab",
            computeConfig={"enabled": on},
            kubernetesNetworkConfig={"elasticLoadBalancing": {"enabled": on}},
            storageConfig={"blockStorage": {"enabled": on}},
        )["update"]

        def done():
            found = self.call("eks", "describe_update", name="lab", updateId=update["id"])
            return found["update"]["status"] == "Successful"

        await_true(done, "EKS has switched Auto Mode")

    def scale(self, replicas: int) -> None:
        scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": POOL}}
        self.lab.kubernetes.request("PUT", f"{POOLS}/{POOL}/scale", {**scale, "spec": {"replicas": replicas}})

    def pool(self):
        return self.lab.kubernetes.get(f"{POOLS}/{POOL}")

    def claims(self):
        return self.lab.kubernetes.get(f"{CLAIMS}?labelSelector=karpenter.sh%2Fnodepool%3D{POOL}")["items"]

    def instances(self, *states):
        found = self.eks.instances(*states)
        return [one for one in found if self.tags(one).get("eks:kubernetes-node-pool-name") == POOL]

    def tags(self, instance):
        return {tag["Key"]: tag["Value"] for tag in instance.get("Tags", [])}

    def node(self, instance):
        return self.lab.kubernetes.find(f"/api/v1/nodes/{instance}")

    def condition(self, item, kind):
        conditions = item.get("status", {}).get("conditions") or []
        return next((one for one in conditions if one["type"] == kind), {"status": "", "reason": ""})

    def events(self):
        found = self.lab.kubernetes.get("/api/v1/namespaces/default/events")["items"]
        return [one for one in found if one.get("source", {}).get("component") == "eks-auto-mode/compute"]

    def opened(self, nodes: int = 1):
        """The ready nodes of the pool, once there are so many."""
        self.scale(nodes)

        def ready():
            claims = [one for one in self.claims() if self.condition(one, "Initialized")["status"] == "True"]
            return claims if len(claims) == nodes else None

        return [claim["status"]["nodeName"] for claim in await_true(ready, f"{nodes} nodes are ready")]

    def await_zero(self) -> None:
        alive = ("pending", "running", "shutting-down", "stopping", "stopped")
        await_true(lambda: not self.claims() and not self.instances(*alive), "nothing is left of the pool")


def role(aws, name, service, *policies, more=()):
    taken = {"Effect": "Allow", "Principal": {"Service": service}, "Action": ["sts:AssumeRole", *more]}
    trust = json.dumps({"Version": "2012-10-17", "Statement": [taken]})
    arn = aws.call("iam", "create_role", RoleName=name, AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    for policy in policies:
        aws.call("iam", "attach_role_policy", RoleName=name, PolicyArn=policy)
    return arn


@pytest.fixture(scope="module")
def cloud(tmp_path_factory, clock, lab):
    embedded = EmbeddedAws(clock, tmp_path_factory.mktemp("aws"), "ap-northeast-2")
    embedded.start()
    aws = Aws(embedded)
    additions = embedded.moto_additions
    with aws.until_the_end:
        eks = EksLab(aws)
        lab.fleet.network.admits = additions.self_managed.admits
        additions.fleet(lab.fleet)
        mode = AutoMode(lab.fleet, embedded.around, additions.clusters, additions.self_managed)
        additions.auto_mode(mode)
        arn = role(aws, CLUSTER_ROLE, "eks.amazonaws.com", COMPUTE, more=["sts:TagSession"])
        additions.clusters.cluster("lab").document["roleArn"] = arn
        nodes = role(aws, NODE_ROLE, "ec2.amazonaws.com")
        entry = {"clusterName": "lab", "principalArn": nodes, "type": "EC2"}
        aws.call("eks", "create_access_entry", **entry)
        made = AutoModeLab(eks, lab)
        made.switch(on=True)
        yield made
        made.switch(on=False)
    lab.fleet.network.admits = lambda _: True
    embedded.stop()


@pytest.fixture
def auto(cloud):
    """The NodeClass and the NodePool at rest; both are gone afterwards."""
    api = cloud.lab.kubernetes
    subnets = [{"id": subnet} for subnet in cloud.eks.subnets]
    group = cloud.eks.cluster()["resourcesVpcConfig"]["clusterSecurityGroupId"]
    api.request(
        "POST",
        CLASSES,
        {
            "apiVersion": "eks.amazonaws.com/v1",
            "kind": "NodeClass",
            "metadata": {"name": POOL},
            "spec": {
                "role": NODE_ROLE,
                "subnetSelectorTerms": subnets,
                "securityGroupSelectorTerms": [{"id": group}],
            },
        },
    )
    api.request(
        "POST",
        POOLS,
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": POOL},
            "spec": {
                "replicas": 0,
                "limits": {"nodes": "2"},
                "disruption": {"consolidateAfter": "Never", "budgets": [{"nodes": "0"}]},
                "template": {
                    "metadata": {"labels": {"lamplighter.pool": "gpu"}},
                    "spec": {
                        "nodeClassRef": {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": POOL},
                        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
                        "expireAfter": "2h",
                        "terminationGracePeriod": "10m",
                        "requirements": [
                            {
                                "key": "node.kubernetes.io/instance-type",
                                "operator": "In",
                                "values": ["g5.xlarge"],
                            },
                            {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
                        ],
                    },
                },
            },
        },
    )
    await_true(lambda: cloud.condition(cloud.pool(), "Ready")["status"] == "True", "the pool is Ready")
    yield cloud
    api.delete(f"{POOLS}/{POOL}")
    cloud.await_zero()
    api.delete(f"{CLASSES}/{POOL}")
    await_true(lambda: api.find(f"{CLASSES}/{POOL}") is None, "the NodeClass is gone")
