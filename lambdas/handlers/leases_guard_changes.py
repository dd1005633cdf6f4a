"""What people say to the guard: enforce or only watch a pool, silence its pages, keep an idle lease.

The rules are in the domain; here each is decided on what the ledger says and written all at once.
"""

from collections.abc import Callable, Mapping

from handlers.desk import Desk
from lamplighter.domain.commands import Command, Decision, Verb

CHANGES: Mapping[Verb, Callable[[Command, Desk], Decision]] = {}
