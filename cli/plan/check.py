"""`lamplighter check`: reports every problem of a lab file, a line each, or what a good lab would do."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import date
from typing import Annotated

import typer

from cli import printing
from cli.options import AsJson
from cli.plan import check_year, node_notes, node_pools, zone_notes
from lamplighter import clock
from lamplighter.data import lifecycle
from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.doctor.cluster import newest_for
from lamplighter.domain.gpu import sharing as gpu_sharing
from lamplighter.lab.model import Lab
from lamplighter.lab.types import write_amount, write_time
from lamplighter.lab.windows import Window
from lamplighter.labfile import file as labfile
from lamplighter.labfile.schema import schema
from lamplighter.values.counted import counted, write_duration

NOTE = "note: "


def command(
    lab: Annotated[str, typer.Option("--lab", metavar="FILE", help="The lab to check.")] = "lab.yaml",
    schema_only: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of lab files, for editors, and stop.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a lab file before anything is built.

    Exit code 0: good, with a summary, and notes on which windows will be refused in the year from now.
    2: every problem on stderr, FILE:LINE: key: what is wrong, what is right.

    \b
    Examples:
      lamplighter check
      lamplighter check --lab labs/evening.yaml --json
      lamplighter check --schema > lab.schema.json
    """
    if schema_only:
        printing.json_text(json.dumps(schema(), indent=2, ensure_ascii=False))
        return
    if as_json:
        printing.as_json(document(lab))
    good = labfile.load(lab)
    if not as_json:
        printing.say_each(_report(good, lab))


def document(file: str) -> dict[str, object]:
    """The report on a lab file, for programs: every problem, or the lab with all its defaults."""
    found = labfile.read(file)
    if not isinstance(found, Lab):
        return {"file": file, "good": False, "problems": [asdict(problem) for problem in found]}
    said = list(_report(found, file))
    told = [line.removeprefix(NOTE) for line in said if line.startswith(NOTE)]
    lines = [line.strip() for line in said if not line.startswith(NOTE)]
    lab: object = json.loads(found.to_json())
    return {"file": file, "good": True, "problems": [], "summary": lines, "notes": told, "lab": lab}


def _report(lab: Lab, file: str) -> Iterator[str]:
    now = clock.now()
    yield from summary(lab)
    yield from (f"{NOTE}{note}" for note in _support(lab, now.date()))
    yield from check_year.lines(lab, file, now)


def _support(lab: Lab, today: date) -> Iterator[str]:
    """Notes on a new cluster whose Kubernetes version is past standard support: it has no extended support."""
    version = lab.cluster.kubernetes_version
    support = lifecycle.kubernetes(version)
    if lab.cluster.existing is not None or support is None or today <= support.standard:
        return
    newest = newest_for(lab, lifecycle.known_kubernetes())
    then = (
        f"EKS no longer supports Kubernetes {version}, since {support.extended}"
        if today > support.extended
        else f"standard support of Kubernetes {version} ended on {support.standard}: EKS upgrades the cluster by"
        " itself, and your lab file keeps the old version"
    )
    yield f'{then}; write kubernetes_version: "{newest}" under cluster'


