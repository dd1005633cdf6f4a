"""The laws, judged by what the world really ran and what was granted. They are small, slow and independent.

Each law returns its breaches as sentences; an empty list means that the law held. laws_at_once.py judges what can be
judged at once (an order, a write). This file judges what only the end of a history shows.
"""

import json
from datetime import date, datetime, timedelta

from lamplighter.adapters.aws.ledger.items import decoded
from lamplighter.domain.capacity.node_pool.kind import KARPENTER
from lamplighter.reasons.document import read
from tests.properties.calendar.contract_reading import opening
from tests.world.chat import STUDENTS, written
from tests.world.judge import laws_of_events
from tests.world.judge.laws_at_once import HAND_OVER, LawsAtOnce
from tests.world.people import PEOPLE, lease_of

CLOSED_WITHIN = timedelta(minutes=15)
"""From the first surplus node to none in EC2, without failures."""
NODES_WITHIN = timedelta(minutes=10)
BEGINS_WITHIN = timedelta(minutes=2)
"""Scheduler may be up to one minute late; the planner starts a due lease within moments."""
TAKEN_AWAY = timedelta(minutes=16)
"""A node that somebody started by hand is gone by then: EKS drains it for up to fifteen minutes."""
BY_EC2 = timedelta(minutes=45)
"""With a dead Karpenter the failsafe's rail past it ends nodes, half an hour after the last lease."""
HOUR = timedelta(hours=1)


