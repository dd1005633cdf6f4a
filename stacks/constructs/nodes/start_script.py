"""The script that installs a group's packages when a node starts.

Bottlerocket and Windows run none (user_data/). The spec of such a group has one nevertheless, as releases before had
it: a pool with another digest would look changed.
"""

from collections.abc import Sequence

from lamplighter.lab.nodes.images import ImageFamily


def start_script(family: ImageFamily, packages: Sequence[str], *, update: bool = False) -> str | None:
    """The shell script, or None if there is nothing to install."""
    installer = "yum" if family == "al2" else "dnf"
    commands = f"{installer} update -y\n" if update else ""
    if packages:
        commands += f"{installer} install -y {' '.join(packages)}\n"
    return f"#!/bin/bash\n{commands}" if commands else None
