"""Whether the routes of `notify` fit: existing kinds and pools, and no address twice on one topic.

stacks/constructs/channels.py makes the subscriptions, which decide where notices go.
"""

from collections.abc import Iterator

from lamplighter.lab.channels import Route
from lamplighter.lab.keys import Path, hint
from lamplighter.lab.model import Lab
from lamplighter.lab.notice_kinds import NOTICES, PAGES
from lamplighter.lab.types import shown
from lamplighter.labfile.rules.parts import Misfit, no_pool

MOST_COMBINATIONS = 150
"""Values of a subscription's filter policy, multiplied (SNS developer guide, filter policy constraints, 2026-11)."""


def misfits(lab: Lab) -> Iterator[Misfit]:
    """The mistakes in the routes of notices and pages."""
    notify = lab.notify
    for index, address in enumerate(notify.pages):
        path: Path = ("notify", "pages", index)
        if address in notify.pages[:index]:
            yield Misfit(path, f"is {shown(address)}, like an address before it; leave it out")
        elif address == notify.email:
            yield Misfit(
                path,
                f"is {shown(address)}, like notify.email; leave one of the two out",
                (("notify", "email"),),
            )
    for index, route in enumerate(notify.notices):
        path = ("notify", "notices", index)
        if any(other.to == route.to for other in notify.notices[:index]):
            yield Misfit(
                (*path, "to"), f"is {shown(route.to)}, like a route before it; write all kinds in one route"
            )
        yield from _kinds(route, path)
        for place, pool in enumerate(route.pools or ()):
            if pool not in lab.pools:
                yield no_pool(lab, (*path, "pools", place), pool)
        if route.pools and len(set(route.kinds)) * (len(set(route.pools)) + 1) > MOST_COMBINATIONS:
            yield Misfit(
                path,
                f"has more than {MOST_COMBINATIONS} combinations of kinds and pools, which SNS does not accept;"
                " leave pools out, or name fewer kinds",
            )


def _kinds(route: Route, path: Path) -> Iterator[Misfit]:
    for index, kind in enumerate(route.kinds):
        where = (*path, "kinds", index)
        if kind in PAGES:
            yield Misfit(
                where,
                f"is {shown(kind)}, which is a page: it goes to notify.email and notify.pages; leave it out",
            )
        elif kind not in NOTICES:
            yield Misfit(
                where,
                f"is {shown(kind)}, which is no kind of notice{hint(kind, NOTICES)}",
            )
