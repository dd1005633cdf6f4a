"""The rails past Kubernetes: a lock on the pool's launches, then its instances ended; or Auto Mode switched off.

They act only if something is left. A failed lock stops nothing: what runs is ended all the same.
"""

from lamplighter.domain.capacity.node_pool.kind import KARPENTER
from lamplighter.domain.capacity.node_pool.off_switch import Rail
from stacks.constructs.failsafe.kubernetes_rail import KUBERNETES
from stacks.constructs.failsafe.looking import ACT, END, LOCKED, WATCH
from stacks.constructs.failsafe.states import (
    State,
    both,
    call,
    choice,
    is_text,
    is_true,
    past_errors,
    values,
)

OFF = {"Enabled": False}


def ec2_rail(cluster: str) -> dict[str, State]:
    """The states of these rails, from `Act` on."""
    locked = call(
        "aws-sdk:iam:putRolePolicy",
        {
            "RoleName.$": "$.of.lock.role",
            "PolicyName.$": "$.of.lock.name",
            "PolicyDocument.$": "$.of.lock.document",
        },
        "Locked",
        "Its controller starts no other instance in the place of an ended one",
        retries=3,
    )
    # EKS wants the three together.
    off = call(
        "aws-sdk:eks:updateClusterConfig",
        {
            "Name": cluster,
            "ComputeConfig": OFF,
            "StorageConfig": {"BlockStorage": OFF},
            "KubernetesNetworkConfig": {"ElasticLoadBalancing": OFF},
        },
        WATCH,
        "EKS ends every node of Auto Mode",
        retries=5,
    )
    return {
        ACT: choice(
            [
                both(is_text("$.rail", Rail.SWITCH_OFF.value), is_true("$.of.maySwitchOff"))
                | {"Next": "SwitchOff"}
            ],
            "MayLock",
        ),
        "MayLock": choice([is_true("$.of.mayLock") | {"Next": "Lock"}], "Locked"),
        "Lock": past_errors(locked, "Locked"),
        "Locked": values(True, LOCKED, "AfterLock"),
        "AfterLock": choice(
            [
                is_text("$.of.kind", KARPENTER.code) | {"Next": END},
                is_text("$.rail", Rail.KUBERNETES.value) | {"Next": WATCH},
            ],
            KUBERNETES,
            "AWS lets nobody end an instance of Auto Mode: there Kubernetes is asked once more",
        ),
        "SwitchOff": past_errors(off, "MayLock"),
    }
