"""The role that launches the instances of a lab's NodePools, which the failsafe's lock is put on and taken off."""

from lamplighter.lab.model import Lab
from stacks.names import Names


def launch_role(lab: Lab, names: Names, kind: str) -> str | None:
    """Its name: Karpenter's role, or for Auto Mode the role of a cluster that the lab creates. None: not known."""
    if kind == "auto-mode":
        return names.role("control-plane") if lab.cluster.existing is None else None
    karpenter = lab.cluster.karpenter
    if karpenter is None or karpenter.existing:
        return None if karpenter is None else karpenter.role
    return names.role("karpenter")


def launch_role_arn(lab: Lab, names: Names, kind: str) -> str | None:
    """Its ARN."""
    role = launch_role(lab, names, kind)
    return None if role is None else names.any_role_arn(role)
