"""Evidence that quotes an outside system: the object, and the words that the system wrote about it."""

from lamplighter.domain.diagnosis.document import Doc, text
from lamplighter.domain.diagnosis.rules.pod import Pod
from lamplighter.reasons.reason import Reason, Said, reason


def quote(about: str, words: Said) -> Reason:
    """`lab/train-0: CUDA error`."""
    return reason("finding.evidence.quote", object=about, words=words)


def quote_of_pod(pod: Pod, words: Said) -> Reason:
    """The same with the node of the pod: a pod that runs is judged together with its node."""
    return reason("finding.evidence.quote-on-node", pod=pod.called, node=pod.node, words=words)


def quote_of_condition(node: str, state: Doc) -> Reason:
    """A condition of a node, as kubectl prints it."""
    return reason(
        "finding.evidence.condition",
        node=node,
        condition=text(state, "type"),
        status=text(state, "status"),
        reason=text(state, "reason"),
        message=text(state, "message"),
    )