def summary(lab: Lab) -> Iterator[str]:
    """A summary of a good lab, in a few lines."""
    budget = lab.guard.budget
    cluster = "adopts cluster" if lab.cluster.existing else "creates cluster"
    yield f"{lab.name} is good: {cluster} {lab.cluster_name} in {lab.region}, times in {lab.time_zone}"
    yield from node_pools.installed(lab)
    for name, pool in lab.pools.items():
        if pool.unstated:
            what = f"{pool.noun} {identity(lab, name).name}{node_pools.kind(pool)}"
            yield f"  pool {name}: {what}, {', '.join(pool.unstated)} as AWS says"
            continue
        price = f"{node_notes.bought(lab, name)}{node_pools.fee(pool)}{node_notes.held(pool)}"
        curfew = f", curfew {write_time(pool.curfew)}" if pool.curfew is not None else ""
        yield (
            f"  pool {name}: up to {pool.max_nodes} x {node_notes.types(pool)}{node_notes.told(pool)}"
            f"{node_pools.told(pool)}, {price}, guard: {lab.mode(name)}{curfew}"
        )
    for name, group in lab.cluster.node_groups.items():
        yield (
            f"  node group {lab.always_on_name(name)}: {counted(group.nodes, 'node')} of {group.instance_type}"
            f" with {group.image or group.ami_type}, always on"
        )
    yield (
        f"  guard: {write_amount(budget.amount)} {budget.currency} a {budget.period}{_parts(lab)},"
        f" no lease longer than {write_duration(lab.guard.longest_lease)}{_curfew(lab)}"
    )
    for window in lab.windows:
        yield f"  window {window.name}: {_when(lab, window)}"
    if not lab.windows:
        yield "  no windows: GPUs start only when somebody opens a pool"
    yield from (f"{NOTE}{note}" for note in notes(lab))


def _parts(lab: Lab) -> str:
    """The parts of the budget that single owners may have."""
    owners = lab.guard.budget.owners.items()
    return f" ({', '.join(f'{owner} {write_amount(amount)}' for owner, amount in owners)})" if owners else ""


def _curfew(lab: Lab) -> str:
    return f", curfew {write_time(lab.guard.curfew)}" if lab.guard.curfew is not None else ""


def _when(lab: Lab, window: Window) -> str:
    nodes = counted(lab.nodes_of(window), "node") if lab.nodes_of(window) else "all nodes"
    if window.seats is not None:
        nodes = f"{counted(window.seats, 'seat')} = {nodes}{_seats(lab, window)}"
    ready = ", GPUs ready by its start" if window.ready == "by" else ""
    return f"{_times(lab, window)}{ready}, {nodes} of {lab.pool_of(window)}, for {lab.owner_of(window)}"


def _seats(lab: Lab, window: Window) -> str:
    """How many people a GPU of a window serves, and why so many."""
    name = lab.pool_of(window)
    each, how = lab.seats_per_gpu(name, window.name), gpu_sharing.offer(lab, name, window.name).called
    by = "seats_per_gpu" if lab.pools[name].seats_per_gpu else f"{how}"
    return f" of {node_notes.types(lab.pools[name])} ({counted(each, 'seat')} for each GPU, {by})"


def _times(lab: Lab, window: Window) -> str:
    if window.start is None or window.end is None:
        return f"as {window.calendar} says, dates in {lab.zone_of(window)}"
    on = ", ".join(window.days) if window.days else ", ".join(day.isoformat() for day in window.start_dates)
    return f"{on}, {write_time(window.start)} to {write_time(window.end)} {lab.zone_of(window)}"


def notes(lab: Lab) -> Iterator[str]:
    """Notes on what is allowed, but probably a mistake."""
    if lab.cluster.existing is not None and gpu_sharing.sharings(lab):
        yield (
            "GPUs are shared, but the lab does not install the chart that announces them: give that chart the values"
            " that `lamplighter adopt --gpu-values` prints"
        )
    for name, pool in lab.pools.items():
        if lab.gpu_stack(name) == "built-in" and not pool.brings_plugin and not pool.existing:
            yield (
                f"nothing that this lab installs announces the GPUs of pool {name}: enable gpu_operator or"
                " device_plugin, or install a device plugin yourself"
            )
    yield from node_notes.type_notes(lab)
    yield from node_notes.choice_notes(lab)
    yield from node_notes.reservation_notes(lab)
    yield from zone_notes.notes(lab)
    yield from node_notes.notes(lab)
    yield from node_pools.notes(lab)
    for window in lab.windows:
        if window.from_ and window.until and window.until < window.from_:
            yield f"window {window.name} never opens, its until is before its from"
        for day in sorted({each for each in window.except_ if isinstance(each, date)}):
            if window.timed and not window.starts_on(day):
                yield f"the exception {day} of window {window.name} is on no day that it names"
