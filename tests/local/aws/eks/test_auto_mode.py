"""The switch of Auto Mode in EKS, and the access entries of nodes that no node group owns.

Sources: EKS user guide, auto-enable-existing, auto-disable and create-node-class.
"""

import pytest
from botocore.exceptions import ClientError

from tests.local.aws.eks_lab import Lab

ON = {
    "computeConfig": {"enabled": True},
    "kubernetesNetworkConfig": {"elasticLoadBalancing": {"enabled": True}},
    "storageConfig": {"blockStorage": {"enabled": True}},
}
OFF = {
    "computeConfig": {"enabled": False},
    "kubernetesNetworkConfig": {"elasticLoadBalancing": {"enabled": False}},
    "storageConfig": {"blockStorage": {"enabled": False}},
}


@pytest.fixture
def lab(aws):
    return Lab(aws)


def switch(lab, **settings):
    update = lab.aws.call("eks", "update_cluster_config", name="lab", **settings)["update"]
    lab.finished(update)
    return update


def test_a_cluster_has_no_auto_mode_until_it_is_switched_on(lab):
    assert "computeConfig" not in lab.cluster()
    update = switch(lab, **ON)
    assert update["type"] == "AutoModeUpdate"
    assert {each["type"] for each in update["params"]} == {
        "ComputeConfig",
        "KubernetesNetworkConfig",
        "StorageConfig",
    }
    cluster = lab.cluster()
    assert cluster["status"] == "ACTIVE"
    assert cluster["computeConfig"] == {"enabled": True, "nodePools": []}
    assert cluster["storageConfig"]["blockStorage"]["enabled"]
    assert cluster["kubernetesNetworkConfig"]["elasticLoadBalancing"]["enabled"]
    assert cluster["kubernetesNetworkConfig"]["serviceIpv4Cidr"] == "10.100.0.0/16"

    switch(lab, **OFF)
    assert lab.cluster()["computeConfig"] == {"enabled": False}


def test_who_listens_hears_of_the_switch_when_it_is_done(lab):
    heard = []
    lab.moto_additions.clusters.auto_mode_switched.append(
        lambda name: heard.append(lab.moto_additions.clusters.described(name)["computeConfig"]["enabled"])
    )
    lab.aws.call("eks", "update_cluster_config", name="lab", **ON)
    assert heard == []
    lab.until(lambda: bool(heard))
    assert heard == [True]


@pytest.mark.parametrize("left_out", sorted(ON))
def test_the_three_settings_go_together(lab, left_out):
    half = {name: value for name, value in ON.items() if name != left_out}
    with pytest.raises(ClientError, match="all either fully enabled or fully disabled"):
        switch(lab, **half)
    assert lab.cluster()["status"] == "ACTIVE"


def test_what_is_off_is_not_switched_off(lab):
    with pytest.raises(ClientError, match="Auto Mode is not enabled on this cluster"):
        switch(lab, **OFF)


def test_an_update_that_changes_nothing_is_refused(lab):
    with pytest.raises(ClientError, match="The type for cluster update was not provided"):
        switch(lab)


def test_built_in_pools_and_their_role_need_each_other(lab):
    for compute in ({"nodeRoleArn": lab.role}, {"nodePools": ["system"]}):
        with pytest.raises(ClientError, match="InvalidParameterException"):
            switch(lab, **ON | {"computeConfig": {"enabled": True, **compute}})


def test_eks_lets_the_nodes_of_built_in_pools_in(lab):
    compute = {"enabled": True, "nodePools": ["system"], "nodeRoleArn": lab.role}
    switch(lab, **ON | {"computeConfig": compute})
    asked = {"clusterName": "lab", "principalArn": lab.role}
    assert lab.aws.call("eks", "describe_access_entry", **asked)["accessEntry"]["type"] == "EC2"
    [policy] = lab.aws.call("eks", "list_associated_access_policies", **asked)["associatedAccessPolicies"]
    assert policy["policyArn"].endswith("/AmazonEKSAutoNodePolicy")


def test_a_cluster_is_created_with_auto_mode_and_without_self_managed_add_ons(lab):
    network = {"subnetIds": lab.subnets}
    request = {"name": "auto", "roleArn": lab.role, "resourcesVpcConfig": network, **ON}
    with pytest.raises(ClientError, match="bootstrapSelfManagedAddons"):
        lab.aws.call("eks", "create_cluster", **request)
    made = lab.aws.call("eks", "create_cluster", **request, bootstrapSelfManagedAddons=False)["cluster"]
    assert made["computeConfig"] == {"enabled": True, "nodePools": []}
    assert made["kubernetesNetworkConfig"]["ipFamily"] == "ipv4"


def entry(lab, kind, **more):
    role = lab.aws.role(f"role-{kind}")
    made = lab.aws.call("eks", "create_access_entry", clusterName="lab", principalArn=role, type=kind, **more)
    return made["accessEntry"]


def test_nodes_have_entries_of_their_own_types(lab):
    assert entry(lab, "EC2_LINUX")["username"] == "system:node:{{EC2PrivateDNSName}}"
    assert entry(lab, "EC2")["username"] == "system:node:{{EC2PrivateDNSName}}"
    with pytest.raises(ClientError, match="kubernetesGroups cannot be specified"):
        entry(lab, "EC2_WINDOWS", kubernetesGroups=["lamplighter:capacity"])
