"""What people change about the calendar: skip and unskip a window, pause and resume the lab.

The rules are in the domain; here each is decided on what the ledger says and written all at once.
"""

from collections.abc import Callable, Mapping

from handlers.desk import Desk
from lamplighter.domain.commands import Command, Decision, Verb

CHANGES: Mapping[Verb, Callable[[Command, Desk], Decision]] = {}
