"""Changes that no test can see, each with the reason: by file, the line before and the line after."""

_DOMAIN, _APPLICATION, _AWS = (
    "lambdas/lamplighter/domain",
    "lambdas/lamplighter/application",
    "lambdas/lamplighter/adapters/aws",
)
_ENDS = "closes = terms.ends(opens, closes) if closes {} opens else closes"
_EARLIEST = "for opens in sorted(instant for instant in candidates if instant {} lease.opens):"
_SHORTENS = (
    "if command.source in MAY_SHORTEN and command.closes is not None and command.closes {} lease.closes:"
)
_EDGES = "edges = sorted({{opens, *(lease.opens for lease in leases if opens {} lease.opens < closes)}})"
_SANDBOX = 'over = event.reason == "FailedCreatePodSandBox" and (runs or (made and made[-1] {} place))'
_SUCCEEDED = 'return complete or (number(job, "status", "succeeded") or {}) >= wanted'
_ONLY_NODE = 'spec = {{"nodeName": nodes[{}] if len(nodes) == 1 else "", "containers": containers}}'
_SHOTS = "for name, call in zip(schedule_names(pool), calls, strict={})"
_HALVES = "halves = [half for start in _HALVES if (half := _half(cells[start : start + {}]))]"
_PLANNED = 'return f"the row of {{found.plans[{}]}} bytes, the largest announced, is not there"'
_DOCUMENT = "document, _ = json.JSONDecoder(object_pairs_hook=_unique).raw_decode(text, begins[{}].start())"
_ROOTS = "if len(roots) != 1 or not isinstance(roots[{}], dict):"
_ROOT = "root: Mapping[str, Json] = roots[{}]"
_PASSES = 'found.passes[gpu] = found.passes.get(gpu, 0) {} (status == "pass")'
_NOT_THERE = 'return f"not there after {{PULL_SECONDS // {}}} minutes ({{pod.waiting or pod.phase}})"'
_RETRY = "return min(timedelta(minutes=5 * 2 ** min(tries, {})), LONGEST_RETRY)"
_GAP = "while high - low {} timedelta(seconds=1):"
_ONE = "there is exactly one"
_UNDER_WAY = "named = zip(schedule_names(pool), instants(first), strict={})"
_DESIRED = 'desired = number(daemonset, "status", "desiredNumberScheduled") or {}'
_AROUND = 'return printed.rfind("\\n", {}, first) + 1, len(printed) if end == -1 else end'
_LIVES = "lives = nodes_lives(lease_services.capacity, pool, seen, until) if since {} until else ()"
_COUNTING = "lease_services.ledger.begin_counting(pool, now.replace(microsecond={}))"
_END = "return instant.written(min(lease.closes, now.replace(microsecond={})))"
_LATELY = "self._lately = [stay for stay in self._lately if stay.closing {} before - longest]"
_HOLD = "hold=terms.hold(nodes, opens, closes) if closes {} opens else Money.zero(terms.budget.currency),"
_NEAR = "near = [stay for stay in (*stays, *curfew) if stay.opening {} begins and stay.closing {} wished]"
_FULL = "if wished <= edge {} begins and _taken(near, edge) > free:"
_THEIRS = "taken_at(theirs, at) for at in (opens, *(lease.opens for lease in theirs if lease.opens {} opens))"
_WANTED = 'wanted = max(lease.nodes, int(str(results.get("AwaitNodes", {{}}).get("wanted") or {})))'
_VANISHES = "expansion.skipped.append(SkippedWindow(name, pool, day, Code.VANISHES, notes[{}], order))"
_SAME = "same = last and last[{}].at == entry.at"
_NEWLY = "if newly {} or now >= lease.closes:"
_CANDIDATE = "if self.start <= day.latest and day.earliest {} self.end and self._on(day.ordinal)"
_BEGUN = "self._first = max(self._earliest // MINUTES_A_DAY - {} + EPOCH_ORDINAL, FIRST)"
_ROUNDED = "return (Decimal(whole if scaled {} 0 else -whole) * unit).quantize(unit, ROUND_HALF_UP)"
_FRESHEST = "return max(known, key=lambda price: price.at.timestamp() if price.at else {}, default=None)"
_ONE_LEASE = "return Target(min(in_force[{}].wanted, max_nodes), (in_force[{}],))"
_WAS_OPEN = (
    "if lease.state in {{LeaseState.CLOSING, LeaseState.CLOSED}} and lease.opens <= at {} lease.closes:"
)
_OFFSETS = "before, after = zones.offset_at(where, at - {}), zones.offset_at(where, at)"
_OFFSET = "return int(ahead.total_seconds()) if ahead is not None else {}"
_SAMPLES = "same = first is not None and all(self._sample(noon + step) == first for step in range(-{}, 7))"
_FOLLOWING = "following = (first + timedelta(days={})).replace(day=1)"
_UNREAD = "nobody read a price in the first second of 1970, or before it"
_DAY = "day = seconds {} DAY {} EPOCH_ORDINAL"
_ORDERED = "desired=max(seen.controller.size if seen.controller else {}, seen.ordered),"
_AHEAD = "ahead = [one for one in expand(alone, now, now + AHEAD, courses).windows if one.closes {} now]"

