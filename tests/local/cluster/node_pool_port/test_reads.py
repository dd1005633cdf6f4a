"""What diagnosis and doctor read of NodePools from a real API server, with the rights of their groups and no more."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from lamplighter.adapters.capacity.node_pool.claims import Claims
from lamplighter.adapters.capacity.node_pool.karpenter import controllers_of
from lamplighter.adapters.capacity.node_pool.node_pools import NodePools
from lamplighter.adapters.diagnosis.kubernetes import NODE_CLASSES, ClusterReads
from lamplighter.adapters.diagnosis.reading import Reading
from lamplighter.adapters.kubernetes import existing_node_pools
from lamplighter.adapters.kubernetes.connection import Connection, Forbidden
from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.capacity.node_pool import access, probe
from lamplighter.domain.capacity.node_pool.groups import Group
from lamplighter.domain.capacity.node_pool.launch_bar import policy_name
from lamplighter.domain.diagnosis import Snapshot, diagnose
from local.kubernetes.api import KubernetesApi
from local.kubernetes.control_plane import ControlPlane
from local.kubernetes.token_webhook import User
from tests.local.cluster.functions import KINDS, Functions, Token, apply_rbac, may
from tests.local.cluster.lab import await_true
from tests.local.cluster.node_pool_port.controller import CLAIMS, POOLS
from tests.local.cluster.node_pool_port.stage import LAB, NAME, PATHS, forget_bars, install, node_pool
from tests.steady.hang import await_value

EC2_NODE_CLASSES = NODE_CLASSES["karpenter"]
READ = (
    "nodes",
    "pods",
    "nodeclaims",
    "nodepools",
    "ec2nodeclasses",
    "customresourcedefinitions",
    "configmaps",
)


CREATES = {"apiGroups": ["karpenter.sh"], "resources": ["nodeclaims"], "verbs": ["create"]}
READS_BAR = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"], "resourceNames": [NAME]}


class Roles:
    """Each token is a member of the groups of its name: every lab's, and this lab's."""

    def user(self, token: str) -> User | None:
        return User(token, (f"lamplighter:{token}", f"lamplighter:{LAB.name}:{token}"))


@pytest.fixture
def cluster(definitions: None, control_plane: ControlPlane) -> Iterator[ControlPlane]:
    control_plane.authenticate_through(Roles())
    kubernetes = control_plane.admin()
    apply_rbac(kubernetes)
    install(kubernetes)
    for document in access.documents(LAB):
        path = KINDS[str(document["kind"])].format(**document["metadata"])  # type: ignore[arg-type]
        kubernetes.apply(path, document, "cdk")
    await_true(lambda: may(kubernetes, Group.DOCTOR.of(LAB.name), "", CREATES), "the doctor may try a claim")
    await_true(
        lambda: may(kubernetes, Group.DIAGNOSIS.of(LAB.name), "lamplighter", READS_BAR), "the bar may be read"
    )
    kubernetes.request("POST", POOLS, node_pool())
    kubernetes.request("POST", EC2_NODE_CLASSES, node_class())
    yield control_plane
    kubernetes.delete(f"{POOLS}/{NAME}")
    kubernetes.delete(f"{EC2_NODE_CLASSES}/{NAME}")
    forget_bars(kubernetes)
    control_plane.authenticate_through(Functions())


def node_class() -> dict[str, object]:
    spec = {
        "amiSelectorTerms": [{"alias": "al2023@v20260724"}],
        "role": "nodes",
        "subnetSelectorTerms": [{"id": "subnet-1"}],
        "securityGroupSelectorTerms": [{"id": "sg-1"}],
    }
    kind = {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass"}
    return {**kind, "metadata": {"name": NAME}, "spec": spec}


def connected(cluster: ControlPlane, group: str) -> Connection:
    connection = Connection(cluster.endpoint, cluster.ca_pem, Token(group))
    connection.patience = 0
    return connection


def shut(kubernetes: KubernetesApi, end: str) -> None:
    kubernetes.merge(f"{PATHS['ConfigMap']}/{NAME}", {"data": {"notAfter": end}})


def snapshot(cluster: ControlPlane) -> dict[str, object]:
    reading = Reading(60)
    reads = ClusterReads(connected(cluster, "diagnosis"), reading, identity(LAB, "gpu").selector)
    reads.read()
    found = reads.read_node_pool(EC2_NODE_CLASSES, NAME)
    assert not {f"kubernetes.{key}" for key in READ} & reading.not_read.keys()
    assert [each["metadata"]["name"] for each in found["nodepools"]] == [NAME]
    assert [each["metadata"]["name"] for each in found["ec2nodeclasses"]] == [NAME]
    assert len(found["customresourcedefinitions"]) == 3
    # No controller writes the status of its own objects here.
    found["ec2nodeclasses"] = []
    del found["ec2nodeclasses"]
    expected = {
        "pool": "gpu",
        "kind": "karpenter",
        "nodepool": NAME,
        "instance_type": "g5.xlarge",
        "nodes": 0,
        "since": "2031-05-06T00:00:00Z",
    }
    return {
        "now": "2031-05-06T01:00:00Z",
        "expected": expected,
        "aws": {"instances": []},
        "kubernetes": found,
    }


def test_a_pool_that_somebody_scaled_without_a_lease_is_diagnosed_by_its_bar(cluster: ControlPlane) -> None:
    kubernetes = cluster.admin()
    shut(kubernetes, "2031-05-06T00:30:00Z")
    kubernetes.merge(f"{POOLS}/{NAME}", {"spec": {"replicas": 2}})

    found = diagnose(Snapshot.read(snapshot(cluster))).findings

    causes = {finding.cause.name: [str(line) for line in finding.evidence] for finding in found}
    # No Karpenter is installed here.
    assert causes.keys() == {"karpenter-not-ready", "launch-barred"}
    assert causes["launch-barred"] == [
        f"NodePool {NAME} asks for 2 nodes and has 0 NodeClaims",
        "the launch bar has been shut since 2031-05-06T00:30:00Z",
    ]


def test_the_diagnosis_reads_no_config_map_of_another_namespace(cluster: ControlPlane) -> None:
    with pytest.raises(Forbidden):
        connected(cluster, "diagnosis").get(
            "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
        )


def test_the_doctor_reads_the_pool_its_class_and_karpenter_and_changes_nothing(cluster: ControlPlane) -> None:
    doctor = connected(cluster, "doctor")

    found = existing_node_pools.node_pool(doctor, NAME)

    assert found is not None
    assert (found.kind, found.replicas, found.most) == ("karpenter", 0, 2)
    assert found.grace == timedelta(minutes=10)
    assert found.instance_types == ("g5.xlarge",)
    assert found.node_class is not None
    assert (found.node_class.role, found.node_class.aliases) == ("nodes", ("al2023@v20260724",))
    assert controllers_of(doctor) == ()
    for path in (f"{POOLS}/{NAME}", f"{EC2_NODE_CLASSES}/{NAME}"):
        with pytest.raises(Forbidden):
            doctor.ask("DELETE", path)


def test_the_doctor_tries_the_bar_by_a_claim_that_is_not_kept_and_can_make_none(
    cluster: ControlPlane,
) -> None:
    doctor, kubernetes = connected(cluster, "doctor"), cluster.admin()
    shut(kubernetes, "2999-01-01T00:00:00Z")
    found = NodePools(doctor).read(NAME)
    assert found is not None
    endless, ending = dict(probe.claim(found, ends=False)), dict(probe.claim(found))
    # A policy holds a moment after it was made; until then everything is admitted.
    await_value("the policy holds", lambda: not Claims(doctor).admitted(endless, policy_name(LAB)))
    await_value("the bar is open", lambda: Claims(doctor).admitted(ending, policy_name(LAB)))

    assert not Claims(doctor).admitted(endless, policy_name(LAB))
    assert "only try a NodeClaim" in doctor.ask("POST", CLAIMS, body=ending).message
    assert kubernetes.get(CLAIMS)["items"] == []
