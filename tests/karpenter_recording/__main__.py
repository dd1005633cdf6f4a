"""Plays events and writes recording.json: `python -m tests.karpenter_recording [EVENT …]`.

Without a name it plays all but the slow ones, in about 25 minutes. With names, the other events stay as they are
written. Every event begins and ends with no claim, but for `extend` to `close`, which go on from `shut-bar`.
"""

import argparse
import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3

from local.cloud import Cloud
from local.kubernetes.api import Object
from local.kubernetes.karpenter.controller import VERSION
from tests.karpenter_recording.day import EVENTS, SLOW, Day, Events
from tests.karpenter_recording.watching import Watch, text_of

LAB = """
name: recorded
cluster: {karpenter: {}}
gpu_operator: {enabled: false}
device_plugin: {enabled: true}
pools: {gpu: {kind: karpenter, instance_type: g5.xlarge, max_nodes: 2, image: al2023@v20260724, drain: 1m}}
"""
WRITTEN = Path(__file__).with_name("recording.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("events", nargs="*", metavar="EVENT", help=f"{', '.join([*EVENTS, *SLOW])}")
    parser.add_argument("--out", type=Path, default=WRITTEN)
    asked = parser.parse_args()
    known = {**EVENTS, **SLOW}
    unknown = [name for name in asked.events if name not in known]
    if unknown:
        parser.error(f"no event {unknown[0]}; there are {', '.join(known)}")
    events = {name: known[name] for name in asked.events or EVENTS}
    with tempfile.TemporaryDirectory() as folder:
        lab = Path(folder, "lab.yaml")
        lab.write_text(LAB, "utf-8")
        with Cloud(lab, rate=1, progress=_say) as cloud:
            cloud.up()
            _record(cloud, events, asked.out)


def _record(cloud: Cloud, events: Events, out: Path) -> None:
    """Plays the events. The file is written after each, so that a run that is cut off leaves what it has."""
    ends = cloud.endpoints()
    session = boto3.session.Session(ends.access_key_id, ends.secret_access_key, region_name=ends.region)
    _without_functions(cloud, session.client("lambda", endpoint_url=ends.endpoint))
    day = Day(cloud, Watch(cloud.control_plane.admin()))
    recorded: dict[str, list[Object]] = json.loads(out.read_text("utf-8"))["events"] if out.exists() else {}
    head = {
        "karpenter": VERSION,
        "kubernetes": cloud.lab.cluster.kubernetes_version,
        "recorded": f"{datetime.now(UTC):%Y-%m-%d}",
    }
    with day.watch.watching():
        for name, play in events.items():
            _say(f"{name} …")
            day.watch.begin()
            play(day)
            recorded[name] = day.watch.moments
            out.write_text(text_of({**head, "events": recorded}), "utf-8")


def _without_functions(cloud: Cloud, functions: Any) -> None:
    """Nobody but the recorder acts on the NodePool: the guard would take back what it does."""
    for page in functions.get_paginator("list_functions").paginate():
        for one in page["Functions"]:
            if one["FunctionName"].startswith(f"{cloud.lab.name}-"):
                functions.delete_function(FunctionName=one["FunctionName"])


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201  a program


if __name__ == "__main__":
    main()