EQUAL: dict[tuple[str, str, str], str] = {
    (f"{_DOMAIN}/granting/grant.py", _ENDS.format(">"), _ENDS.format(">=")): (
        "a lease that would end where it begins is refused, wherever its end is moved"
    ),
    (f"{_DOMAIN}/granting/grant.py", _EARLIEST.format(">"), _EARLIEST.format(">=")): (
        "at the instant that was asked for it was refused a moment before"
    ),
    (f"{_DOMAIN}/granting/extension.py", _SHORTENS.format("<"), _SHORTENS.format("<=")): (
        "an end that stays is refused with the same words by either way"
    ),
    (
        f"{_DOMAIN}/leases/occupancy.py",
        _EDGES.format("<"),
        _EDGES.format("<="),
    ): "its own opening is among them already",
    (f"{_DOMAIN}/diagnosis/rules/workloads.py", _SANDBOX.format(">"), _SANDBOX.format(">=")): (
        "a sandbox that could not be made is none that stands"
    ),
    (f"{_DOMAIN}/diagnosis/rules/workloads.py", _SUCCEEDED.format(0), _SUCCEEDED.format(-1)): (
        "every job wants at least one pod"
    ),
    (f"{_DOMAIN}/diagnosis/rules/pod.py", _ONLY_NODE.format(0), _ONLY_NODE.format(" -1")): (
        "the only one is first and last"
    ),
    (
        f"{_DOMAIN}/schedules/failsafe.py",
        _SHOTS.format(True),
        _SHOTS.format(False),
    ): "both are as long as MINUTES",
    (f"{_DOMAIN}/schedules/failsafe.py", _UNDER_WAY.format(True), _UNDER_WAY.format(False)): (
        "both are as long as MINUTES"
    ),
    (f"{_DOMAIN}/diagnosis/rules/software.py", _DESIRED.format(0), _DESIRED.format(-1)): (
        "none is wanted by either, and so many are always ready"
    ),
    (
        f"{_DOMAIN}/gpu/xid_log.py",
        "at = 0",
        "at = -1",
    ): "a search that begins before the text begins with it",
    (f"{_DOMAIN}/gpu/xid_log.py", _AROUND.format(0), _AROUND.format(1)): (
        "an empty line before it is stripped, and says nothing"
    ),
    (
        f"{_APPLICATION}/capacity/metering.py",
        _LIVES.format("<"),
        _LIVES.format("<="),
    ): "no time is counted there",
    (
        f"{_APPLICATION}/guard/money.py",
        _COUNTING.format(0),
        _COUNTING.format(1),
    ): "the ledger keeps milliseconds",
    (f"{_AWS}/ledger/changes.py", _END.format(0), _END.format(1)): "instants are written in milliseconds",
    (f"{_DOMAIN}/commands/words.py", _GAP.format(">"), _GAP.format(">=")): (
        "an hour, or half of one, halved again and again is never one second"
    ),
    (f"{_DOMAIN}/commands/words.py", "middle = low + (high - low) / 2", "middle = low + (high - low) / 3"): (
        "by thirds the same second is found, in more steps"
    ),
    (f"{_DOMAIN}/checks/verdicts/nvidia_smi.py", "ALLOWED_EVENTS = 0x1 | 0x4", "ALLOWED_EVENTS = 0x1 | 5"): (
        "0x1 | 0x4 is 5"
    ),
    (f"{_DOMAIN}/checks/verdicts/nvidia_smi.py", "whole, strange = True, 0", "whole, strange = False, 0"): (
        "every row says it anew, and a table without a row is none"
    ),
    (f"{_DOMAIN}/checks/verdicts/nccl.py", _HALVES.format("4"), _HALVES.format("5")): (
        "behind the first half stands a figure of the second, which is read with that"
    ),
    (f"{_DOMAIN}/checks/verdicts/nccl.py", _PLANNED.format("0"), _PLANNED.format(" -1")): _ONE,
    (f"{_DOMAIN}/checks/verdicts/dcgm.py", _DOCUMENT.format("0"), _DOCUMENT.format(" -1")): _ONE,
    (f"{_DOMAIN}/checks/verdicts/dcgm.py", _ROOTS.format("0"), _ROOTS.format(" -1")): _ONE,
    (f"{_DOMAIN}/checks/verdicts/dcgm.py", _ROOT.format("0"), _ROOT.format(" -1")): _ONE,
    (f"{_DOMAIN}/checks/verdicts/dcgm.py", _PASSES.format("+"), _PASSES.format("-")): (
        "only whether it is none is asked"
    ),
    (f"{_DOMAIN}/checks/course.py", _NOT_THERE.format("60"), _NOT_THERE.format("59")): "600 // 59 is 10, too",
    (
        f"{_DOMAIN}/guard/incident.py",
        _RETRY.format("4"),
        _RETRY.format("5"),
    ): "80 and 160 minutes are both cut to an hour",
    (f"{_DOMAIN}/capacity/node_pool/kind.py", _ORDERED.format(0), _ORDERED.format(-1)): (
        "no size that is ordered is below nothing"
    ),
    (
        f"{_DOMAIN}/capacity/shortage.py",
        'return reason("pool.short.no-capacity.of-type", type=instance_type[1], zone=place)',
        'return reason("pool.short.no-capacity.of-type", type=instance_type[ 0], zone=place)',
    ): "the group is the whole match",
    (f"{_DOMAIN}/planner/placement.py", _LATELY.format(">"), _LATELY.format(">=")): (
        "who closes then has left before anybody could open early"
    ),
    (f"{_DOMAIN}/granting/grant.py", _HOLD.format(">"), _HOLD.format(">=")): "nodes for no time cost nothing",
    (f"{_DOMAIN}/calendar/early_opening.py", _NEAR.format("<", ">"), _NEAR.format("<=", ">")): (
        "who comes at its start takes no node before it"
    ),
    (f"{_DOMAIN}/calendar/early_opening.py", _NEAR.format("<", ">"), _NEAR.format("<", ">=")): (
        "who leaves as it would open has no node from then on"
    ),
    (f"{_DOMAIN}/calendar/early_opening.py", _FULL.format("<"), _FULL.format("<=")): (
        "full at its start is full just before, and it opens no later than its start"
    ),
    **{
        (f"{_DOMAIN}/calendar/early_opening.py", "WHOLE_POOL = 1_000_000", f"WHOLE_POOL = {nodes}"): (
            "no pool has so many nodes"
        )
        for nodes in (999_999, 1_000_001)
    },
    (f"{_DOMAIN}/leases/allowance.py", _THEIRS.format(">"), _THEIRS.format(">=")): (
        "its own opening is among them already"
    ),
    (
        f"{_DOMAIN}/leases/allowance.py",
        "has: int = 0,",
        "has: int = -1,",
    ): "a role allows no fewer than no nodes",
    **{
        (f"{_DOMAIN}/notices/opening.py", _WANTED.format(0), _WANTED.format(nodes)): (
            "a lease has a node at least"
        )
        for nodes in (-1, 1)
    },
    (
        f"{_DOMAIN}/calendar/occurrences.py",
        _VANISHES.format(0),
        _VANISHES.format(-1),
    ): "an opening has one note",
    (f"{_DOMAIN}/audit/findings.py", _SAME.format(0), _SAME.format(-1)): "all of them are of one instant",
    (f"{_DOMAIN}/billing/holds.py", _NEWLY.format("<= 0"), _NEWLY.format("< 0")): (
        "of no more missing nodes nothing is freed, either way"
    ),
    (f"{_DOMAIN}/billing/holds.py", _NEWLY.format("<= 0"), _NEWLY.format("<= -1")): (
        "of no more missing nodes nothing is freed, either way"
    ),
    (f"{_DOMAIN}/calendar/hours.py", _CANDIDATE.format("<"), _CANDIDATE.format("<=")): (
        "each opening is compared with the range itself"
    ),
    (f"{_DOMAIN}/calendar/hours.py", _BEGUN.format(1), _BEGUN.format(2)): (
        "no window of two days ago is open any more"
    ),
    (f"{_DOMAIN}/commands/meant.py", "return running[0]", "return running[ -1]"): "there is one",
    (f"{_DOMAIN}/commands/meant.py", "return pools[0]", "return pools[ -1]"): "there is one",
    (f"{_DOMAIN}/money/money.py", _ROUNDED.format(">="), _ROUNDED.format(">")): "minus nothing is nothing",
    (f"{_DOMAIN}/money/money.py", _FOLLOWING.format(31), _FOLLOWING.format(" 32")): (
        "either lies in the first days of the month that follows"
    ),
    (f"{_DOMAIN}/calendar/pausing.py", "continue", "break"): (
        "leases come by opening: what a pause ends before, it ends before all behind it"
    ),
    (f"{_DOMAIN}/money/price.py", _FRESHEST.format("0.0"), _FRESHEST.format("1.0")): _UNREAD,
    (f"{_DOMAIN}/money/price.py", _FRESHEST.format("0.0"), _FRESHEST.format("-1.0")): _UNREAD,
    (
        f"{_DOMAIN}/schedules/schedule.py",
        "if shots and at <= shots[-1].at:",
        "if shots and at <= shots[- 0].at:",
    ): ("two warnings fall on one instant only at half of the lease, where no other comes before them"),
    (
        f"{_DOMAIN}/pool/shrink.py",
        "return 1 if node.gpu_leases == {ending} else 2",
        "return 1 if node.gpu_leases == {ending} else 3",
    ): "the worst is the last either way",
    (
        f"{_DOMAIN}/pool/explanation.py",
        "if lease.granted and self.at < lease.opens:",
        "if lease.granted and self.at <= lease.opens:",
    ): "at its opening a granted lease is in force",
    (f"{_DOMAIN}/pool/target.py", "if len(in_force) == 1:", "if len(in_force) == 0:"): (
        "one lease adds up like several, only slower"
    ),
    (f"{_DOMAIN}/pool/target.py", _ONE_LEASE.format(0, 0), _ONE_LEASE.format(" -1", 0)): "there is one",
    (f"{_DOMAIN}/pool/target.py", _ONE_LEASE.format(0, 0), _ONE_LEASE.format(0, " -1")): "there is one",
    (f"{_DOMAIN}/calendar/wall_clock.py", "if before >= after:", "if before > after:"): (
        "where clocks do not change both readings are one"
    ),
    (
        f"{_DOMAIN}/calendar/wall_clock.py",
        "moved = naive - before if end is None else end",
        "moved = naive + before if end is None else end",
    ): "in a gap clocks have changed",
    (
        f"{_DOMAIN}/calendar/wall_clock.py",
        "low, high = min(opens, closes) - 1, max(opens, closes)",
        "low, high = min(opens, closes) - 2, max(opens, closes)",
    ): "a window opens at a whole minute: no change lies a second before it",
    (f"{_DOMAIN}/calendar/wall_clock.py", _OFFSETS.format(1), _OFFSETS.format(2)): (
        "no clock changes twice within two seconds"
    ),
    (
        f"{_DOMAIN}/calendar/wall_clock.py",
        'way = "forward" if after > before else "back"',
        'way = "forward" if after >= before else "back"',
    ): "where a clock changes the offsets are not equal",
    (f"{_DOMAIN}/audit/why.py", _WAS_OPEN.format("<"), _WAS_OPEN.format("<=")): (
        "at its end a lease is in force in no state, and is said to be closed in all of these"
    ),
    (f"{_DOMAIN}/zones.py", _OFFSET.format(0), _OFFSET.format(1)): "every zone of the list has an offset",
    (f"{_DOMAIN}/zones.py", _OFFSET.format(0), _OFFSET.format(-1)): "every zone of the list has an offset",
    (f"{_DOMAIN}/zones.py", _SAMPLES.format(2), _SAMPLES.format(" 3")): "the first is like itself",
    (f"{_DOMAIN}/zones.py", _SAMPLES.format(2), _SAMPLES.format(" 1")): (
        "no zone has changed its clocks and changed them back within a day"
    ),
    (f"{_DOMAIN}/zones.py", _DAY.format("//", "+"), _DAY.format("*", "+")): (
        "on a day that no calendar has the instant itself is asked"
    ),
    (f"{_DOMAIN}/zones.py", _DAY.format("//", "+"), _DAY.format("//", "-")): (
        "on a day that no calendar has the instant itself is asked"
    ),
    (
        f"{_DOMAIN}/calendar/skipping.py",
        _AHEAD.format(">"),
        _AHEAD.format(">="),
    ): "what closes now is not ahead of now",
}
