"""Jobs of two pods on two machines: an all_reduce that succeeds if the nodes reach each other."""

from datetime import datetime, timedelta
from typing import Any

from tests.gpu_outputs import nccl

Json = dict[str, Any]
MEETS_IN, GIVES_UP_AFTER = 40.0, 130.0
APART = (
    "[rank0]: torch.distributed.DistNetworkError: The client socket has timed out after 120000ms while trying to "
    "connect to (all-reduce-0, 29500).\n"
)
TOGETHER = nccl()


def ranks(job: Json, *, reachable: bool, now: datetime) -> list[tuple[Json, str, datetime, int, str]]:
    """The pods of a Job: manifest, node, end, exit code and output of each."""
    template = job["spec"]["template"]
    affinity = template["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    nodes = [term["matchFields"][0]["values"][0] for term in affinity["nodeSelectorTerms"]]
    ends = now + timedelta(seconds=MEETS_IN if reachable else GIVES_UP_AFTER)
    found = []
    for index, node in enumerate(nodes):
        name = f"{job['metadata']['name']}-{index}"
        owner = [{"kind": "Job", "name": job["metadata"]["name"], "controller": True}]
        metadata = {
            **template["metadata"],
            "name": name,
            "namespace": job["metadata"]["namespace"],
            "ownerReferences": owner,
        }
        said = (TOGETHER if index == 0 else "") if reachable else APART
        found.append(
            ({"metadata": metadata, "spec": template["spec"]}, node, ends, 0 if reachable else 1, said)
        )
    return found
