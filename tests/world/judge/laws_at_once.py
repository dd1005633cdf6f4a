"""The laws that can be judged at once: at every order, at every write, every second minute.

It also keeps facts for the end: when there were failures, and what somebody did by hand.
"""

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from lamplighter.adapters.aws.ledger.items import decoded
from lamplighter.domain.capacity.node_pool.kind import AUTO_MODE, KARPENTER
from lamplighter.domain.pool.drain import LEAVING
from lamplighter.reasons.document import read
from tests.world.aws.machines import Machine
from tests.world.chat import LONGEST, MOST, TEACHER, written
from tests.world.judge.laws_of_money import LawsOfMoney
from tests.world.judge.truth import GRANTED, Order, Truth, Version
from tests.world.programs import GIVERS, OWNERS, TRAINING, Request
from tests.world.programs import LONGEST as LONGEST_BY_EVENT
from tests.world.programs import MOST as MOST_BY_EVENT
from tests.world.world import World

ENDED = frozenset({"closing", "closed"})
ORDERED_WITHIN = timedelta(minutes=7)
HOUR, HAND_OVER = timedelta(hours=1), timedelta(minutes=1)
CURFEW = timedelta(minutes=10)
ONE_HOUR_NEARLY = timedelta(minutes=55)
"""So long the guard remembers for certain what it ended."""
ONE_CALL = timedelta(seconds=10)
"""A call that is under way cannot know a lease that was granted this recently."""
SLOW_CALLS = timedelta(minutes=1)
"""The same while calls fail and take long."""
FAILSAFE_MINUTES = (10, 20, 30, 40)
AFTER = {
    "planned": {"planned", "gone", "refused", *GRANTED},
    "closing": {"closing", "closed"},
    "closed": {"closed"},
}
AFTER |= {state: {*GRANTED, "closing"} for state in GRANTED}
AFTER["admitted"].add("refused")  # one that was granted ahead, at its opening
AFTER |= {"refused": set(), "gone": {"planned", *GRANTED}}
BOUNDED = {
    frozenset({written(TEACHER)}): MOST,
    frozenset({OWNERS[TRAINING], GIVERS[TRAINING]}): MOST_BY_EVENT,
}
"""The most nodes at once on a pool of those who may open a little, by their names."""
OF_NODE_POOLS = frozenset({KARPENTER.pool_tag, AUTO_MODE.pool_tag})
#: Verdicts that need no GPU to run anything.
SAID_BY_THE_NODE = {"allocatable", "labels", "ready", "xid"}


