"""A record of all IAM decisions in this process.

It says which statements of which roles allowed or denied something, which statements have existed, and what could not
be judged.
"""

import threading
from collections import Counter
from dataclasses import dataclass, field

#: (role name, what a statement says about one action and one resource).
Line = tuple[str, str]


@dataclass
class Record:
    """`standing` are all statements of the roles that existed at the end, `exercised` those that decided something.

    `judged` counts calls, `denied` counts denials, `stacks` are the names of the deployed stacks.
    """

    standing: set[Line] = field(default_factory=set)
    exercised: Counter[Line] = field(default_factory=Counter)
    denied: Counter[str] = field(default_factory=Counter)
    not_judged: Counter[str] = field(default_factory=Counter)
    judged: int = 0
    stacks: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def exercise(self, role: str, line: str) -> None:
        with self._lock:
            self.exercised[role, line] += 1

    def deny(self, words: str) -> None:
        with self._lock:
            self.denied[words] += 1

    def miss(self, gap: str) -> None:
        with self._lock:
            self.not_judged[gap] += 1


#: moto's state is global in the process, and so is this record.
RECORD = Record()


def line(allows: bool, action: str, resource: str, condition: object) -> str:
    """What a statement says about one action and one of its resources, as a line."""
    word = "" if allows else "deny "
    return f"{word}{action} on {resource}" + (f" if {condition}" if condition else "")
