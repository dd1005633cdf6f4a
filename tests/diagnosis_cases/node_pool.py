"""Cases of pools that a NodePool sizes. They keep the node group of the healthy pool, under the same name."""

from tests.diagnosis_cases import Case, leave, node_of, vanish
from tests.node_pool_snapshots import BARRED, NODE_POOL, condition, karpenter, logged, node_class, node_pool
from tests.snapshots import POOL, Document, at, pod, without


def _of_karpenter(document: Document, replicas: int = 0, *conditions: Document) -> None:
    """Karpenter with the pool's NodePool and its class; two causes at once share them."""
    kubernetes = document["kubernetes"]
    if replicas or "nodepools" not in kubernetes:
        kubernetes["nodepools"] = [node_pool(POOL, replicas)]
    if conditions or "ec2nodeclasses" not in kubernetes:
        kubernetes["ec2nodeclasses"] = [node_class(*conditions, name=POOL)]
    if not any(each["metadata"]["name"] == "karpenter" for each in kubernetes["deployments"]):
        kubernetes["deployments"].append(karpenter())


def _logs(document: Document, message: str, minute: float = 19, replicas: int = 0) -> None:
    """Karpenter prints this at that minute."""
    _of_karpenter(document, replicas)
    document["kubernetes"]["pods"].append(pod("karpenter-5f9c", "kube-system", None))
    logged(document, message, minute)


def _deployment(document: Document, deployment: Document) -> None:
    others = [
        each for each in document["kubernetes"]["deployments"] if each["metadata"]["name"] != "karpenter"
    ]
    document["kubernetes"]["deployments"] = [*others, deployment]


def _class_without_image(document: Document, number: int) -> None:
    del number
    wrong = condition("AMIsReady", "False", "AMINotFound", "AMISelector did not match any AMIs")
    follows = condition("ValidationSucceeded", "False", "DependenciesNotReady")
    _of_karpenter(document, 0, wrong, follows, condition("Ready", "False", "UnhealthyDependents"))


def _class_that_just_began(document: Document) -> None:
    _of_karpenter(document, 0, condition("Ready", "Unknown", "ReconcilingDependents", minute=19))


def _class_that_was_mended(document: Document) -> None:
    _of_karpenter(document, 0, condition("AMIsReady", minute=5), condition("Ready", minute=5))


def _node(document: Document, number: int, kind: str) -> None:
    labels = node_of(document, number)["metadata"]["labels"]
    labels |= {"karpenter.sh/nodepool": POOL, "node.kubernetes.io/instance-type": kind}


def _without_gpu(document: Document, number: int) -> None:
    _node(document, number, "m5.large")
    del node_of(document, number)["status"]["allocatable"]["nvidia.com/gpu"]
    del node_of(document, number)["status"]["capacity"]["nvidia.com/gpu"]
    del node_of(document, number)["metadata"]["labels"]["nvidia.com/gpu.count"]
    without(document, f"train-{number}", f"nvidia-device-plugin-daemonset-{number}")
    without(document, f"nvidia-operator-validator-{number}", f"gpu-feature-discovery-{number}")


def _of_an_unknown_type(document: Document) -> None:
    _without_gpu(document, 0)
    _node(document, 0, "g99.huge")


def _down(document: Document, number: int) -> None:
    del number
    _of_karpenter(document)
    _deployment(document, karpenter(available=0, minute=2))


def _just_restarted(document: Document) -> None:
    _down(document, 0)
    _deployment(document, karpenter(available=0, minute=18))


def _back_again(document: Document) -> None:
    _of_karpenter(document)
    _deployment(document, karpenter(minute=12))


def _barred(document: Document, number: int) -> None:
    vanish(document, number)
    _of_karpenter(document, 1)
    document["kubernetes"]["pods"].append(pod("karpenter-5f9c", "kube-system", None))
    logged(document, BARRED.replace(NODE_POOL, POOL))


def _another_pool_is_barred(document: Document) -> None:
    leave(document, 1)
    document["now"] = at(3)
    _of_karpenter(document, 1)
    document["kubernetes"]["pods"].append(pod("karpenter-5f9c", "kube-system", None))
    logged(document, BARRED.replace(NODE_POOL, "another"))
    document["logs"] = {key: text.replace(NODE_POOL, "another") for key, text in document["logs"].items()}


def _was_barred(document: Document) -> None:
    """The refusal came before the lease, and nothing is asked for now."""
    _logs(document, BARRED.replace(NODE_POOL, POOL), minute=-5)


NO_QUEUE = (
    "creating sqs provider, operation error SQS: GetQueueUrl, https response error StatusCode: 400, api error"
    " AWS.SimpleQueueService.NonExistentQueue: The specified queue does not exist."
)


def _without_queue(document: Document, number: int) -> None:
    del number
    _logs(document, NO_QUEUE)


def _with_another_trouble_of_its_queue(document: Document) -> None:
    _logs(document, "getting messages from queue, request send failed")


def _with_its_queue_again(document: Document) -> None:
    _logs(document, NO_QUEUE, minute=-5)


CASES = (
    Case("node-class-not-ready", _class_without_image, _class_that_just_began, _class_that_was_mended),
    Case("wrong-instance-type", _without_gpu, _of_an_unknown_type, lambda document: _node(document, 0, "g5.xlarge")),
    Case("karpenter-not-ready", _down, _just_restarted, _back_again),
    Case("interruptions-unheard", _without_queue, _with_another_trouble_of_its_queue, _with_its_queue_again),
    Case("launch-barred", _barred, _another_pool_is_barred, _was_barred),
)  # fmt: skip
