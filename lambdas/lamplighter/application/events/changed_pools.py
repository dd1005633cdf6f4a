"""Which pools an event of the function `lifecycle` is about: changes in the ledger, pools by name, or the sweep."""

from collections.abc import Collection, Mapping

from lamplighter.application.board.events import moved


def changed_pools(event: Mapping[str, object], pools: Collection[str]) -> list[str]:
    """The lab's pools that changed; all of them where the event names none."""
    if "Records" in event:
        changed = moved(event).pools
        return [pool for pool in pools if pool in changed]
    named = event.get("pools")
    return [pool for pool in pools if pool in named] if isinstance(named, list) else list(pools)