class LawsAtOnce(LawsOfMoney):
    """`broken` grows as the world goes on."""

    def __init__(self, world: World, truth: Truth) -> None:
        super().__init__(world, truth)
        self.begun = world.now
        self.settles: datetime | None = None
        """When the lab lost its windows, so that everything ends."""
        self.first_lab = json.loads(world.lab.to_json())
        self.excused: dict[str, list[datetime]] = {}
        """By pool: when somebody raised a size by hand, so that its surplus began again."""
        self.moved: set[str] = set()
        """Windows that a deploy moved: their earlier leases come from an older lab."""
        self.paused: list[tuple[datetime, datetime | None]] = []
        self.by_hand: dict[str, list[datetime]] = {}
        """When somebody set the size of a pool."""
        self.meddled: dict[str, list[datetime]] = {}
        """By pool: when somebody removed its nodes or its schedules by hand."""
        self.dear_machines: dict[str, Machine] = {}
        """Machines of a type that no lease was granted for, also those that are gone."""
        self.taken_by_hand: set[str] = set()
        """Machines whose NodeClaim somebody deleted: whoever ends one then takes it from no lease."""
        self._surplus: set[str] = set()
        """Machines that were told to leave when no lease justified them. None comes back, whatever is granted later."""
        self.barred_by_hand: dict[str, list[datetime]] = {}
        """By pool: when somebody moved its launch bar by hand. Only the next sweep can notice that."""
        self.taken_away: dict[str, datetime] = {}
        """By schedule: when somebody deleted it. Only the next sweep can notice that."""
        self.asked: dict[str, tuple[str, str]] = {}
        """By lease: its owner, if it is granted, and who gave the command."""
        self.of_the_role: set[str] = set()
        """The Slack requests of people with a role, by their keys."""
        self.expiries: dict[str, datetime] = {}
        """By command: the time after which it must have no effect."""
        self.requests: list[Request] = []
        """What programs put on the bus."""
        world.dynamodb.listeners.append(self._written)
        world.machines.changed.append(self._changed)
        self._ended: dict[str, datetime] = {}
        """By pool: when our code last ended nodes past their controller beside a lease."""
        self._faulty: dict[str, datetime] = {}
        """By pool: since when its failsafe is wrong."""
        world.kubernetes.asked_to_go = self._asked_to_go
        heard = world.supply.heard
        heard.ordered, heard.retired = self._ordered, self._retired
        heard.terminated, heard.started, heard.kept_back = self._terminated, self._started, self._kept_from

    def look(self) -> None:
        """Checks regularly that each pool with leased nodes has its money, and its failsafe within one sweep."""
        now = self.world.now
        self._money_now()
        for pool in self.truth.pools():
            self._held_for(pool)
            ends = [v.closes for v in self.truth.known(pool).values() if v.justifies(now)]
            fault = None
            if ends and any(machine.alive for machine in self.world.machines.of_pool(pool)):
                fault = self.failsafe_fault(pool, max(ends), exact=True)
            if fault is None:
                self._faulty.pop(pool, None)
            elif self.late(pool, self._faulty.setdefault(pool, now), now) > ORDERED_WITHIN:
                self._break(2, f"{fault}, for longer than a sweep")
                self._faulty[pool] = now

    def _unlocked(self, pool: str) -> None:
        """The lock that a failsafe left on keeps no lease from its nodes: an opening takes it off before it orders."""
        current = self.world.functions.current
        if current is not None and current.verb == "open" and self.world.supply.locked(pool):
            self._break(5, f"the failsafe's lock keeps the leases of {pool} from their nodes")

    # --- as it happens ---------------------------------------------------------------------------------

    def _ordered(self, pool: str, before: int, after: int) -> None:
        self.truth._ordered(pool, before, after)
        order = self.truth.orders[-1]
        if order.by == "outside":
            where = self.excused if after > before else self.meddled
            where.setdefault(pool, []).append(order.at)
            return
        watched = self.world.lab.mode(pool) == "watch"
        if watched and order.by == "guard" and after < before:
            self._break(1, f"the guard took nodes from {pool}, which it only watches")
        if watched and after < before:
            self._takes_only_nodes_of_leases(order)
        if order.by == "scheduler" and after > 0:
            self._break(2, f"the failsafe ordered {after} nodes on {pool}")
        if after > before and not self._gives_back(order):
            self._armed_before(order)
            self._opens(order)
            self._unlocked(pool)
        if any(end is None for _, end in self.ill.get(pool, [])):
            return
        if (
            after < min(before, self._surely_justified(pool))
            and not order.anew
            and not self._gives_up_what_never_came(pool, after)
            and not (order.dear and after >= self._usual(pool))
        ):
            self._break(
                5, f"{order.by} ordered {after} of {before} nodes on {pool}, its leases justify "
                f"{self._surely_justified(pool)}"
            )  # fmt: skip

    def _takes_only_nodes_of_leases(self, order: Order) -> None:
        """On a watched pool no lease takes a node with it that was there before. A person may close the whole pool."""
        staying = self.world.supply.staying(order.pool)
        older = [each.id for each in staying if not self._began_under_a_lease(order.pool, each.launched)]
        if older and not self._closed_whole(order.pool):
            self._break(
                1, f"{order.by} took {older} of {order.pool}, which it only watches and no lease opened"
            )

    def _began_under_a_lease(self, pool: str, at: datetime) -> bool:
        """Whether a lease ran then, or was granted so soon after that its opening could not know of the node."""
        for versions in self.truth.leases.get(pool, {}).values():
            for version, following in zip(versions, [*versions[1:], None], strict=True):
                begins = max(version.at, version.opens) - SLOW_CALLS
                if version.holds and begins <= at and (following is None or at <= following.at):
                    return True
        return False

    def _closed_whole(self, pool: str) -> bool:
        return any(
            json.loads(run.input).get("command", {}).get("pool") == pool
            and workflow.endswith("-close")
            and json.loads(run.input)["command"].get("lease") is None
            for (workflow, _), run in self.world.workflows.executions.items()
        )

    def _changed(self, machine: Machine) -> None:
        """While a machine of a type that nobody was granted stands in a pool, and when it goes, leases lack nodes."""
        if machine.dear:
            self.meddled.setdefault(machine.pool, []).append(self.world.now)
            self.dear_machines[machine.id] = machine

    def _usual(self, pool: str) -> int:
        return sum(1 for machine in self.world.supply.staying(pool) if not machine.dear)

    def _gives_up_what_never_came(self, pool: str, after: int) -> bool:
        """The step Release no longer orders nodes that a shortage keeps away. It removes no existing node."""
        current = self.world.functions.current
        staying = self.world.supply.staying(pool)
        return current is not None and current.step == "Release" and after >= len(staying)

    def _gives_back(self, order: Order) -> bool:
        """Whether it is the second half of trying anew: the size is what it was before."""
        earlier = [each for each in self.truth.orders[:-1] if each.pool == order.pool][-1:]
        return any(
            each.anew
            and each.by == order.by
            and order.after <= each.before
            and order.at - each.at <= HAND_OVER
            for each in earlier
        )

    def _surely_justified(self, pool: str) -> int:
        now = self.world.now
        least = min(self.truth.justified(pool, now), self.truth.justified(pool, now, now - ONE_CALL))
        return max(0, least - self._kept_back(pool))

    def _kept_back(self, pool: str) -> int:
        """The nodes of leases that were granted ahead and that a pause has kept from opening until now."""
        leases = [
            v for v in self.truth.known(pool).values() if v.justifies(self.world.now) and v.at < v.opens
        ]
        return sum(
            lease.nodes
            for lease in leases
            if any(begin <= lease.opens <= (end or self.world.now) for begin, end in self.paused)
        )

    def _retired(self, pool: str, machine: Machine) -> None:
        """A node on which people work is removed last, as long as any lease exists."""
        if machine.dear:
            return
        staying = self.world.supply.staying(pool)
        if len(staying) > self._surely_justified(pool):
            self._surplus.add(machine.id)
        idle = sum(1 for each in staying if not each.working)
        functions = self.world.functions
        if "cluster" in functions.unheard | functions.deleted:
            # Nobody else knows which nodes are idle, so the youngest is removed.
            return
        ours = self.truth.orders and self.truth.orders[-1].by != "outside"
        enough = 0 < len(staying) - self.world.supply.size(pool) <= idle
        if ours and machine.working and enough and self._surely_justified(pool):
            self._break(5, f"{machine.id} was taken, on which people work, and {idle} idle ones stayed")

    def _asked_to_go(self, machine: Machine) -> None:
        """People are asked to leave a node only if there are too few idle nodes."""
        current, leaving = self.world.functions.current, machine.annotations.get(LEAVING)
        if current is None or current.step != "Drain" or leaving is None:
            return
        chosen = datetime.fromisoformat(leaving)
        if self.world.now - chosen > ONE_CALL:
            return
        members = {each.id for each in self.world.supply.staying(machine.pool)}
        there = [each for each in self.world.kubernetes.nodes() if each.id in members]
        idle = [each for each in there if not each.working]
        needed = self._surely_justified(machine.pool)
        if needed and len(there) - needed <= len(idle):
            self._break(5, f"people were asked to leave {machine.id}, and {len(idle)} idle ones stayed")
        left = sum(1 for each in there if LEAVING not in each.annotations)
        if left < needed:
            self._break(5, f"people were asked to leave {machine.id}, and {left} nodes are left of {needed}")

    def _terminated(self, instances: Sequence[str], end: Callable[[], None]) -> None:
        machines = self.world.machines.machines
        # A machine that no controller lists belongs to no lease, however few nodes a shortage leaves.
        excused = self.taken_by_hand | self._surplus
        ended = [machines[name] for name in instances if name in machines and name not in excused]
        pools = {each.pool for each in ended if each in self.world.supply.listed(each.pool)}
        for pool in pools:
            self._ended_past_its_controller(pool, ended)
        end()
        for pool in pools:
            left = sum(1 for machine in self.world.machines.of_pool(pool) if machine.alive)
            if self.world.actor() != "outside" and left < self._surely_justified(pool):
                self._break(5, f"{list(instances)} were ended on {pool}, its leases justify more than {left}")

    def _ended_past_its_controller(self, pool: str, ended: Sequence[Machine]) -> None:
        """Beside a lease the youngest node goes, for EC2 does not tell who works where.

        If its controller puts another one in its place, that one is not ended as well.
        """
        now, staying = self.world.now, [each for each in self.world.supply.staying(pool) if each.alive]
        taken = [each for each in staying if each in ended]
        if not taken or self.world.actor() == "outside" or not self._surely_justified(pool):
            return
        youngest = max((each.launched for each in staying if each not in taken), default=self.begun)
        for each in taken:
            if each.working and each.launched < youngest:
                self._break(5, f"{each.id} was ended, on which people work, and a younger one stayed")
        last = self._ended.get(pool)
        again = [each.id for each in taken if last is not None and last < each.launched]
        if again and last is not None and now - last < ONE_HOUR_NEARLY:
            self._break(
                4, f"{again} were ended on {pool}, and had come in the place of others that were ended"
            )
        self._ended[pool] = now

    def _started(self, pool: str, name: str) -> None:
        """Where there is a launch bar, nothing starts outside of a lease, whatever size somebody orders."""
        if not self.world.supply.barred(pool):
            return
        now = self.world.now
        if self.truth.justified(pool, now) or self.truth.justified(pool, now - ONE_CALL):
            return
        if any(version.justifies(now) for version in self.truth.known(pool).values()):
            # The bar has a time and no number: it is open for a lease whose nodes are all missing.
            return
        # A planned lease that is taken back has ended nothing.
        ended = [version.at for version in self.truth.known(pool).values() if version.state in ENDED]
        # The bar of a lease that ends early moves with its close. If that failed, the next sweep moves it.
        since = max(ended, default=self.begun)
        late = self.late(pool, since, now)
        if not self._barred_by_hand(pool) and late > (ONE_CALL if late == now - since else ORDERED_WITHIN):
            self._break(1, f"{name} started on {pool} without a lease")

    def _kept_from(self, pool: str) -> None:
        """The launch bar keeps no node from a lease for which somebody of ours has ordered it."""
        if self._barred_by_hand(pool):
            return
        orders = [order for order in self.truth.orders if order.pool == pool]
        justified = self.truth.justified(pool, self.world.now) - self._kept_back(pool)
        if orders and orders[-1].by != "outside" and justified > 0:
            self._break(5, f"the launch bar kept a node from the leases of {pool}")

    def _barred_by_hand(self, pool: str) -> bool:
        """Whether somebody moved the bar, and no sweep without trouble has come by since."""
        moved = self.barred_by_hand.get(pool, [])[-1:]
        return any(self.late(pool, at, self.world.now) < ORDERED_WITHIN for at in moved)

    def _armed_before(self, order: Order) -> None:
        """Before a node may start, four failsafe schedules exist, none earlier than the end of the last lease."""
        leases = [v for v in self.truth.known(order.pool).values() if v.justifies(order.at)]
        # A lease that was granted ahead moves the failsafe when its own run begins, before its nodes are ordered.
        begun = [v for v in leases if v.at >= v.opens or order.at - v.opens > ORDERED_WITHIN]
        leases = begun if sum(v.nodes for v in begun) >= order.after else leases
        ends = [version.closes for version in leases]
        if not ends and order.by == "deploy":
            # CloudFormation read the size a moment ago, when it was justified. It is gone before law 1 can count.
            return
        if not ends:
            self._break(1, f"{order.by} ordered {order.after} nodes on {order.pool} without a lease")
            return
        fault = self.failsafe_fault(order.pool, max(ends))
        if fault:
            self._break(2, f"{order.by} ordered {order.after} nodes on {order.pool}, and {fault}")

    def _opens(self, order: Order) -> None:
        """Only an opening adds nodes. A close and the guard never order more than they found."""
        current = self.world.functions.current
        if order.by in {"deploy", "scheduler"} or current is None:
            return
        if (current.step, current.verb) != ("Scale", "open"):
            self._break(
                2,
                f"{order.by} ordered {order.after} of {order.before} nodes on {order.pool}, and opens nothing",
            )

    def failsafe_fault(self, pool: str, end: datetime, *, exact: bool = False) -> str | None:
        """What is wrong with a pool's failsafe for a last end; None if it is right.

        It may be later than it must be only while a lease is granted or extended.
        """
        rails = zip(FAILSAFE_MINUTES, self.world.supply.rails(pool), strict=True)
        for minutes, rail in rails:
            entry = self.world.scheduler.entries.get(f"failsafe-{pool}-{minutes}")
            due = end + timedelta(minutes=minutes)
            taken = self.taken_away.get(f"failsafe-{pool}-{minutes}")
            if entry is None and taken is not None and self.world.now - taken < ORDERED_WITHIN:
                continue
            if entry is None:
                if due > self.world.now + timedelta(seconds=90):
                    return f"failsafe-{pool}-{minutes} is not there"
                continue
            target = entry.asked["Target"]
            calls = target["Arn"], json.loads(target["Input"])
            if entry.asked["State"] != "ENABLED" or calls != (rail.target, rail.sent):
                return f"failsafe-{pool}-{minutes} does {calls}"
            if entry.at < due - timedelta(seconds=1):
                return f"failsafe-{pool}-{minutes} fires at {entry.at:%H:%M:%S}, before {due:%H:%M:%S}"
            if exact and entry.at > due + timedelta(seconds=1):
                return f"failsafe-{pool}-{minutes} fires at {entry.at:%H:%M:%S}, after {due:%H:%M:%S}"
        return None

    def _written(self, before: Any, item: Any) -> None:
        if item is None:
            return
        sort = item["sk"]["S"]
        if sort.startswith("LEASE#"):
            self._lease_changed(item["pk"]["S"].removeprefix("POOL#"), sort.removeprefix("LEASE#"))
        elif sort.startswith("COMMAND#"):
            self._decided(sort.removeprefix("COMMAND#"), item)
        elif sort.startswith("BUDGET#") and "held" in item:
            self._budget_changed(before, item)
        elif sort.startswith("AUDIT#") and item["kind"]["S"] == "zero-proven" and item["nodes"]["N"] == "0":
            self._proven(item["pk"]["S"].removeprefix("POOL#"))
        elif item["pk"]["S"].startswith("ROWS#") and sort.startswith("PROOF#"):
            self._judged([row for _, row in json.loads(item["rows"]["S"])])

    def _moves_whole(self, name: str, taken: Version) -> None:
        """A lease comes from another pool only once, and while that pool justifies no node and no money for it."""
        pool, left = taken.moved_from or ("", "")
        others = [
            other
            for of in self.truth.pools()
            for other, version in self.truth.known(of).items()
            if version.moved_from == taken.moved_from
        ]
        was = self.truth.known(pool)[left]
        if others != [name]:
            self._break(4, f"{left} moved to {others}, not to one place")
        if was.granted and was.nodes:
            self._break(4, f"{left} on {pool} has {was.nodes} nodes, and {name} takes its place")

    def _lease_changed(self, pool: str, name: str) -> None:
        versions = self.truth.leases[pool][name]
        if len(versions) == 1:
            if (
                versions[0].granted
                and versions[0].opens < versions[0].at - HAND_OVER
                and not versions[0].window
            ):
                self._break(3, f"lease {name} opened at {versions[0].opens}, before it was asked for")
            if versions[0].moved_from is not None:
                self._moves_whole(name, versions[0])
            if versions[0].granted:
                self._not_while_paused(name)
                self._ends_at_curfew(pool, name, versions[0])
                self._fits(pool, name, versions[0])
                self._moved_before(pool, name)
                self._within_the_role(pool, versions[0])
            return
        was, now = versions[-2:]
        self._keeps_what_runs(pool, name, was, now)
        if now.state not in AFTER[was.state]:
            self._break(3, f"lease {name} went from {was.state} to {now.state}")
        if was.state == now.state == "closed" and (was.nodes, was.closes) != (now.nodes, now.closes):
            self._break(3, f"lease {name} was closed, and is something else now")
        if (was.state, now.state) == ("admitted", "opening"):
            self._opens_at_present_price(pool, name, now)
        if now.granted and not was.granted:
            self._not_while_paused(name)
            self._fits(pool, name, now)
        if now.granted and now.closes > (was.closes if was.granted else was.opens):
            self._moved_before(pool, name)
        if now.granted:
            self._ends_at_curfew(pool, name, now)
        if now.granted and now.window is None and now.closes - now.opens > self._longest():
            self._break(3, f"lease {name} lasts {now.closes - now.opens}")

    def _keeps_what_runs(self, pool: str, name: str, was: Version, now: Version) -> None:
        """A lease that asks for fewer nodes never asks for fewer than it has."""
        if not (was.granted and now.granted and now.nodes < was.nodes):
            return
        has = next((has for other, _, has in self._shares(pool, **{name: was}) if other == name), 0)
        if has > now.nodes:
            self._break(5, f"{name} has {has} nodes, and is to have {now.nodes}")

    def _not_while_paused(self, name: str) -> None:
        """While people keep the lab paused, nothing is granted. A moment is allowed for the pause to take effect."""
        for begin, end in self.paused:
            if begin + HAND_OVER < self.world.now < (end or self.world.now + HOUR):
                self._break(3, f"lease {name} was granted while the lab was paused")

    def _ends_at_curfew(self, pool: str, name: str, lease: Version) -> None:
        """No lease runs in the ten minutes from a curfew on. The curfews of our histories are in UTC."""
        minute = self.world.lab.curfew(pool)
        if minute is None:
            return
        midnight = lease.opens.replace(hour=0, minute=0, second=0, microsecond=0)
        for day in range(-1, 3):
            curfew = midnight + timedelta(days=day, minutes=minute)
            if lease.opens < curfew + CURFEW and curfew < lease.closes:
                self._break(
                    3, f"lease {name} lasts from {lease.opens:%H:%M} to {lease.closes:%H:%M}, over a curfew"
                )

    def _moved_before(self, pool: str, name: str) -> None:
        """Before a running lease is granted or extended, the failsafe is where its new end needs it."""
        at = self.world.now
        ends = [version.closes for version in self.truth.known(pool).values() if version.justifies(at)]
        fault = self.failsafe_fault(pool, max(ends)) if ends else None
        if fault:
            self._break(2, f"lease {name} was granted or extended, and {fault}")

    def _longest(self) -> timedelta:
        return self.world.lab.guard.longest_lease

    def _fits(self, pool: str, name: str, lease: Version) -> None:
        others = [v for other, v in self.truth.known(pool).items() if other != name and v.granted]
        at = [lease.opens, *(v.opens for v in others if lease.opens <= v.opens < lease.closes)]
        most = max(sum(v.nodes for v in others if v.opens <= t < v.closes) for t in at) + lease.nodes
        if most > self.world.lab.pools[pool].max_nodes:
            self._break(3, f"with lease {name} pool {pool} is promised to {most} nodes")

    def pressed(self, ask: str) -> None:
        """Somebody approved a request. The approved lease has been given, unless the role is used up."""
        item = self.world.dynamodb.items.get(("SLACK", f"ASK#{ask}"))
        if item is None:
            return
        command = json.loads(item["command"]["S"])
        given = {name for _, name in self.world.workflows.executions}
        anybody = any(v.granted for pool in self.truth.pools() for v in self.truth.known(pool).values())
        calm = not self.world.functions.troubles("slack", "answer")
        if item["state"]["S"] == "approved" and calm and not anybody and command["verb"] == "open":
            name = f"slack-open-{ask}"
            if (
                name not in given
                and command["nodes"] <= MOST
                and command["for_seconds"] <= LONGEST.total_seconds()
            ):
                self._break(3, f"{name} was approved, and nobody gave it")

    def _within_the_role(self, pool: str, lease: Version) -> None:
        """A person with a limit of nodes gets no more, approved requests included.

        An owner who extends a lease alone answers for the extension.
        """
        for names, allowed in BOUNDED.items():
            if not names & {lease.owner, lease.asked_by}:
                continue
            known = self.truth.known(pool).values()
            theirs = [v for v in known if v.granted and names & {v.owner, v.asked_by}]
            instants = [lease.opens, *(v.opens for v in theirs if lease.opens <= v.opens < lease.closes)]
            most = max(sum(v.nodes for v in theirs if v.opens <= at < v.closes) for at in instants)
            if most > allowed:
                who = " or ".join(sorted(names))
                self._break(3, f"{who} may have {allowed} nodes on {pool}, and answers for {most}")

    def _not_too_long(self, command: str, lease: str) -> None:
        """A lease that a person with a role opens, extends or approves is no longer than the role allows."""
        key = command.rpartition("-")[2]
        bounded = any(each.command == command and each.event["source"] == TRAINING for each in self.requests)
        ask = self.world.dynamodb.items.get(("SLACK", f"ASK#{key}"))
        allowed = LONGEST_BY_EVENT if bounded else LONGEST
        let_in = key in self.of_the_role or (ask is not None and ask["state"]["S"] == "approved")
        if not let_in and not bounded:
            return
        version = next(
            known[lease] for pool in self.truth.pools() if lease in (known := self.truth.known(pool))
        )
        if version.closes - version.opens > allowed:
            self._break(
                3, f"{command} made a lease of {version.closes - version.opens}, a role allows {allowed}"
            )

    def _decided(self, command: str, item: Any) -> None:
        of_programs = any(each.command == command for each in self.requests)
        if (command.startswith("slack-") or of_programs) and item["outcome"]["S"] in {"granted", "extended"}:
            self._not_too_long(command, item["lease"]["S"])
        if not str(read(decoded(item["reason"]))).strip():
            self._break(8, f"the decision on {command} has no reason")
        expires = self.expiries.get(command)
        if expires and self.world.now >= expires and item["outcome"]["S"] in {"granted", "extended"}:
            self._break(3, f"{command} was good until {expires:%H:%M} and was {item['outcome']['S']}")

    def _proven(self, pool: str) -> None:
        """Zero was recorded: then no machine existed, except those of which nothing told yet.

        The controller of a machine lists it at once, and EC2 a moment later.
        """
        now, listed = self.world.now, self.world.supply.listed(pool)
        slow = any(end is None or end > now - SLOW_CALLS for _, end in self.troubled)
        soon = now - (SLOW_CALLS if slow else ONE_CALL)
        left = [
            m.id
            for m in self.world.machines.of_pool(pool)
            if m.launched < (soon if m in listed else soon - timedelta(seconds=m.listed_after))
        ]
        # A node that a finalizer keeps after its instance is a remark: it costs nothing.
        nodes = self.world.kubernetes.nodes()
        left += [m.node for m in nodes if m.pool == pool and not (m.ended and m.tags.keys() & OF_NODE_POOLS)]
        left += [f"{m.id}, listed" for m in listed if m.launched < soon]
        ordered = [order for order in self.truth.orders if order.pool == pool and order.at > soon]
        size = self.world.supply.size(pool)
        if left or (size and not ordered):
            self._break(7, f"zero was proven on {pool} with {left} there and {size} ordered")

    def _judged(self, verdicts: list[dict[str, Any]]) -> None:
        for row in verdicts:
            if row["verdict"] != "passed" or row["check"] in SAID_BY_THE_NODE:
                continue
            if (row["check"], row["node"]) not in self.world.kubernetes.health.told:
                self._break(6, f"{row['check']} on {row['node']} passed, and no GPU ever said so")

    def late(
        self, pool: str, since: datetime, until: datetime, *, paused: bool = False, dead: bool = True
    ) -> timedelta:
        """How long something took, counted from the last failure in it; zero while there is a failure.

        Without `dead` it does not matter whether the controller of NodePools was dead.
        """
        failures = [*self.troubled, *self.ill.get(pool, [])]
        if dead and self.world.lab.pools[pool].has("claims"):
            failures += self.dead
        for begin, end in [*failures, *(self.paused if paused else [])]:
            if since <= (end or until) and begin <= until:
                since = max(since, min(end or until, until))
        return until - since
