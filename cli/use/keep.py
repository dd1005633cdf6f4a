"""`lamplighter keep`: keeps a lease that the guard would close because no pod uses its GPUs."""

from cli import deployment
from cli.options import AsJson, Because, LabName
from cli.use import changes, meant
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.commands.words import reason_given


def command(
    what: meant.PoolOrLease = None,
    words: Because = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Keep a lease until its end although no pod uses a GPU. The lease still ends at its time.

    Exit code 0: kept, or kept before. 1: refused, with the reason.

    \b
    Examples:
      lamplighter keep
      lamplighter keep cli-1a2b3c4d because the data is still coming
    """
    deployed = deployment.find(lab_name)
    because = reason_given(list(words or []))
    lease = meant.lease(deployed, what, "keep")
    changes.give(deployed, Verb.KEEP, pool=lease.pool, lease=lease, because=because, as_json=as_json)
