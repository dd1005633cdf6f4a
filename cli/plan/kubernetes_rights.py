"""The Kubernetes objects that an existing cluster needs for a lab, as input for kubectl.

Every lab needs the rights of data/rbac.yaml. A lab with NodePools also needs rights about them, and their launch bar.
"""

import io
from importlib import resources

from ruamel.yaml import YAML

from lamplighter import data
from lamplighter.domain.capacity.node_pool import access, launch_bar
from lamplighter.lab.model import Lab


def manifest(lab: Lab | None) -> str:
    """YAML of several documents; `lab` adds what its NodePools need."""
    text = resources.files(data).joinpath("rbac.yaml").read_text("utf-8").rstrip()
    more = [*access.documents(lab), *launch_bar.documents(lab)] if lab else []
    if not more:
        return text
    written = io.StringIO()
    yaml = YAML()
    # Rights are compared line by line: long expressions stay on one.
    yaml.width = 1000
    yaml.representer.ignore_aliases = lambda _: True
    yaml.dump_all(more, written)
    return f"{text}\n---\n{written.getvalue().rstrip()}"
