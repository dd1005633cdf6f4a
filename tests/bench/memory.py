"""What the functions' memory costs and brings: their first events, at the memory they have and at others.

Of a function's work only the processor seconds and the calls are measured; outside Init its time follows from
them and from its memory (local/aws/functions/durations.py), so one run tells all sizes. `python -m
tests.bench.memory` prints the table of docs/reference/performance.md.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from statistics import median

from local.aws.functions.durations import Measured, Work
from local.cloud import Cloud
from stacks import cost
from tests.scenarios.slack.slack_talk import Talk

SIZES = (256, 512, 768, 1024, 1769)
#: In the names of functions whose code is the CDK's.
CDKS_OWN = "Handler"
#: Those that start ahead of their first real event, by an event that changes nothing: the two are counted as one.
WARMED = frozenset({"nodegroups", "notices"})
#: Those that a window's own way goes through, and the two that speak to Kubernetes.
OF_A_WINDOW = ("leases", "nodegroups", "cluster", "guard")
EVENTS = {f"first-event-{name}": "s" for name in OF_A_WINDOW}


def events(works: Sequence[Work], lab: str) -> Mapping[str, float]:
    """Processor seconds of the first event of a new worker, Init included; the largest of them where several began."""
    return {
        f"first-event-{name}": max(_processor(work) for work in cold(works, lab, name))
        for name in OF_A_WINDOW
    }


def cold(works: Sequence[Work], lab: str, name: str) -> list[Work]:
    """A function's events that began with Init."""
    mine = [work for work in works if work.function == f"{lab}-{name}"]
    begun = [(work, mine[at + 1 : at + 2]) for at, work in enumerate(mine) if work.init is not None]
    return [_as_one(work, *following) if name in WARMED else work for work, following in begun]


def _as_one(work: Work, following: Work | None = None) -> Work:
    if work.calls or following is None or following.init is not None:
        return work
    return replace(following, init=work.init, event=work.event + following.event)


def table(works: Sequence[Work], lab: str) -> str:
    """Seconds to the answer of a first event and millionths of a dollar for it, by memory."""
    head = [f"{size} MiB" for size in SIZES]
    lines = ["| function | MiB | Init | event | calls | " + " | ".join(head) + " |"]
    lines.append("|" + "---|" * (5 + len(SIZES)))
    found = {work.function.removeprefix(f"{lab}-") for work in works if work.init is not None}
    names = sorted(name for name in found if CDKS_OWN not in name)
    for name in names:
        starts = cold(works, lab, name)
        init, event = median(work.init or 0.0 for work in starts), median(work.event for work in starts)
        work = Work(name, starts[0].memory, init, event, round(median(each.calls for each in starts)))
        cells = [f"{work.billed(size):.2f}, {price(work, size) * 1e6:.1f}" for size in SIZES]
        fields = [name, str(work.memory), f"{init:.2f}", f"{event:.2f}", str(work.calls), *cells]
        lines.append(f"| {' | '.join(fields)} |")
    return "\n".join(lines)


def price(work: Work, memory: int) -> float:
    """USD of one event with so many MB, its request included."""
    seconds = float(cost.price("lambda_arm_gib_second")) * memory / 1024
    return work.billed(memory) * seconds + float(cost.price("lambda_request"))


def _processor(work: Work) -> float:
    return (work.init or 0.0) + work.event


def main() -> None:
    """Play the window of the benchmark and a message in Slack, and print the table."""
    from tests.bench.local_cloud import BEFORE, OPENS  # noqa: PLC0415 (which imports this)
    from tests.bench.slack import LAB, PEOPLE, WANTS  # noqa: PLC0415

    functions = Measured()
    with Cloud(LAB, start=OPENS - BEFORE, durations=functions) as cloud:
        cloud.up()
        Talk(cloud).types(PEOPLE[0], WANTS)
        cloud.clock.sleep(timedelta(hours=1, minutes=30).total_seconds())
        sys.stdout.write(f"{table(functions.works, cloud.lab.name)}\n")


if __name__ == "__main__":
    main()
