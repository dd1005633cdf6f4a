"""The real controller runs while a pod of its Deployment runs, in the pod's name and under its role."""

import pytest

from tests.local.cluster.karpenter.conftest import ACTIONS, Karpenter
from tests.local.cluster.lab import await_true

pytestmark = pytest.mark.long


def test_it_serves_when_its_pod_is_ready_and_its_log_is_the_pod_s(karpenter: Karpenter) -> None:
    karpenter.await_ready()

    [process] = karpenter.controllers.running
    assert process.serves
    # The lease is in its namespace, by the rights that the chart gives to its service account.
    assert "Successfully acquired lease" in karpenter.log()


def test_it_ends_with_its_pod_and_comes_back_with_the_next(karpenter: Karpenter) -> None:
    karpenter.await_ready()
    [before] = karpenter.controllers.running

    karpenter.scale(0)
    await_true(lambda: not karpenter.pods(), "no pod of Karpenter is left")
    assert before.ended
    assert karpenter.controllers.running == []

    karpenter.scale(1)
    karpenter.await_ready()
    [after] = karpenter.controllers.running
    assert after is not before


def test_a_controller_that_is_killed_is_started_again_in_its_pod(karpenter: Karpenter) -> None:
    karpenter.await_ready()
    [before] = karpenter.controllers.running
    [pod] = karpenter.pods()

    before.kill()

    def again() -> bool:
        return [one.serves for one in karpenter.controllers.running] == [True]

    await_true(again, "a new controller serves")
    [after] = karpenter.pods()
    assert after["metadata"]["uid"] == pod["metadata"]["uid"]
    assert after["status"]["containerStatuses"][0]["restartCount"] == 1
    assert before not in karpenter.controllers.running


def test_what_its_role_may_not_do_it_cannot_do(karpenter: Karpenter) -> None:
    karpenter.scale(0)
    await_true(lambda: not karpenter.pods(), "no pod of Karpenter is left")
    karpenter.may("eks:DescribeCluster")
    refused = "is not authorized to perform: ec2:DescribeInstanceTypes"
    try:
        karpenter.scale(1)
        await_true(lambda: refused in karpenter.log(), "EC2 refuses the controller's first call")
    finally:
        karpenter.may(*ACTIONS)

    karpenter.await_ready()
