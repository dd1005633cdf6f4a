"""Runs the whole suite, or the named parts one after another. The exit code is 1 if a part failed.

A part that passed on this machine with the same key is left out. With LAMPLIGHTER_AGAIN=1, all run.
"""

import json
import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.checkout import ROOT
from tests.suite import opened, passed
from tests.suite.keys import Keys
from tests.suite.parts import AT_ONCE, LAST, PARTS, SESSIONS, Part, in_one_process
from tests.suite.queue import run
from tests.suite.running import Ended
from tests.suite.tree import Tree

AGAIN = "LAMPLIGHTER_AGAIN"


def main(chosen: Sequence[str]) -> int:
    unknown = set(chosen) - {part.name for part in PARTS}
    if unknown:
        sys.exit(
            f"The suite has no part {', '.join(sorted(unknown))}: it has {', '.join(part.name for part in PARTS)}."
        )
    # SIGTERM ends the running parts, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if chosen:
        return play([[part] for part in PARTS if part.name in chosen])
    return play(SESSIONS, AT_ONCE, LAST)


def play(
    sessions: Sequence[Sequence[Part]], at_once: int = 1, last: Sequence[Part] = (), root: Path = ROOT
) -> int:
    """Runs the parts that have not passed, and records those that pass."""
    tree = Tree(root)
    keys = Keys(tree.digests)
    key_of = {part: keys.of(part) for session in sessions for part in session}
    left = [[part for part in session if not _left_out(part, key_of[part])] for session in sessions]

    def record(ended: Ended) -> None:
        if ended.whole and tree.is_as_committed():
            for part in ended.part.parts:
                if key := key_of.get(part):
                    passed.record(part, key)

    with tempfile.NamedTemporaryFile("w", prefix="lamplighter-reach-") as reach:
        json.dump(_reach(tree, keys, [part for session in left for part in session]), reach)
        reach.flush()
        if tree.files:
            os.environ[opened.VARIABLE] = reach.name
        return run([in_one_process(session) for session in left if session], at_once, last, record)


def _left_out(part: Part, key: str | None) -> bool:
    done = passed.find(key) if key and not os.environ.get(AGAIN) else None
    if done:
        passed.restore(part, done)
        sys.stdout.write(f"{part.name}: left out, it passed at {done.at} ({AGAIN}=1 runs it again)\n")
    return done is not None


def _reach(tree: Tree, keys: Keys, parts: Sequence[Part]) -> Mapping[str, object]:
    """What tests.suite.opened compares."""
    reached = {
        part.name: {"tests": part.tests, "ignored": part.ignored, "files": sorted(keys.files(part))}
        for part in parts
        if part.tests
    }
    return {"tracked": tree.files, "parts": reached}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
