"""A history: a list of events that people, clouds and accidents cause in a lab.

`history` makes one from any random source (hypothesis', or a seed). `play` plays it and returns what is broken.
"""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tests.world import node_pool_steps
from tests.world.aws.cloudformation import DIES, MARKED
from tests.world.aws.dynamodb import Stored
from tests.world.aws.functions import KINDS, Trouble
from tests.world.aws.machines import DEAR
from tests.world.aws.scheduler import LATE
from tests.world.capacity.supply import Site, Supply
from tests.world.chat import STUDENTS, TEACHER, Chat, written
from tests.world.faults import DISTORTIONS, Fault, kinds
from tests.world.judge.laws import Laws
from tests.world.judge.needed import needed_by
from tests.world.judge.truth import Truth
from tests.world.labs import FIRST_SWEEP, GROUPS, LAB, VARIANTS, of_kinds
from tests.world.node_pool_steps import NodePoolSteps
from tests.world.people import BOSS, CRAFTED, PEOPLE, ask, lease_of
from tests.world.programs import FORGED, GOOD_FOR, JOBS, TRAINING, Programs, Request
from tests.world.world import World

Json = dict[str, Any]
CALLS = {"guard": 40}
"""How many calls an invocation makes, if they are more than a dozen."""
A_PRESS_DIES = 3
FUNCTIONS = ("leases", "nodegroups", "cluster", "guard", "notices", "planner", "events", "lifecycle")
OF_THE_BUS = frozenset({"events", "lifecycle"})
"""Functions whose troubles have a source of chance of their own."""


@dataclass(frozen=True)
class Step:
    """One event. Its kind decides the meaning of its numbers."""

    what: str
    pool: str = "gpu"
    number: int = 0
    minutes: int = 0
    name: str = ""


@dataclass(frozen=True)
class History:
    """Events from a start, with a seed for all small random choices."""

    steps: tuple[Step, ...]
    seed: int = 0
    variant: str = "plain"
    kinds: tuple[str, ...] = GROUPS
    """The kinds of capacity of pools gpu and big."""

    def lab(self) -> Json:
        found = {**LAB, **VARIANTS[self.variant][0]}
        return found if self.kinds == GROUPS else of_kinds(found, self.kinds)

    @property
    def start(self) -> datetime:
        return VARIANTS[self.variant][1]


KINDS_OF_STEPS = (
    "wait", "wait", "wait", "open", "open", "open", "extend", "close", "replay", "by-hand", "stray",
    "lose-schedule", "capacity", "immortal", "events-lost", "silent", "stuck-update", "trouble", "trouble",
    "dead", "working", "late", "skip", "pause", "deploy", "deploy", "stubborn", "broken", "garbled", "cold",
    "scarce", "plenty", "empty", "empty", "open", "ahead", "ahead", "crafted", "keep", "taken-back", "sweeps", "price",
    "tight", "currency", "dearer", "asks", "asks", "says-yes", "says-yes", "teaches", "meddles",
    "ill", "unheard", "answers", "answers",
    "ci-opens", "ci-opens", "ci-extends", "ci-closes", "ci-reorders", "ci-late", "ci-repeats", "ci-forges",
)  # fmt: skip

KINDS_OF_POOLS = (
    *(GROUPS,) * 5,
    ("karpenter", "node-group"), ("node-group", "auto-mode"), ("karpenter", "karpenter"), ("auto-mode", "karpenter"),
    ("karpenter", "auto-mode"),
)  # fmt: skip
"""Half of all histories are those of node groups."""
OF_NODE_POOLS = tuple(kinds for kinds in KINDS_OF_POOLS if kinds != GROUPS)


