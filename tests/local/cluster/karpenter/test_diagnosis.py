"""What a live diagnosis says of the real Karpenter's NodePool: a shortage, the lock, and its class."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest

from lamplighter.adapters.diagnosis.aws import read_node_pool
from lamplighter.adapters.diagnosis.kubernetes import NODE_CLASSES, ClusterReads
from lamplighter.adapters.diagnosis.logs import read_logs
from lamplighter.adapters.diagnosis.reading import Reading
from lamplighter.adapters.diagnosis.subject import Subject
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.capacity.node_pool import lock
from lamplighter.domain.diagnosis import Diagnosis, Snapshot, diagnose
from lamplighter.domain.diagnosis.expected import Expected
from lamplighter.domain.diagnosis.redaction import redacted
from lamplighter.lab.model import Lab
from lamplighter.values import instant
from tests.local.cluster.functions import Functions, Token
from tests.local.cluster.karpenter.conftest import ROLE, Karpenter
from tests.local.cluster.karpenter.node_pool import CLAIMS, CLASSES, NAME, await_pool_ready, pool
from tests.local.cluster.lab import await_true
from tests.local.cluster.node_pool_port.stage import Everybody

__all__ = ["pool"]
pytestmark = pytest.mark.long
LAB = Lab.model_validate(
    {"name": "gpu-lab", "cluster": {"karpenter": {}}, "pools": {"gpu": {"kind": "karpenter"}}}
)


Ask = Callable[[datetime], Diagnosis]


@pytest.fixture
def asked(pool: Karpenter, control_plane: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    """A diagnosis of one expected node, ordered at an instant."""
    for name, value in pool.aws.environment().items():
        monkeypatch.setenv(name, value)
    control_plane.authenticate_through(Everybody())

    def ask(since: datetime) -> Diagnosis:
        reading = Reading(60)
        names = identity(LAB, "gpu")
        expected = Expected("gpu", "g5.xlarge", 1, 1, since, kind="karpenter", nodepool=NAME)
        subject = Subject("karpenter", names, expected, ROLE)
        connection = Connection(control_plane.endpoint, control_plane.ca_pem, Token("admin"))
        reads = ClusterReads(connection, reading, names.selector)
        reads.read()
        kubernetes = reads.read_node_pool(NODE_CLASSES["karpenter"], NAME)
        document = {
            "now": instant.written(pool.aws.clock.now()),
            "expected": expected.to_json(),
            "aws": read_node_pool(reading, subject),
            "kubernetes": kubernetes,
            **read_logs(reads.ask, reading, kubernetes["pods"]),
        }
        return diagnose(Snapshot.read(redacted(document)))

    yield ask
    control_plane.authenticate_through(Functions())


def scaled(pool: Karpenter, replicas: int) -> datetime:
    since = pool.aws.clock.now().replace(microsecond=0) - timedelta(seconds=1)
    address = f"/apis/karpenter.sh/v1/nodepools/{NAME}"
    pool.lab.kubernetes.merge(address, {"spec": {"replicas": replicas}})
    return since


@contextmanager
def out_of_capacity(pool: Karpenter) -> Iterator[None]:
    faults = pool.aws.embedded.moto_additions.faults
    faults.no_capacity("g5.xlarge")
    yield
    faults.clear("g5.xlarge")


def told(found: Diagnosis) -> dict[str, list[str]]:
    return {finding.cause.name: [str(line) for line in finding.evidence] for finding in found.findings}


def test_a_denied_launch_is_told_with_the_lock(pool: Karpenter, asked: Ask) -> None:
    document = json.dumps(lock.document({"karpenter.sh/nodepool": NAME}))
    policy = lock.policy_name(NAME)
    pool.aws.call("iam", "put_role_policy", RoleName=ROLE, PolicyName=policy, PolicyDocument=document)
    since = scaled(pool, 1)

    found = await_true(lambda: told(asked(since)), "the denial is told")

    assert list(found) == ["launch-denied"]
    assert "not authorized" in found["launch-denied"][0]
    assert found["launch-denied"][-1] == (
        f"the failsafe's lock {policy} is on Karpenter's role; the next opening removes it"
    )
    pool.aws.call("iam", "delete_role_policy", RoleName=ROLE, PolicyName=policy)
    scaled(pool, 0)
    await_true(lambda: not pool.lab.kubernetes.get(CLAIMS)["items"], "the NodeClaim is gone")


def test_a_class_whose_image_does_not_exist_is_told(pool: Karpenter, asked: Ask) -> None:
    since = pool.aws.clock.now()
    wrong = {"spec": {"amiFamily": "AL2023", "amiSelectorTerms": [{"id": "ami-0123456789abcdef0"}]}}
    pool.lab.kubernetes.merge(f"{CLASSES}/{NAME}", wrong)

    found = await_true(lambda: told(asked(since)), "the class is told")

    assert list(found) == ["node-class-not-ready"]
    assert "AMINotFound" in found["node-class-not-ready"][0]
    right = {"spec": {"amiFamily": None, "amiSelectorTerms": [{"alias": "al2023@v20260724"}]}}
    pool.lab.kubernetes.merge(f"{CLASSES}/{NAME}", right)
    await_pool_ready(pool)


def test_a_shortage_is_told_by_the_code_of_ec2(pool: Karpenter, asked: Ask) -> None:
    with out_of_capacity(pool):
        since = scaled(pool, 1)
        found = await_true(lambda: told(asked(since)), "the shortage is told")
        scaled(pool, 0)

    assert list(found) == ["no-capacity"]
    assert "InsufficientInstanceCapacity" in found["no-capacity"][0]
    # Karpenter asks EC2 for no such instance for three minutes: only its next start forgets that.
    pool.scale(0)
    await_true(lambda: not pool.pods(), "the pod of Karpenter is gone")
    pool.scale(1)
    pool.await_ready()
