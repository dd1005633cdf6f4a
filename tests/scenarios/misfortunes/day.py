"""One virtual day in which every pool of a lab has a story of its own, all at the same time.

A story is a generator: it acts, and yields what it waits for. The day takes samples from outside once a virtual minute,
and continues each story whose wait is over. Time stands still while samples are taken and stories act, so all that they
see together belongs to one instant. pool.py has what stories can do and see.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise

from lamplighter.adapters.aws.ledger.ledger import Ledger
from local.aws.refusals import FunctionCall, Refusal
from local.cloud import Cloud
from local.demo.observations import Sample
from tests.scenarios.account import Account
from tests.scenarios.misfortunes.looks import Looks
from tests.scenarios.misfortunes.pool import Pool, Story, Until

LOOK_EVERY = timedelta(minutes=1)
#: No story may wait longer than this, because the day must end.
LONGEST = timedelta(hours=8)


@dataclass
class Outcome:
    """The outcome of a story: `error` is None if all its assertions hold."""

    error: BaseException | None = None
    told: bool = False


@dataclass
class _Told:
    pool: Pool
    story: Story
    waits: Until
    deadline: datetime


@dataclass
class Day:
    """A cloud with its lab, and the stories that are played in it."""

    cloud: Cloud
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.api = Account(self.cloud).api
        lab = self.cloud.lab
        self.ledger = Ledger(f"{lab.name}-ledger", self.api("dynamodb"))
        groups = {pool: lab.nodegroup_name(pool) for pool in lab.pools}
        self._looks = Looks(lab, groups, self.api, self.ledger, self.cloud.control_plane.admin())
        self.pools = {name: Pool(self, name, groups[name]) for name in lab.pools}
        self.refused: dict[str, Callable[[FunctionCall], Refusal | None]] = {}
        self.cloud.aws.refusals.judge = self._judge

    @property
    def now(self) -> datetime:
        return self.cloud.clock.now()

    def lose_events(self) -> None:
        """From now on no event of Auto Scaling reaches the guard: only its sweeps remain."""
        self.api("events").disable_rule(Name=f"{self.cloud.lab.name}-instances")

    def play(self, stories: dict[str, Callable[[Pool], Story]], begins: datetime) -> None:
        clock = self.cloud.clock
        clock.sleep_until(begins.timestamp())
        self._look_at(stories)
        told = [self._begun(pool, tell) for pool, tell in stories.items()]
        going = [each for each in told if each is not None]
        while going:
            clock.sleep(LOOK_EVERY.total_seconds())
            self._look_at([each.pool.name for each in going])
            going = [each for each in going if self._goes_on(each)]

    def _look_at(self, pools: Iterable[str]) -> None:
        for name, sample in self._looks.at(self.now, pools).items():
            self.pools[name].samples.append(sample)

    def _begun(self, pool: str, tell: Callable[[Pool], Story]) -> _Told | None:
        self.outcomes[pool] = Outcome()
        told = _Told(self.pools[pool], tell(self.pools[pool]), Until("it begins", lambda: True), self.now)
        return told if self._advanced(told) else None

    def _goes_on(self, told: _Told) -> bool:
        """Whether the story continues after this sample."""
        waits = told.waits
        with self._kept(told.pool.name) as failed:
            if waits.holds():
                return self._advanced(told)
            if self.now < told.deadline:
                return True
            late = AssertionError(f"{waits.what}: not within {waits.within}\n{told.pool.story()}")
            told.story.throw(late)
        if failed:
            told.story.close()
        return False

    def _advanced(self, told: _Told) -> bool:
        """Whether the story waits for something again."""
        with self._kept(told.pool.name):
            try:
                told.waits = next(told.story)
            except StopIteration:
                self.outcomes[told.pool.name].told = True
                return False
            told.deadline = self.now + min(told.waits.within, LONGEST)
            return True
        return False

    @contextmanager
    def _kept(self, pool: str) -> Iterator[list[BaseException]]:
        """The error of a story is its own outcome; the others continue."""
        failed: list[BaseException] = []
        try:
            yield failed
        except Exception as error:  # noqa: BLE001 -- the test of this story raises it
            self.outcomes[pool].error = error
            failed.append(error)

    def _judge(self, call: FunctionCall) -> Refusal | None:
        judge = self.refused.get(call.pool or "")
        return judge(call) if judge else None


def interval(samples: list[Sample]) -> timedelta:
    """The longest time between two samples."""
    return max((after.at - before.at for before, after in pairwise(samples)), default=LOOK_EVERY)