def history(
    chance: random.Random, most: int = 12, kinds_of_pools: Sequence[tuple[str, ...]] = KINDS_OF_POOLS
) -> History:
    """A random history of at most this many steps, a few more where a pool is a NodePool."""
    # A history with few kinds of events repeats them more often: https://doi.org/10.1145/2338965.2336763
    few = chance.sample(KINDS_OF_STEPS, chance.choice((3, 6, 12, len(KINDS_OF_STEPS))))
    steps = [_step(chance, chance.choice(("wait", "open", *few))) for _ in range(chance.randint(1, most))]
    variant = chance.choice(
        ("plain", "plain", "plain", "settings", "watch", "curfew", "autumn", "spring", "fallback")
    )
    seed, kinds = chance.randint(0, 9999), chance.choice(kinds_of_pools)
    if kinds != GROUPS:
        for _ in range(chance.randint(0, 3)):
            more = _step(chance, chance.choice(node_pool_steps.KINDS_OF_STEPS))
            steps.insert(chance.randint(0, len(steps)), more)
    if variant == "settings":
        # A lab with Auto Mode may not set how GPUs are offered.
        kinds = tuple(kind.replace("auto-mode", "karpenter") for kind in kinds)
    return History(tuple(steps), seed, variant, kinds)


def _step(chance: random.Random, what: str) -> Step:
    name = chance.choice(FUNCTIONS) if what in {"dead", "trouble", "unheard"} else ""
    return Step(
        what,
        pool=chance.choice(("gpu", "gpu", "big")),
        number=chance.randint(0, 3),
        minutes=chance.choice((1, 3, 7, 15, 40, 90)),
        name=name,
    )


