"""A NodeClaim that only asks the launch bar: the API server judges it as a dry run and keeps nothing.

Without a grace the bar refuses the claim of a NodePool of ours whatever the time is. So an open bar, too, shows that it
stands.
"""

import re
from collections.abc import Mapping, Sequence

from lamplighter.domain.capacity.node_pool.evidence import NodePool
from lamplighter.domain.capacity.node_pool.kind import LABEL

TYPE = "node.kubernetes.io/instance-type"
GRACE = "10m"
# k8s.io/apiserver/pkg/admission/plugin: policy/validating/dispatcher.go, webhook/errors/statuserror.go.
_REFUSING = re.compile(r"ValidatingAdmissionPolicy '([^']+)'|admission webhook \"([^\"]+)\"")


def claim(node_pool: NodePool, named: Sequence[str] = (), *, ends: bool = True) -> Mapping[str, object]:
    """A claim as the NodePool's controller would make it; without `ends`, one that may never end.

    `named` are the types that the lab names: the bar refuses others at any time, and the question is about the time.
    """
    types = named or node_pool.requirements.get(TYPE) or ("g5.xlarge",)
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"generateName": "lamplighter-asks-", "labels": {LABEL: node_pool.name}},
        "spec": {
            "nodeClassRef": vars(node_pool.node_class),
            "requirements": [{"key": TYPE, "operator": "In", "values": list(types)}],
            **({"terminationGracePeriod": node_pool.grace or GRACE} if ends else {}),
        },
    }


def refusing_policy(message: str) -> str | None:
    """The admission policy or webhook that a refusal of the API server names; None for one of RBAC or of the schema."""
    found = _REFUSING.search(message)
    return None if found is None else found[1] or found[2]
