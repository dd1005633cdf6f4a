"""The Kubernetes objects that an existing cluster needs for a lab, as input for kubectl.

Every lab needs the rights of data/rbac.yaml. A lab with NodePools also needs rights about them, and their launch bar. A
lab that counts idle time by GPU needs the right to ask the DCGM exporter, one with classes the rights for their
namespaces.
"""

import io
from collections.abc import Mapping
from importlib import resources

from ruamel.yaml import YAML

from lamplighter import data
from lamplighter.domain.capacity.node_pool import access, launch_bar
from lamplighter.domain.classes import access as class_access
from lamplighter.domain.gpu import dcgm_exporter
from lamplighter.lab.model import Lab


def manifest(lab: Lab | None) -> str:
    """YAML of several documents; `lab` adds what its NodePools, its idle time and its classes need."""
    text = resources.files(data).joinpath("rbac.yaml").read_text("utf-8").rstrip()
    if lab is None:
        return text
    more: list[Mapping[str, object]] = [*dcgm_exporter.rights(lab), *class_access.documents(lab)]
    if lab.pools_with("launch bar"):
        more += [*access.documents(lab), *launch_bar.documents(lab)]
    if not more:
        return text
    written = io.StringIO()
    written.writelines(_left_by_earlier_releases(lab, pool) for pool in lab.pools_with("launch bar"))
    yaml = YAML()
    # Rights are compared line by line: long expressions stay on one.
    yaml.width = 1000
    yaml.representer.ignore_aliases = lambda _: True
    yaml.dump_all(more, written)
    return f"{text}\n---\n{written.getvalue().rstrip()}"


def _left_by_earlier_releases(lab: Lab, pool: str) -> str:
    """How to remove a binding that no function moves any more: it would refuse every node of the pool."""
    earlier = launch_bar.earlier_name(lab, pool)
    if earlier == launch_bar.parameter_name(lab, pool):
        return ""
    return (
        f"# Earlier releases named the launch bar of pool {pool} {earlier}, as another lab may. If this prints"
        f" {launch_bar.policy_name(lab)}:\n"
        f"#   kubectl get validatingadmissionpolicybinding {earlier} -o jsonpath='{{.spec.policyName}}'\n"
        "# then delete it once these objects are there, or it refuses every node:\n"
        f"#   kubectl delete validatingadmissionpolicybinding {earlier}\n"
    )