class Play:
    """A history as it happens."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.truth = world, Truth(world)
        self.laws = Laws(world, self.truth)
        self.chat = Chat(world)
        self.programs = Programs(world)
        self.laws.requests = self.programs.requests
        self.chance = random.Random(seed)
        self._of_node_pools = NodePoolSteps(self)
        self.commands: list[tuple[str, Json]] = []
        self._number = 0
        self._scarce_since: datetime | None = None
        self._ill_item: tuple[str, Stored, Stored] | None = None
        """A pool, its lease that cannot be read, and the same lease as it was before."""

    @property
    def ill(self) -> bool:
        return self._ill_item is not None

    def step(self, step: Step) -> None:
        """Plays the step, and then the minutes that it takes."""
        name = step.what.replace("-", "_")
        play = getattr(self._of_node_pools, name, None) or getattr(self, f"_{name}")
        play(step)

    def settle(self) -> None:
        """All failures end; all leases end; then nothing more happens."""
        self.laws.settles = self.world.now
        self._have_plenty()
        self._be_well()
        self.world.deploy({**self.world.document, "windows": []})
        self.world.run(timedelta(minutes=30))
        ends = [
            version.closes
            for pool in self.truth.pools()
            for version in self.truth.known(pool).values()
            if version.granted
        ]
        self.world.run(max([self.world.now, *ends]) - self.world.now + timedelta(hours=2, minutes=30))
        self._answer_pages()

    def _answer_pages(self) -> None:
        """A person who is paged after a failed close closes again, as the runbook says."""
        runs = self.world.workflows.executions.values()
        if not any(run.workflow.endswith("-close") and run.status == "FAILED" for run in runs):
            return
        for pool in self.truth.pools():
            told = {receipt["lease"] for receipt in self.truth.receipts(pool)}
            known = self.truth.known(pool).items()
            if any(version.state == "closed" and name not in told for name, version in known):
                self._ask(BOSS, "close", Step("close", pool))
                self.world.run(timedelta(minutes=10))

    # --- kinds of steps --------------------------------------------------------------------------------

    def _wait(self, step: Step) -> None:
        self.world.run(timedelta(minutes=step.minutes))

    def _cold(self, step: Step) -> None:
        self.world.deploy(self.world.document)
        self._wait(step)

    def _open(self, step: Step) -> None:
        self._ask(self._person(), "open", step, nodes=max(1, step.number), for_seconds=step.minutes * 120,
                  add=step.number != 1)  # fmt: skip
        self._wait(Step("wait", minutes=self.chance.choice((0, 2, 8, 20))))

    def _ahead(self, step: Step) -> None:
        """A lease that begins later. The planner may run in the very minute in which it opens."""
        opens = self.world.now + timedelta(minutes=step.minutes)
        self._ask(self._person(), "open", step, nodes=max(1, step.number), opens=_written(opens),
                  for_seconds=self.chance.choice((20, 45, 90)) * 60, add=True)  # fmt: skip
        if not step.number:
            self.world.run(opens + timedelta(seconds=self.chance.uniform(0.0, LATE)) - self.world.now)
            self.world._rule("planner")
        self._wait(Step("wait", minutes=self.chance.choice((0, 2, 8))))

    def _crafted(self, step: Step) -> None:
        """Somebody sends a forged request: in another's name, on another's budget, or for another's lease."""
        who = self._person()
        if step.number:
            more = dict(self.chance.choice(CRAFTED))
            if more.get("opens") == "an hour ago":
                more["opens"] = _written(self.world.now - timedelta(hours=1))
            self._ask(
                who, "open", step, **{"nodes": 1, "for_seconds": step.minutes * 60, "add": True, **more}
            )
        else:
            lease = self._some_lease(Step("crafted", step.pool, self.chance.randint(0, 3)))
            verb = self.chance.choice(("close", "extend", "keep"))
            self._ask(who, verb, step, lease=lease, for_seconds=600 if verb == "extend" else None)
        self._wait(Step("wait", minutes=2))

    def _asks(self, step: Step) -> None:
        """A student requests in Slack what students may not do: nodes, or more time on a lease."""
        who, value = self.chance.choice(STUDENTS), {"p": step.pool, "s": step.minutes * 120}
        lease = None if step.number else self._some_lease(Step("asks", step.pool, self.chance.randint(0, 3)))
        wants = {"v": "extend", "l": lease} if lease else {"v": "add", "n": max(1, step.number)}
        command = self.chat.presses(who, "ask", **value, **wants)
        self.laws.asked[command] = (written(who), written(TEACHER))
        self._wait(Step("wait", minutes=self.chance.choice((0, 2, 8))))

    def _says_yes(self, step: Step) -> None:
        """Somebody with the right to approve approves all recent requests, some of them twice. Students may not.

        Students may have requested more than one person may have by then. A press may die on its way and be repeated.
        """
        who = self.chance.choice((TEACHER, TEACHER, TEACHER, *STUDENTS))
        if step.number > 1:
            who = TEACHER
            self._ask_for_much(step.pool)
        for asked in self.chat.asks[-3:]:
            if step.number == A_PRESS_DIES:
                self._press_in_vain(who, asked)
            for _ in range(self.chance.choice((1, 1, 2))):
                self.chat.presses(who, "approve" if step.number or who != TEACHER else "decline", a=asked)
            if who == TEACHER:
                self.laws.pressed(asked)
            # An earlier approval may run by the next press, or be under way.
            self._wait(Step("wait", minutes=self.chance.choice((0, 1))))
        self._wait(Step("wait", minutes=self.chance.choice((0, 2, 8))))

    def _press_in_vain(self, who: str, asked: str) -> None:
        """The action of a press dies on its way."""
        with self._in_trouble():
            died = Trouble(self.chance.randint(1, 20), "die")
            self.world.functions.troubles = lambda _function, _step: (died,)
            self.chat.presses(who, "approve", a=asked)
            self.world.functions.troubles = lambda _function, _step: ()

    def _ask_for_much(self, pool: str) -> None:
        """Several students request a few minutes each.

        Before anybody answers, the teacher may have opened a lease too.
        """
        for student, nodes in zip(STUDENTS, self.chance.choice(((2, 1), (1, 2), (1, 1))), strict=True):
            command = self.chat.presses(student, "ask", p=pool, v="add", n=nodes, s=1200)
            self.laws.asked[command] = (written(student), written(TEACHER))
        if self.chance.random() < 0.5:
            self._wait(Step("wait", minutes=25))
            self._teaches(Step("teaches", pool, number=2, minutes=40))

    def _teaches(self, step: Step) -> None:
        """A person who may open a little opens a lease, or extends it."""
        lease = self._some_lease(step) if step.number == 3 else None
        value = {"p": step.pool, "s": step.minutes * 120}
        for _ in range(self.chance.choice((1, 2))):
            if lease:
                self.chat.presses(TEACHER, "extend", l=lease, s=step.minutes * 60)
                self.laws.of_the_role.add(self.chat.last)
                continue
            command = self.chat.presses(TEACHER, "add", n=max(1, step.number), **value)
            self.laws.asked[command] = (written(TEACHER), written(TEACHER))
            self.laws.of_the_role.add(self.chat.last)
        self._wait(Step("wait", minutes=self.chance.choice((0, 2, 8))))

    def _meddles(self, step: Step) -> None:
        """A student presses the buttons under a lease of any owner."""
        lease = self._some_lease(step)
        if lease:
            action = self.chance.choice(("confirm", "extend", "keep"))
            more = {"s": step.minutes * 60} if action == "extend" else {}
            self.chat.presses(self.chance.choice(STUDENTS), action, l=lease, **more)
        self._wait(Step("wait", minutes=2))

    def _ci_opens(self, step: Step) -> None:
        """A program opens, with the name of its work or without; a doubled event is another one with the same name."""
        source = self.chance.choice((TRAINING, TRAINING, JOBS))
        token = f"work-{len(self.programs.requests)}" if step.number != 1 else None
        for _ in range(2 if step.number == 3 and token else 1):
            self._put("open", step, source, token, nodes=max(1, step.number), for_seconds=step.minutes * 120)
        self._wait(Step("wait", minutes=self.chance.choice((0, 2, 8, 20))))

    def _ci_extends(self, step: Step) -> None:
        """A program extends its work, or its only lease."""
        for _ in range(self.chance.choice((1, 1, 2))):
            self._put("extend", step, *self._some_work(step), for_seconds=step.minutes * 60)
        self._wait(Step("wait", minutes=self.chance.choice((0, 2, 8))))

    def _ci_closes(self, step: Step) -> None:
        """A program closes its work, or its only lease."""
        for _ in range(self.chance.choice((1, 1, 2))):
            self._put("close", step, *self._some_work(step))
        self._wait(Step("wait", minutes=self.chance.choice((0, 2, 8, 20))))

    def _ci_reorders(self, step: Step) -> None:
        """The close of a piece of work comes before its open, or at the same time."""
        token = f"work-{len(self.programs.requests)}"
        self._put("close", step, TRAINING, token)
        self._wait(Step("wait", minutes=step.number))
        self._put("open", step, TRAINING, token, for_seconds=step.minutes * 120)
        self._wait(Step("wait", minutes=2))

    def _ci_late(self, step: Step) -> None:
        """An event was put so long ago that it is hardly good any more, or no longer."""
        ago = GOOD_FOR + timedelta(seconds=self.chance.choice((-60, -10, -1, 0, 1, 60)))
        token = f"work-{len(self.programs.requests)}" if step.number else None
        self._put("open", step, TRAINING, token, ago=ago, for_seconds=step.minutes * 120)
        self._wait(Step("wait", minutes=2))

    def _ci_repeats(self, step: Step) -> None:
        """An event that came before is delivered again, however old it is."""
        for number in range(1 + step.number):
            self.programs.again(self.chance.randint(0, 99) if number else -1)
        self._wait(Step("wait", minutes=self.chance.choice((0, 2, 8))))

    def _ci_forges(self, step: Step) -> None:
        """An event comes that asks for more than its source may, or that nobody who may has put."""
        for _ in range(1 + step.number):
            wrong = self.chance.choice(FORGED)
            self.programs.forge({"pool": step.pool, "for_seconds": step.minutes * 60}, wrong)
        self._wait(Step("wait", minutes=2))

    def _some_work(self, step: Step) -> tuple[str, str | None]:
        """The source and the token of work on the pool, of leases that run where there are any; maybe no token."""
        opens = [
            each
            for each in self.programs.requests
            if (each.event["detail-type"], each.event["detail"]["pool"]) == ("open", step.pool)
            and not each.forged
        ]
        known = self.truth.known(step.pool)
        running = [each for each in opens if each.lease in known and known[each.lease].granted]
        if not opens or step.number == 1:
            return (running[-1].event["source"] if running else self.chance.choice((TRAINING, JOBS))), None
        work = self.chance.choice(running or opens)
        return work.event["source"], work.token

    def _put(
        self,
        verb: str,
        step: Step,
        source: str,
        token: str | None,
        *,
        ago: timedelta = timedelta(0),
        **detail: Any,
    ) -> Request:
        named = {"token": token} if token else {}
        request = self.programs.put(verb, {"pool": step.pool, **detail, **named}, source, ago=ago)
        expires = self.world.now.replace(microsecond=0) - ago + GOOD_FOR
        before = self.laws.expiries.get(request.command, expires)
        self.laws.expiries[request.command] = max(before, expires)
        return request

    def _keep(self, step: Step) -> None:
        """Somebody keeps a lease that may be idle."""
        lease = self._some_lease(step)
        if lease:
            self._ask(self._who_may(step.pool, lease), "keep", step, lease=lease)
        self._wait(step)

    def _taken_back(self, step: Step) -> None:
        """AWS takes a machine back, or it fails. Nobody of the lab caused it."""
        alive = [machine for machine in self.world.machines.of_pool(step.pool) if machine.alive]
        if alive:
            self.world.machines.shut_down(self.chance.choice(alive))
            self.laws.taken_back[step.pool] = self.laws.taken_back.get(step.pool, 0) + 1
        self._wait(step)

    def _sweeps(self, step: Step) -> None:
        """The guard runs several times at once. It may be slow while it corrects a size and somebody opens."""
        if step.number < 2:
            self._wake(1 + step.number)
            self._wait(step)
            return
        with self._in_trouble():
            self.world.functions.troubles = lambda function, _step: self._slow(function)
            self._by_hand(Step("by-hand", step.pool, number=3, minutes=0))
            self._wake(step.number)
            self._give("open", self._command("open", step, nodes=1, for_seconds=3600, add=True))
            self._wait(step)
            self.world.functions.troubles = lambda _function, _step: ()

    def _wake(self, times: int) -> None:
        for _ in range(times):
            self.world._rule("guard")

    def _slow(self, function: str) -> tuple[Trouble, ...]:
        """One of the guard's calls takes most of the minute in which it may write."""
        return (Trouble(self.chance.randint(15, 40), "slow", 45.0),) if function == "guard" else ()

    def _dearer(self, step: Step) -> None:
        """What starts in this time is of a dear type: a changed launch template, or a pod of a dynamic NodePool.

        Somebody may start such a machine by hand, or raise the size.
        """
        types = self.world.machines.types
        usual = types[step.pool]
        if usual == DEAR:
            return
        types[step.pool] = DEAR
        self.world.event_queue.after(step.minutes * 60.0, lambda: types.update({step.pool: usual}))
        if step.number == 1:
            self._stray(Step("stray", step.pool))
        if step.number == 2:
            self._by_hand(Step("by-hand", step.pool, number=2))
        self._wait(Step("wait", minutes=min(step.minutes, (2, 8, 0, 15)[step.number])))

    def _price(self, step: Step) -> None:
        """A deploy sets another price; granted leases keep their own."""
        pools = {name: dict(pool) for name, pool in self.world.document["pools"].items()}
        pools[step.pool]["price_per_hour"] = ("0.9", "1.5", "2.25", "4")[step.number]
        self._deployed(pools=pools)
        self._wait(step)

    def _tight(self, step: Step) -> None:
        """A deploy lowers or raises the budget."""
        guard = dict(self.world.document["guard"])
        guard["budget"] = {**guard["budget"], "amount": ("3", "8", "15", "30")[step.number]}
        self._deployed(guard=guard)
        self._wait(step)

    def _currency(self, step: Step) -> None:
        """A deploy changes the currency, if the lab allows it."""
        guard = dict(self.world.document["guard"])
        before = guard["budget"].get("currency", "USD")
        after = "EUR" if before == "USD" else "USD"
        if self.world.cloudformation.changes_currency(before, after):
            guard["budget"] = {**guard["budget"], "currency": after}
            self._deployed(guard=guard)
        self._wait(step)

    def _ill(self, step: Step) -> None:
        """From now on a lease of a pool cannot be read, because somebody changed the ledger by hand.

        Other pools are not affected.
        """
        self._be_well()
        leased = [pool for pool in self.truth.pools() if self._some_lease(Step("ill", pool))]
        if leased:
            pool = step.pool if step.pool in leased else leased[0]
            lease = self._some_lease(Step("ill", pool, step.number))
            items, key = self.world.dynamodb.items, (f"POOL#{pool}", f"LEASE#{lease}")
            well, items[key] = items[key], {**items[key], "state": {"S": "strange"}}
            self._ill_item = (pool, items[key], well)
            self.laws.ill.setdefault(pool, []).append((self.world.now, None))
            if step.number > 1:
                # Events of other pools are handled as always.
                for other in (each for each in self.truth.pools() if each != pool):
                    self._stray(Step("stray", other))
        self._wait(step)

    def _be_well(self) -> None:
        if self._ill_item is not None:
            (pool, ill, well), self._ill_item = self._ill_item, None
            key = ill["pk"]["S"], ill["sk"]["S"]
            if self.world.dynamodb.items.get(key) is ill:
                self.world.dynamodb.items[key] = well
            self.laws.ill[pool][-1] = (self.laws.ill[pool][-1][0], self.world.now)

    def _late(self, step: Step) -> None:
        """A command that arrives after it has expired."""
        command = self._command("open", step, nodes=1, for_seconds=3600, add=True)
        self._wait(Step("wait", minutes=15 + step.minutes))
        self._give("open", command)
        self._wait(Step("wait", minutes=2))

    def _skip(self, step: Step) -> None:
        """Somebody skips the next opening of a window, or restores it."""
        verb = "skip" if step.number < 3 else "unskip"
        window = self.world.document["windows"][step.number % len(self.world.document["windows"])]
        self._ask(BOSS, verb, Step("skip", "*"), window=window["name"])
        self._wait(step)

    def _pause(self, step: Step) -> None:
        """Nothing opens for a while."""
        until = (self.world.now + timedelta(minutes=step.minutes)).replace(microsecond=0)
        self._ask(BOSS, "pause", Step("pause", "*"), closes=_written(until) if step.number else None)
        since = self.world.now
        # If a lease cannot be read, nobody knows what a pause would keep closed: the pause is refused.
        if self._ill_item is None:
            self.laws.paused.append((since, until if step.number else None))
        self._wait(step)
        self._ask(BOSS, "resume", Step("resume", "*"))
        if self._ill_item is None and not step.number:
            self.laws.paused[-1] = (since, self.world.now)
        self._wait(Step("wait", minutes=2))

    def _deploy(self, step: Step) -> None:
        """A deploy changes every pool without a lease, and takes some time. The next deploy changes windows."""
        begun, deploy = self.world.now, self.world.cloudformation
        sizes = {pool: deploy.read(pool) for pool in self.world.lab.pools}
        self.world.run(timedelta(minutes=min(step.minutes, 7)))
        for pool, size in sizes.items():
            if size is not None:
                deploy.write(pool, size)
        if step.minutes < DIES:
            deploy.finish()
        else:
            self.laws.troubled.append((begun, begun + MARKED))
        windows = [dict(window) for window in self.world.document["windows"]]
        if windows and step.number:
            moved = windows[step.number % len(windows)]
            moved["end"] = self._another_end(step.number)
            self.laws.moved.add(moved["name"])
        self.world.deploy({**self.world.document, "windows": windows})
        self._wait(step)

    def _another_end(self, number: int) -> str:
        if self.world.lab.guard.curfew is not None:
            return ("20:30", "23:45", "23:50", "20:45")[number]
        return ("21:15", "22:45", "23:45", "20:05")[number]

    def _extend(self, step: Step) -> None:
        lease = self._some_lease(step)
        if lease:
            self._ask(
                self._who_may(step.pool, lease), "extend", step, lease=lease, for_seconds=step.minutes * 60
            )
        self._wait(Step("wait", minutes=self.chance.choice((0, 2, 8))))

    def _close(self, step: Step) -> None:
        lease = self._some_lease(step) if step.number else None
        if lease or not step.number:
            self._ask(self._who_may(step.pool, lease), "close", step, lease=lease)
        self._wait(Step("wait", minutes=self.chance.choice((0, 2, 8, 20))))

    def _replay(self, step: Step) -> None:
        """An earlier command is delivered again, with another name."""
        if self.commands:
            workflow, command = self.commands[step.number % len(self.commands)]
            self._number += 1
            self.world.give(workflow, command, f"again-{self._number}")
        self._wait(Step("wait", minutes=self.chance.choice((0, 2))))

    def _by_hand(self, step: Step) -> None:
        self.laws.by_hand.setdefault(step.pool, []).append(self.world.now)
        with suppress(Exception):  # refused: then nobody set anything
            self.world.supply.resize(step.pool, step.number, otherwise=bool(step.minutes % 2))
        self._wait(step)

    def _stray(self, step: Step) -> None:
        if self.world.supply.stray(step.pool) is not None:
            self.laws.excused.setdefault(step.pool, []).append(self.world.now)
        self._wait(step)

    def _lose_schedule(self, step: Step) -> None:
        names = sorted(self.world.scheduler.entries)
        if names:
            for pool in self.truth.pools():
                self.laws.meddled.setdefault(pool, []).append(self.world.now)
            name = self.chance.choice([each for each in names if not each.startswith("curfew-")] or names)
            self.laws.taken_away[name] = self.world.now
            self.world.scheduler.delete_schedule(GroupName="any", Name=name)
        self._wait(step)

    def _capacity(self, step: Step) -> None:
        with self._in_trouble():
            before = self.world.machines.troubles.capacity
            self.world.machines.troubles.capacity = step.number
            self._wait(step)
            self.world.machines.troubles.capacity = before

    def _empty(self, step: Step) -> None:
        """For a while AWS has no machine for this pool. A student may press the button that would move its lease."""
        with self._in_trouble():
            self.world.machines.troubles.empty = frozenset({step.pool})
            self._wait(step)
            if (lease := self._some_lease(step)) and step.number == 1:
                self.chat.presses(self.chance.choice(STUDENTS), "move", p="big", l=lease)
                self._wait(Step("wait", minutes=8))
            self.world.machines.troubles.empty = frozenset()

    def _scarce(self, step: Step) -> None:
        """From now on AWS has only this many machines."""
        self._have_plenty()
        self._scarce_since = self.world.now
        self.laws.troubled.append((self.world.now, None))
        self.world.machines.troubles.capacity = step.number
        self._wait(Step("wait", minutes=min(step.minutes, 7)))

    def _plenty(self, step: Step) -> None:
        self._have_plenty()
        self._wait(step)

    def _have_plenty(self) -> None:
        self.world.machines.troubles.capacity = None
        since, self._scarce_since = self._scarce_since, None
        if since is not None:
            self.laws.troubled[self.laws.troubled.index((since, None))] = (since, self.world.now)

    def _immortal(self, step: Step) -> None:
        with self._in_trouble():
            self.world.machines.troubles.immortal = True
            self._wait(step)
            self.world.machines.troubles.immortal = False
            self.world.run(timedelta(minutes=1))

    def _events_lost(self, step: Step) -> None:
        """Losing every event does not excuse a late reaction."""
        self.world.machines.troubles.events_lost = True
        self._wait(step)
        self.world.machines.troubles.events_lost = False

    def _silent(self, step: Step) -> None:
        with self._in_trouble():
            self.world.kubernetes.health.silent = True
            self._wait(step)
            self.world.kubernetes.health.silent = False

    def _stubborn(self, step: Step) -> None:
        self.world.kubernetes.health.stubborn = True
        self._wait(step)
        self.world.kubernetes.health.stubborn = False

    def _broken(self, step: Step) -> None:
        self.world.kubernetes.health.broken = True
        self._wait(step)
        self.world.kubernetes.health.broken = False

    def _garbled(self, step: Step) -> None:
        self.world.kubernetes.health.garbled = True
        self._wait(step)
        self.world.kubernetes.health.garbled = False

    def _working(self, step: Step) -> None:
        """From now on people work on every node."""
        for machine in self.world.machines.of_pool(step.pool):
            self.world.kubernetes.work_on(machine)
        self._wait(step)

    def _stuck_update(self, step: Step) -> None:
        """Another change of the pool takes this long. With `meanwhile` in its name, the next steps happen during it."""
        self.laws.troubled.append((self.world.now, self.world.now + timedelta(minutes=step.minutes)))
        self.world.supply.keep_busy(step.pool, step.minutes * 60.0)
        if step.name != "meanwhile":
            self._wait(step)

    def _dead(self, step: Step) -> None:
        with self._in_trouble():
            self.world.functions.deleted.add(step.name)
            self._wait(step)
            self.world.functions.deleted.discard(step.name)

    def _unheard(self, step: Step) -> None:
        """A function's answers are lost for a while, but its work is done. Somebody may send a request in that time."""
        with self._in_trouble():
            self.world.functions.unheard.add(step.name)
            if step.number > 1:
                self._give("open", self._command("open", step, nodes=1, for_seconds=step.minutes * 120))
            self._wait(step)
            self.world.functions.unheard.discard(step.name)

    def _answers(self, step: Step) -> None:
        """For a while a call that was made before fails in one way, in one function or in all."""
        functions = self.world.functions
        # The fake in the place of a capacity is no outside: nothing of ours reads its answers.
        function, call = self.chance.choice(
            [each for each in functions.known if each[1].partition(".")[0] != "fake"]
        )
        kind = self.chance.choice([each for each in kinds(call) if each not in DISTORTIONS])
        with self._in_trouble() if any(needed_by(call)) else nullcontext():
            functions.faults = (Fault(call, kind, self.chance.choice((None, function))),)
            self._wait(step)
            functions.faults = ()

    def _trouble(self, step: Step) -> None:
        """For a while calls fail, are lost, are made twice or take long, and functions die between two calls."""
        with self._in_trouble():
            rate = (0.1, 0.3, 0.6, 0.9)[step.number]
            self.world.functions.troubles = lambda function, _step: self._troubles(
                rate,
                CALLS.get(function, 14),
                self.world.bus.chance if function in OF_THE_BUS else self.chance,
            )
            self._wait(step)
            self.world.functions.troubles = lambda _function, _step: ()

    def _troubles(self, rate: float, calls: int, chance: random.Random) -> tuple[Trouble, ...]:
        if chance.random() > rate:
            return ()
        kinds = [chance.choice(KINDS) for _ in range(chance.randint(1, 3))]
        return tuple(
            Trouble(chance.randint(1, calls), kind, chance.choice((2.0, 5.0, 9.0, 45.0))) for kind in kinds
        )

    @contextmanager
    def _in_trouble(self) -> Iterator[None]:
        since = self.world.now
        self.laws.troubled.append((since, None))
        yield
        self.laws.troubled[-1] = (since, self.world.now)

    def _some_lease(self, step: Step) -> str | None:
        granted = [name for name, version in self.truth.known(step.pool).items() if version.granted]
        return granted[step.number % len(granted)] if granted else None

    def _deployed(self, **changed: Any) -> None:
        self.world.deploy({**self.world.document, **changed})
        self.laws.deployed()

    def _person(self) -> str:
        return self.chance.choice(("alice", "alice", "bob"))

    def _who_may(self, pool: str, lease: str | None) -> str:
        """Who requests a change of a lease: its owner, or a person who runs the lab."""
        owner = self.truth.owner(pool, lease) if lease else BOSS
        return owner if owner in PEOPLE else BOSS

    def _ask(self, who: str, verb: str, step: Step, **more: Any) -> None:
        """Somebody sends this to the lab's address. The command may be delivered once more later."""
        self._number += 1
        known = ask(self.world, who, {"verb": verb, "pool": step.pool, "token": f"t-{self._number}", **more})
        if known is None:
            return
        self.laws.expiries[known] = self.world.now + timedelta(minutes=15)
        if verb == "open":
            self.laws.asked[lease_of("cli", known)] = (who, who)
        for (workflow, name), run in self.world.workflows.executions.items():
            if name == known:
                command = json.loads(run.input)["command"]
                self.commands.append((workflow.removeprefix(f"{self.world.lab.name}-"), command))

    def _command(self, verb: str, step: Step, **more: Any) -> Json:
        self._number += 1
        now = self.world.now
        command = {
            "id": f"cli-{verb}-{self._number:04}",
            "verb": verb,
            "pool": step.pool,
            "owner": "alice",
            "by": "alice",
            "source": "cli",
            "issued": _written(now),
            "expires": _written(now + timedelta(minutes=15)),
            "because": None,
            **more,
        }
        self.laws.expiries[command["id"]] = now + timedelta(minutes=15)
        return command

    def _give(self, workflow: str, command: Json) -> None:
        self.commands.append((workflow, command))
        self.world.give(workflow, command)


def play(told: History, kind: Callable[[Site], Supply] | None = None) -> list[str]:
    """What is broken at the end of a history; with `kind` all its pools have that kind of capacity."""
    world = World(told.lab(), told.start, told.seed, kind)
    played = Play(world, told.seed)
    with world:
        world.event_queue.every(120.0, played.laws.look, 60.0)
        # The guard's first sweep begins to count. Earlier machines do not count as the lab's money.
        world.run(FIRST_SWEEP)
        for step in told.steps:
            played.step(step)
        played.settle()
        return played.laws.finish()


def _written(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")