class Laws(LawsAtOnce):
    """`finish` returns all breaches, after the last event."""

    def finish(self) -> list[str]:
        """All breaches, after the last event."""
        for pool in self.truth.pools():
            self._no_lease_no_node(pool)
            self._every_lease_ended(pool)
            self._windows_are_wall_clock(pool)
            self._closed_is_zero(pool)
            self._leases_begin_in_their_minute(pool)
            self._leases_have_their_nodes(pool)
            self._nobody_is_bounced(pool)
        self._every_window_is_planned()
        self._settings_are_given_back()
        self._money()
        self._every_second_is_in_one_place()
        self._nobody_is_somebody_else()
        self._a_failure_closes_its_own()
        self._every_word_has_a_reason()
        self._steps_in_order()
        if self.world.lab.events is not None:
            for law, what in laws_of_events.broken(self.world, self.truth, self.requests):
                self._break(law, what)
        self.broken += sorted(
            {f"law 8: no name for an error: {each}" for each in self.world.functions.unnamed}
        )
        return self.broken

    def _settings_are_given_back(self) -> None:
        """After their end, leases have given the operator's changed settings back to Helm: value and field manager."""
        policy = self.world.kubernetes.policy
        if policy.managers != {"helm"} or policy.spec != self.world.lab.gpu_operator.values:
            self._break(10, f"the ClusterPolicy is {policy.spec} and belongs to {sorted(policy.managers)}")

    def _no_lease_no_node(self, pool: str) -> None:
        if self.world.lab.mode(pool) == "watch":
            return
        for since, until in self.truth.exposed(pool, self.world.now):
            began = max([at for at in self.excused.get(pool, []) if since <= at <= until], default=since)
            took = self.late(pool, began, until)
            by_hand = any(since - TAKEN_AWAY <= at <= until for at in self.by_hand.get(pool, []))
            if took > (TAKEN_AWAY if by_hand else CLOSED_WITHIN):
                self._break(1, f"pool {pool} ran nodes without a lease from {since:%d %H:%M:%S} to "
                               f"{until:%d %H:%M:%S}, {took} of it without any trouble")  # fmt: skip
            alone = self.late(pool, began, until, dead=False)
            if self.world.lab.pools[pool].kind == KARPENTER.code and alone > BY_EC2:
                self._break(2, f"pool {pool} ran nodes without a lease from {since:%d %H:%M:%S} to "
                               f"{until:%d %H:%M:%S}: Karpenter was dead, and EC2 ended nothing")  # fmt: skip

    def _leases_begin_in_their_minute(self, pool: str) -> None:
        """A lease that was known ahead is started by its schedule. No lease waits until a sweep finds it."""
        begun: dict[str | None, list[datetime]] = {}
        for (workflow, _), run in self.world.workflows.executions.items():
            if workflow.endswith("-open"):
                begun.setdefault(json.loads(run.input)["command"].get("lease"), []).append(run.begun)
        for name, versions in self.truth.leases.get(pool, {}).items():
            ahead = [version for version in versions if version.at < version.opens]
            if not ahead or f"open-{name}" in self.taken_away:
                continue
            last = ahead[-1]
            # A planned lease may have been skipped, or refused.
            if not (last.granted or (last.state == "planned" and any(each.granted for each in versions))):
                continue
            since = last.opens - BEGINS_WITHIN
            # A repeated command may open it too.
            opened = [version.at for version in versions if version.state == "opening"]
            first = min(
                (at for at in [*begun.get(name, []), *opened] if at >= since), default=versions[-1].closes
            )
            if self.late(pool, last.opens, first, paused=True) > BEGINS_WITHIN:
                self._break(
                    5, f"{name} was to begin at {last.opens:%d %H:%M:%S}, and began at {first:%d %H:%M:%S}"
                )

    def _dear_stays(self, pool: str, since: datetime, until: datetime) -> bool:
        """Whether a node that no lease was granted for takes a usual one's place: nobody removes it in watch mode."""
        return self.world.lab.mode(pool) == "watch" and any(
            machine.dear and machine.launched <= until and (machine.ended is None or since <= machine.ended)
            for machine in self.dear_machines.values()
            if machine.pool == pool
        )

    def _leases_have_their_nodes(self, pool: str) -> None:
        """A lease gets its nodes, and keeps them."""
        for since, until in self.truth.lacking(pool, self.world.now):
            if any(
                at <= until and self.late(pool, at, since) <= TAKEN_AWAY for at in self.meddled.get(pool, [])
            ) or self._dear_stays(pool, since, until):
                continue
            # While the lab is paused, a lease that was granted ahead and has not opened stays closed.
            took = self.late(pool, since, until, paused=True)
            if took > NODES_WITHIN:
                self._break(5, f"leases on {pool} had too few nodes from {since:%d %H:%M:%S} to "
                               f"{until:%d %H:%M:%S}, {took} of it without any trouble")  # fmt: skip

    def _nobody_is_bounced(self, pool: str) -> None:
        """Nodes that run when one lease ends and another begins are kept for the second lease.

        If nobody had a lease a moment before, nothing is handed over: the remaining nodes are closed, by law 1.
        """
        for order in self.truth.orders:
            if order.pool != pool or order.by == "outside" or order.after >= order.before or order.anew:
                continue
            if order.dear:
                continue
            troubled = [*self.troubled, *self.ill.get(pool, [])]
            if any(begin - HOUR <= order.at <= (end or order.at) + HOUR for begin, end in troubled):
                continue
            if any(begin <= order.at <= (end or order.at) + HAND_OVER for begin, end in self.paused):
                continue
            for name, versions in self.truth.leases.get(pool, {}).items():
                granted = next((v for v in versions if v.granted), None)
                if granted is None or granted.at <= order.at or versions[0].at > order.at:
                    continue
                away = granted.opens - order.at
                kept = min(order.before, granted.nodes, self.truth.justified(pool, granted.opens - HAND_OVER))
                if -HAND_OVER < away <= HAND_OVER and order.after < kept:
                    self._break(5, f"{order.by} took nodes of {pool} at {order.at:%H:%M:%S}, as {name} began")

    def _every_lease_ended(self, pool: str) -> None:
        for name, version in self.truth.known(pool).items():
            # In a watched pool, nodes that only a person may take keep its close from being proven.
            unproven = version.state == "closing" and self.world.lab.mode(pool) != "watch"
            if version.granted or unproven:
                self._break(3, f"lease {name} is {version.state} for ever")
            if version.state == "planned" and version.closes < self.world.now - timedelta(hours=2):
                self._break(9, f"lease {name} was planned, and nothing became of it")

    def _windows_are_wall_clock(self, pool: str) -> None:
        """A window's lease begins and ends at the wall-clock times of its own zone."""
        document = json.loads(self.world.lab.to_json())
        windows = {window["name"]: window for window in document["windows"]}
        for name, versions in self.truth.leases.get(pool, {}).items():
            first = versions[0]
            window = windows.get(first.window or "")
            if window is None or window["name"] in self.moved or first.moved_from is not None:
                continue
            day = date.fromisoformat(name[-10:])
            opens, closes = opening(window, day, window.get("time_zone") or document["time_zone"])
            if (first.opens, first.closes) != (opens, closes):
                self._break(
                    9, f"{name} was planned for {first.opens} to {first.closes}, not {opens} to {closes}"
                )

    def _every_window_is_planned(self) -> None:
        """Every window of the lab's calendar between start and end became a lease, granted or not."""
        known = {name for leases in self.truth.leases.values() for name in leases}
        document = self.first_lab
        for window in document["windows"]:
            zone = window.get("time_zone") or document["time_zone"]
            for away in range(-1, 3):
                day = self.begun.date() + timedelta(days=away)
                opens, closes = opening(window, day, zone)
                ahead = self.begun < opens < closes and opens < (self.settles or opens)
                if ahead and window["name"] not in self.moved and f"{window['name']}-{day}" not in known:
                    self._break(
                        9, f"window {window['name']} opens at {opens} on {day}, and nobody planned it"
                    )

    def _closed_is_zero(self, pool: str) -> None:
        left = [machine.id for machine in self.world.machines.of_pool(pool)]
        ordered = self.world.supply.size(pool)
        if self.world.lab.mode(pool) == "watch":
            return
        if left or ordered:
            self._break(1, f"at the end {left} are left on {pool}, {ordered} ordered")

    def _nobody_is_somebody_else(self) -> None:
        """The lease and the audit trail name the real caller. Only people who run the lab change another's lease."""
        for pool, leases in self.truth.leases.items():
            for name, versions in leases.items():
                last = versions[-1]
                if name in self.asked and (last.owner, last.asked_by) != self.asked[name]:
                    owner, by = self.asked[name]
                    self._break(3, f"{name} is {last.owner}'s by {last.asked_by}, not {owner}'s by {by}")
            for who, lease in self.truth.touched(pool):
                owner = self.truth.owner(pool, lease)
                if who in ALONE and owner != who:
                    self._break(3, f"{who} touched {lease}, which is {owner}'s")

    def _a_failure_closes_its_own(self) -> None:
        """A failed run closes only what it had opened, and not what was open already."""
        given = (
            json.loads(each.input).get("command", {}) for each in self.world.workflows.executions.values()
        )
        failed = [command["opened_by"] for command in given if command.get("opened_by")]
        for pool in self.truth.pools():
            for who, lease in self.truth.touched(pool):
                own = (
                    lease in {lease_of(each, run) for each in ("cli", "slack", "event")} or lease in run
                    for run in failed
                )
                if who == "OpenLab" and not any(own):
                    self._break(5, f"a failure closed {lease}, which none of {failed} had opened")

    def _every_word_has_a_reason(self) -> None:
        for (_key, sort), item in self.world.dynamodb.items.items():
            if sort.startswith("AUDIT#") and not (said(item["why"]).strip() and said(item["what"]).strip()):
                self._break(8, f"the trail says {said(item['what'])!r} because {said(item['why'])!r}")

    def _steps_in_order(self) -> None:
        """In every close, experiments are undone before anything is drained or removed."""
        for execution in self.world.workflows.executions.values():
            if execution.workflow.endswith("-close"):
                first = {step: execution.steps.index(step) for step in reversed(execution.steps)}
                for step in ("Drain", "Scale"):
                    if step in first and first.get("RestoreExperiments", 99) > first[step]:
                        self._break(10, f"{execution.name} came to {step} before RestoreExperiments")


ALONE = {*PEOPLE, *map(written, STUDENTS)}
"""People who may change only their own leases."""


def said(attribute: dict[str, str]) -> str:
    """A reason of the audit trail as a sentence."""
    return str(read(decoded(attribute)))
