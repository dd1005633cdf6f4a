"""Which pool or lease a person means by the words of a verb. A mistyped name is answered with the nearest one."""

from collections.abc import Iterable
from itertools import takewhile
from typing import Annotated

import typer

from cli import known_names
from cli.deployment import Deployment
from cli.nearest import did_you_mean, nearest
from lamplighter.domain.commands import spelling
from lamplighter.domain.commands import words as command_words
from lamplighter.domain.commands.meant import lease_meant
from lamplighter.domain.commands.words import CLAUSES, OpenWords
from lamplighter.domain.leases.lease import OVER, Lease
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import Said

PoolOrLease = Annotated[
    str | None,
    typer.Argument(
        metavar="[POOL|LEASE]",
        help="The pool, or one lease by its id.",
        autocompletion=known_names.pools_or_leases,
    ),
]


def lease(
    deployed: Deployment, what: str | None, verb: str, *, closing: bool = False, or_else: Said = ""
) -> Lease:
    """The lease with that id, or the only one that runs; errors as `lease_meant` raises them.

    BadInput names the pool or lease that is most like an unknown word.
    """
    leases = [lease for pool in deployed.lab.pools for lease in deployed.ledger.leases(pool)]
    current = [lease.id for lease in leases if lease.state not in OVER]
    known_names.note("leases", current)
    names = [*deployed.lab.pools, *(lease.id for lease in leases)]
    if what is not None and what not in names:
        raise BadInput(
            f"'{what[:80]}' is neither a pool nor a lease; pools: {', '.join(deployed.lab.pools)}, "
            f"leases: {', '.join(current) or 'none'}{did_you_mean(what, names)}"
        )
    return lease_meant(
        what, leases, deployed.lab.pools, verb, now=deployed.now, closing=closing, or_else=or_else
    )


def spelled(deployed: Deployment, words: Iterable[str]) -> list[str]:
    """The words as the grammar writes them; Slack reads the same spellings."""
    windows = (window.name for window in deployed.lab.windows)
    return spelling.words(" ".join(words), (*deployed.lab.pools, *windows))


def open_words(deployed: Deployment, words: list[str]) -> OpenWords:
    """The words of `open`, and of verbs that take some of them."""
    pools = list(deployed.lab.pools)
    words = command_words.with_for(spelled(deployed, words), pools)
    for word in takewhile(lambda word: word.lower() not in CLAUSES, words):
        if word not in pools and nearest(word, pools):
            deployed.pool(word)  # raises BadInput with that pool
    return command_words.open_words(words, pools, deployed.now, deployed.zone)
