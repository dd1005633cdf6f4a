"""The first rail: the NodePool to zero replicas and its claims deleted, through the Kubernetes API.

The machine's role has an access entry, and RBAC lets it do these two things alone. Any error leads past Kubernetes at
once. Kubernetes takes no patch from Step Functions, so a dynamic NodePool keeps its limits: the launch bar is shut by
then, and it starts nothing.
"""

from collections.abc import Mapping

from stacks.constructs.failsafe.looking import LOCKED, LOOK, WATCH
from stacks.constructs.failsafe.states import (
    State,
    both,
    call,
    choice,
    is_there,
    is_true,
    past_errors,
)

KUBERNETES, PAST = "Cluster", "PastKubernetes"
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
_API = "$.cluster.Cluster"


def kubernetes_rail(cluster: str) -> dict[str, State]:
    """The states of the rail, from `Cluster` on."""
    described = call(
        "aws-sdk:eks:describeCluster",
        {"Name": cluster},
        "Reachable",
        "Where the Kubernetes API is now",
        result="$.cluster",
    )
    public = f"{_API}.ResourcesVpcConfig.EndpointPublicAccess"
    zero = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name.$": "$.of.nodePool"},
        "spec": {"replicas": 0},
    }
    scaled = _asked(cluster, "PUT", {"Path.$": "$.of.scale", "RequestBody": zero}, "Claims", "To zero")
    selected = {"Path": CLAIMS, "QueryParameters": {"labelSelector.$": "$.of.claims"}}
    deleted = _asked(cluster, "DELETE", selected, WATCH, "The controller drains and ends the node of each")
    return {
        KUBERNETES: past_errors(described, PAST),
        "Reachable": choice(
            [
                both(
                    is_there(f"{_API}.Endpoint"),
                    is_there(f"{_API}.CertificateAuthority.Data"),
                    is_there(public),
                    is_true(public),
                )
                | {"Next": "Scale"}
            ],
            PAST,
            "Step Functions reaches public addresses only",
        ),
        # A dynamic NodePool has no replicas.
        "Scale": past_errors(scaled, PAST, EKS_422="Claims"),
        # The claims are deleted, but the answer that lists them is too long.
        "Claims": past_errors(deleted, PAST, States_DataLimitExceeded=WATCH),
        PAST: choice(
            [is_there(LOCKED) | {"Next": WATCH}],
            LOOK,
            "The next rail, unless it came first",
        ),
    }


def _asked(cluster: str, method: str, asked: Mapping[str, object], following: str, comment: str) -> State:
    reached = {
        "ClusterName": cluster,
        "Endpoint.$": f"{_API}.Endpoint",
        "CertificateAuthority.$": f"{_API}.CertificateAuthority.Data",
    }
    return call("eks:call", {**reached, "Method": method, **asked}, following, comment)
