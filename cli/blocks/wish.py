"""What is looked for among Capacity Blocks: a pool's nodes, for hours or for the next opening of a window."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from cli import printing
from cli.nearest import did_you_mean
from lamplighter import clock
from lamplighter.domain.capacity.block_offering import (
    AHEAD,
    DAY,
    EARLIEST,
    HOUR,
    HOURS,
    MOST_NODES,
    ODD,
    BlockOffering,
    lengths,
)
from lamplighter.domain.commands.meant import pool_meant
from lamplighter.domain.leases.warm_up import LONGEST
from lamplighter.errors import BadInput
from lamplighter.lab.model import Lab
from lamplighter.lab.windows import Window
from lamplighter.labfile import file as labfile
from lamplighter.values.counted import counted
from lamplighter.values.lab_tag import LAB_TAG

if TYPE_CHECKING:
    from lamplighter.adapters.aws.ledger.ledger import Ledger

LAB = "lab.yaml"
POOL_TAG = "lamplighter:pool"


@dataclass(frozen=True)
class BlockWish:
    """What is looked for: nodes of a pool for hours, for the next opening of a window where one is named."""

    lab: Lab
    pool: str
    nodes: int
    now: datetime
    hours: int | None
    opens: datetime | None = None
    closes: datetime | None = None

    @property
    def tags(self) -> Mapping[str, str]:
        return {LAB_TAG: self.lab.name, POOL_TAG: self.pool}

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.lab.time_zone)

    @property
    def instance_type(self) -> str:
        return self.lab.pools[self.pool].instance_type

    def __str__(self) -> str:
        nodes = f"{counted(self.nodes, 'node')} of {self.instance_type}"
        if self.opens is None or self.closes is None:
            return f"{nodes} for pool {self.pool}"
        opens, closes = (printing.local(at, self.zone) for at in (self.opens, self.closes))
        return f"{nodes} for pool {self.pool} from {opens} to {closes}"

    def lengths(self) -> Iterator[int]:
        """The lengths that may help, in hours, the shortest first."""
        if self.hours is not None:
            yield self.hours
        elif self.opens is None or self.closes is None:
            yield DAY
        else:
            yield from lengths(self.opens, self.closes)

    def range(self, hours: int) -> tuple[datetime, datetime]:
        """From the earliest begin to the latest end of a block of this length that helps."""
        earliest, longest = self.now + EARLIEST, hours * HOUR + ODD
        if self.opens is None or self.closes is None:
            return earliest, self.now + AHEAD + longest
        return max(earliest, self.closes - longest), self.opens + longest

    def is_met_by(self, offering: BlockOffering) -> bool:
        """Whether it is of the type and number, in a zone of the lab, and over the whole window."""
        if (offering.instance_type, offering.nodes) != (self.instance_type, self.nodes):
            return False
        if offering.zone not in self.lab.cluster.zones:
            return False
        return self.opens is None or self.closes is None or offering.has_nodes(self.opens, self.closes)


def lab_of(file: str | None, lab_name: str | None) -> tuple[Lab, "Ledger | None"]:
    """The lab of a file, of lab.yaml in this folder, or the deployed one, with its ledger."""
    if file is not None and lab_name is not None:
        raise BadInput("--lab: names a file, and --lab-name names the deployed lab; give one of them")
    if file is not None or (lab_name is None and Path(LAB).exists()):
        lab = labfile.load(file or LAB)
        printing.show_instants_in(ZoneInfo(lab.time_zone))
        return lab, None
    from cli.deployment import find  # noqa: PLC0415 -- a lab file needs none of it

    deployed = find(lab_name)
    return deployed.lab, deployed.ledger


def wish_of(
    lab: Lab, ledger: "Ledger | None", pool: str | None, named: str | None, hours: int | None
) -> BlockWish:
    """What a person asks for. Raises BadInput for what AWS does not sell, or what the lab does not have."""
    now = clock.now()
    if hours is not None and hours not in HOURS:
        raise BadInput(
            f"--hours: AWS sells no block of {hours} hours, write a multiple of 24 up to 336, or one of 168 up to 4368"
        )
    if named is None:
        name = pool_meant(pool, list(lab.pools))
        nodes = lab.pools[name].max_nodes
        wish = BlockWish(lab, name, nodes, now, hours)
    else:
        wish = _for_window(lab, ledger, pool, named, hours, now)
    of_lab = lab.pools[wish.pool]
    if of_lab.existing is not None:
        raise BadInput(
            f"pool {wish.pool}: is not the lab's own, so its own template says how its nodes are bought"
        )
    if not of_lab.has("group"):
        raise BadInput(f"pool {wish.pool}: a pool of kind {of_lab.kind} has no nodes of a block")
    if of_lab.instance_types or of_lab.zones:
        raise BadInput(
            f"pool {wish.pool}: a block has one type in one zone, write instance_type and zone_index in place of the"
            " lists"
        )
    if wish.nodes > MOST_NODES:
        raise BadInput(
            f"pool {wish.pool}: AWS sells blocks of at most {MOST_NODES} nodes, not of {wish.nodes}"
        )
    return wish


def _for_window(
    lab: Lab, ledger: "Ledger | None", pool: str | None, named: str, hours: int | None, now: datetime
) -> BlockWish:
    windows = {window.name: window for window in lab.windows}
    if named not in windows:
        known = f"the lab has {', '.join(windows)}" if windows else "the lab has none"
        raise BadInput(f"--window: there is no window '{named[:80]}', {known}{did_you_mean(named, windows)}")
    window = windows[named]
    if pool is not None and pool != lab.pool_of(window):
        raise BadInput(f"--pool: window {named} opens pool {lab.pool_of(window)}; leave one of the two out")
    openings = [each for each in _openings(lab, ledger, window, now) if now + EARLIEST <= each[0]]
    if not openings:
        raise BadInput(f"--window: {named} does not open in the 8 weeks for which AWS sells blocks")
    opens, closes = min(openings)
    return BlockWish(lab, lab.pool_of(window), lab.nodes_of(window), now, hours, opens, closes)


def _openings(
    lab: Lab, ledger: "Ledger | None", window: Window, now: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """When a window opens in the next 8 weeks, as early as it ever may to be ready, and when it closes."""
    from cli.plan import courses  # noqa: PLC0415 -- only a window needs the calendar
    from lamplighter.adapters.aws.kept_courses import kept_courses  # noqa: PLC0415
    from lamplighter.domain.calendar.occurrences import expand  # noqa: PLC0415

    alone = lab.model_copy(update={"windows": [window]})
    skipped = {skip.date for skip in ledger.skips() if skip.window == window.name} if ledger else ()
    followed = kept_courses(alone, ledger) if ledger else courses.of(alone)
    early = {lab.pool_of(window): LONGEST}
    for each in expand(alone, now, now + AHEAD, followed, early).windows:
        if f"{each.date:%Y-%m-%d}" not in skipped:
            yield datetime.fromtimestamp(each.opening, UTC), datetime.fromtimestamp(each.closing, UTC)
