"""How people use an open pool: a pod that gets a GPU there when they apply it unchanged.

The taints and the node selector are the pool's, the resource is what its GPUs are offered as.
"""

import json
from typing import TYPE_CHECKING

from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.gpu.offer import Offer
from lamplighter.domain.gpu.sharing import GPU, mig_strategy

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

IMAGE = "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0"


def pod_snippet(lab: "Lab", pool: str, offer: Offer, window: str | None = None) -> str:
    """The YAML of a pod that shows the GPU it got; for `kubectl apply -f -`."""
    spec, names = lab.pools[pool], identity(lab, pool)
    tolerations = [
        f"    - {{key: {taint.key}, operator: Exists, effect: {taint.effect}}}" for taint in spec.taints
    ]
    lines = [
        "apiVersion: v1",
        "kind: Pod",
        "metadata: {name: my-gpu-pod}",
        "spec:",
        "  restartPolicy: Never",
        f"  nodeSelector: {{{names.label}: {names.name}}}",
        *(["  tolerations:", *tolerations] if tolerations else []),
        "  containers:",
        "    - name: main",
        f"      image: {IMAGE}",
        "      command: [nvidia-smi]",
        f"      resources: {{limits: {{{json.dumps(resource(lab, offer, window))}: 1}}}}",
    ]
    return "\n".join(lines)


def resource(lab: "Lab", offer: Offer, window: str | None = None) -> str:
    """What a pod asks for: a GPU, a share of one where shares have a name of their own, or a slice."""
    name = GPU
    if offer.slices > 1 and offer.mig and mig_strategy(lab, lab.gpu_for(window)) == "mixed":
        name = f"nvidia.com/mig-{offer.mig.removeprefix('all-')}"
    return f"{name}.shared" if offer.renamed else name
