"""Replays the recordings in a folder: `python -m tests.account_recording DIR`. Exit code 1: AWS answered otherwise."""

import argparse
import sys
import tempfile
from pathlib import Path

from local.aws.embedded import EmbeddedAws
from local.clock import VirtualClock
from tests.account_recording.administrator import administrator, calls_of
from tests.account_recording.replay import STEPS, replay

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("folder", type=Path, metavar="DIR")
folder = parser.parse_args().folder
recordings = [folder / f"{step}.jsonl" for step in STEPS if (folder / f"{step}.jsonl").exists()]
if not recordings:
    parser.error(f"{folder} has no recording of {', '.join(STEPS)}")
found: list[str] = []
with tempfile.TemporaryDirectory(prefix="lamplighter-") as work:
    clock = VirtualClock(Path(work) / "clock", rate=None)
    aws = EmbeddedAws(clock, Path(work) / "aws", "ap-northeast-2")
    aws.start()
    try:
        call = calls_of(aws, administrator(aws))
        with clock.busy():
            for recording in recordings:
                found += replay(recording, call, aws.around.account_id, clock.sleep)
    finally:
        clock.stop()
        aws.stop()
for difference in found:
    sys.stdout.write(f"{difference}\n")
sys.exit(bool(found))
