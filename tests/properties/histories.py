"""How many random histories the properties play: few in a short run, and a share of one number in a long one.

LAMPLIGHTER_HISTORIES is that number. It is that of the histories of the laws, to which the other kinds are measured.
"""

import os

from tests.lengths import LONG

HISTORIES = int(os.environ.get("LAMPLIGHTER_HISTORIES", "10000"))


def histories(brief: int, share: int = 20) -> int:
    """The histories of one kind: `brief` in a short run, and at least as many in a long one."""
    return max(brief, HISTORIES // share) if LONG else brief
