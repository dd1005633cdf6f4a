"""Every cause that a diagnosis can name: its layer, its summary, and what to do.

Findings are listed in this order: AWS, Kubernetes, NVIDIA, and within each layer the root first. What each rule
looks for, and its source, is in docs/causes.py.

To add a cause: put a row here, and let a rule in rules/ call `gathered.found(name, object, evidence)`. diagnose.py
calls a new rule after the rules that it depends on. CONTRIBUTING.md names texts, cases and the fault that plays it.
"""

from dataclasses import dataclass

from lamplighter.reasons.reason import Reason, reason


@dataclass(frozen=True)
class Cause:
    """One cause."""

    name: str
    layer: str
    summary: Reason
    advice: Reason
    takes_supply: bool = True
    """Whether GPUs are missing because of it, so that pods which wait for a GPU follow from it."""


_ALL = (
    Cause(
        "launch-denied",
        "aws",
        reason("finding.launch-denied"),
        reason("finding.launch-denied.advice"),
    ),
    Cause(
        "vcpu-quota",
        "aws",
        reason("finding.vcpu-quota"),
        reason("finding.vcpu-quota.advice"),
    ),
    Cause(
        "no-addresses",
        "aws",
        reason("finding.no-addresses"),
        reason("finding.no-addresses.advice"),
    ),
    Cause(
        "no-capacity",
        "aws",
        reason("finding.no-capacity"),
        reason("finding.no-capacity.advice"),
    ),
    Cause(
        "node-class-not-ready",
        "aws",
        reason("finding.node-class-not-ready"),
        reason("finding.node-class-not-ready.advice"),
    ),
    Cause(
        "node-not-joined",
        "aws",
        reason("finding.node-not-joined"),
        reason("finding.node-not-joined.advice"),
    ),
    Cause(
        "wrong-ami",
        "aws",
        reason("finding.wrong-ami"),
        reason("finding.wrong-ami.advice"),
    ),
    Cause(
        "wrong-instance-type",
        "aws",
        reason("finding.wrong-instance-type"),
        reason("finding.wrong-instance-type.advice"),
    ),
    Cause(
        "nccl-path-blocked",
        "aws",
        reason("finding.nccl-path-blocked"),
        reason("finding.nccl-path-blocked.advice"),
        takes_supply=False,
    ),
    Cause(
        "bandwidth-throttled",
        "aws",
        reason("finding.bandwidth-throttled"),
        reason("finding.bandwidth-throttled.advice"),
        takes_supply=False,
    ),
    Cause(
        "interruptions-unheard",
        "aws",
        reason("finding.interruptions-unheard"),
        reason("finding.interruptions-unheard.advice"),
        takes_supply=False,
    ),
    Cause(
        "karpenter-not-ready",
        "kubernetes",
        reason("finding.karpenter-not-ready"),
        reason("finding.karpenter-not-ready.advice"),
    ),
    Cause(
        "launch-barred",
        "kubernetes",
        reason("finding.launch-barred"),
        reason("finding.launch-barred.advice"),
    ),
    Cause(
        "node-not-ready",
        "kubernetes",
        reason("finding.node-not-ready"),
        reason("finding.node-not-ready.advice"),
    ),
    Cause(
        "untolerated-taint",
        "kubernetes",
        reason("finding.untolerated-taint"),
        reason("finding.untolerated-taint.advice"),
    ),
    Cause(
        "image-pull-failed",
        "kubernetes",
        reason("finding.image-pull-failed"),
        reason("finding.image-pull-failed.advice"),
    ),
    Cause(
        "image-pull-slow",
        "kubernetes",
        reason("finding.image-pull-slow"),
        reason("finding.image-pull-slow.advice"),
        takes_supply=False,
    ),
    Cause(
        "admission-refused",
        "kubernetes",
        reason("finding.admission-refused"),
        reason("finding.admission-refused.advice"),
        takes_supply=False,
    ),
    Cause(
        "pods-not-evicted",
        "kubernetes",
        reason("finding.pods-not-evicted"),
        reason("finding.pods-not-evicted.advice"),
        takes_supply=False,
    ),
    Cause(
        "driver-mismatch",
        "nvidia",
        reason("finding.driver-mismatch"),
        reason("finding.driver-mismatch.advice"),
    ),
    Cause(
        "driver-broken",
        "nvidia",
        reason("finding.driver-broken"),
        reason("finding.driver-broken.advice"),
    ),
    Cause(
        "runtime-missing",
        "nvidia",
        reason("finding.runtime-missing"),
        reason("finding.runtime-missing.advice"),
    ),
    Cause(
        "xid",
        "nvidia",
        reason("finding.xid"),
        reason("finding.xid.advice"),
    ),
    Cause(
        "gpu-lost",
        "nvidia",
        reason("finding.gpu-lost"),
        reason("finding.gpu-lost.advice"),
    ),
    Cause(
        "device-plugin-disabled",
        "nvidia",
        reason("finding.device-plugin-disabled"),
        reason("finding.device-plugin-disabled.advice"),
    ),
    Cause(
        "operator-not-ready",
        "nvidia",
        reason("finding.operator-not-ready"),
        reason("finding.operator-not-ready.advice"),
    ),
    Cause(
        "device-plugin-missing",
        "nvidia",
        reason("finding.device-plugin-missing"),
        reason("finding.device-plugin-missing.advice"),
    ),
    Cause(
        "gpu-count-short",
        "nvidia",
        reason("finding.gpu-count-short"),
        reason("finding.gpu-count-short.advice"),
    ),
    Cause(
        "driver-too-old",
        "nvidia",
        reason("finding.driver-too-old"),
        reason("finding.driver-too-old.advice"),
        takes_supply=False,
    ),
    Cause(
        "cdi-unresolvable",
        "nvidia",
        reason("finding.cdi-unresolvable"),
        reason("finding.cdi-unresolvable.advice"),
        takes_supply=False,
    ),
    Cause(
        "validator-stuck",
        "nvidia",
        reason("finding.validator-stuck"),
        reason("finding.validator-stuck.advice"),
        takes_supply=False,
    ),
    Cause(
        "unknown",
        "kubernetes",
        reason("finding.unknown"),
        reason("finding.unknown.advice"),
        takes_supply=False,
    ),
)

CAUSES = {cause.name: cause for cause in _ALL}
