"""Makes every breakage in a copy of the sources, one after the other, and tells which law's test saw it.

Exits 1 where one was seen by none. With numbers as arguments only these are tried, and only their rows are written.
"""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.copied_sources import copy_sources
from tests.mutations.breakages import BREAKAGES, Breakage

AT_ONCE = 2
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "mutations.md"
SOURCES = ("app.py", "lambdas", "local", "stacks", "cli", "tests", "lab.yaml", "pyproject.toml", "cdk.json")
HEAD = """\
# What the laws' test sees when a mechanism is gone

Each line is a breakage made by hand in one file (tests/mutations/breakages.py). Histories were played in the broken
product (tests/properties/laws/test_laws.py; for law 10 tests/mutations/experiments.py, for the launch bar also the
fake of tests/world/capacity, for NodePools tests/properties/laws/test_node_pools.py) until its law was found broken;
the number says how many it took. Where no history can see it, the tests of one file were run: the number says how many
of them failed, and the first is named. Made by `make mutations`.

What decides outside of histories is not in the table: alarms, node roles, the bounds of a calendar, how an installer
is verified and how a text of AWS is read. tests/infra and tests/unit hold it.

Mechanisms that stand twice are not in the table either; with one of them gone nothing changes:

- A replayed command is refused by its stored answer and by the lease's state, a pause by the rule of admission and by a
  condition of the ledger's write.
- The address of people takes no window for an opening, and the leases function knows none that is not planned.
- A lease stops counting at its end, by its instant; and its close takes it out by its state.
- A size that somebody set at the Auto Scaling group is lowered there at once, and by EKS once EKS has taken it over.
- What an Auto Scaling group lists speaks against zero, and so does the instance in EC2. tests/unit/capacity has the
  member alone.
- Against zero of a NodePool speak its instances, their claims and their nodes. tests/unit/capacity has each alone.
- The failsafe's lock and a shut launch bar each keep a living Karpenter from replacing what the failsafe ends.
- With a dead Karpenter the guard ends instances as the failsafe does. tests/properties/laws/test_node_pools.py has the
  failsafe alone.
- An experiment that its own workflow does not undo is undone by its schedules, by the guard and by the close of its
  lease. So one that begins too late, that is changed after it was undone, or that keeps its schedules as its lease is
  shortened, is undone in time all the same.

| law | taken out | seen after | what the test said |
|---|---|---|---|
"""


def broken_copy(breakage: Breakage, folder: Path) -> None:
    """The sources with the breakage in them."""
    copy_sources(SOURCES, folder)
    for name, wanted, instead in ((breakage.file, breakage.text, breakage.instead), *breakage.more):
        file = folder / name
        text = file.read_text("utf-8")
        if text.count(wanted) != 1:
            raise SystemExit(f"{name}: {wanted!r} stands there {text.count(wanted)} times")
        file.write_text(text.replace(wanted, instead), "utf-8")


def seen(breakage: Breakage) -> tuple[int, str]:
    """After how many histories the breakage was seen, and as what; an empty text where it was not."""
    with TemporaryDirectory() as made:
        folder = Path(made)
        broken_copy(breakage, folder)
        if breakage.tests:
            return _failed(folder, breakage.tests)
        kind = (breakage.histories,) if breakage.histories else ()
        found = _hunt(folder, str(breakage.law), *kind)
    histories, what = int(found["histories"]), found["broken"]
    if what and histories and _hunt(ROOT, str(breakage.law), *kind, str(histories))["broken"]:
        raise SystemExit(
            f"history {histories} breaks law {breakage.law} with nothing taken out: mend that first"
        )
    # Microseconds say nothing to a reader.
    return histories, re.sub(r"(:\d\d)\.\d{6}", r"\1", what)


def _failed(folder: Path, tests: str) -> tuple[int, str]:
    """How many tests of a file fail, and which is the first."""
    said = _python(
        folder, "pytest", "-q", "-n", "0", "-m", "not long", "-p", "no:cacheprovider", tests
    ).stdout
    names = re.findall(r"^FAILED \S+::(\w+)", said, re.MULTILINE)
    return len(names), f"tests: {names[0]}".replace("_", " ") if names else ""


def _hunt(folder: Path, *arguments: str) -> dict[str, str]:
    done = _python(folder, "tests.mutations.hunt", *arguments)
    if done.returncode:
        return {
            "histories": "0",
            "broken": f"the product does not start: {done.stderr.strip().splitlines()[-1]}",
        }
    return told(done.stdout)


def _python(folder: Path, module: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """A module of a copy, run there."""
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{folder / 'lambdas'}"},
        capture_output=True,
        text=True,
        check=False,
    )


def told(printed: str) -> dict[str, str]:
    """What a hunt found: its last line. The product prints its metrics before that."""
    found = json.loads(printed.splitlines()[-1])
    return {"histories": str(found["histories"]), "broken": str(found["broken"])}


def main(chosen: list[int]) -> int:
    rows, unseen = _rows() if chosen else {}, 0
    tried = {number: each for number, each in enumerate(BREAKAGES) if not chosen or number in chosen}
    with ThreadPoolExecutor(AT_ONCE) as workers:
        for (number, breakage), (histories, what) in zip(
            tried.items(), workers.map(seen, tried.values()), strict=True
        ):
            unseen += not (histories and what)
            said = what.partition(": ")[2] or "nothing"
            rows[breakage.what] = f"| {breakage.law} | {breakage.what} | {histories} | {said} |"
            sys.stdout.write(f"{number:2} law {breakage.law}: {breakage.what}: {histories}, {said}\n")
            sys.stdout.flush()
    told = [rows[each.what] for each in BREAKAGES if each.what in rows]
    PAGE.write_text(HEAD + "\n".join(told) + "\n", "utf-8")
    return 1 if unseen else 0


def _rows() -> dict[str, str]:
    """The page's rows by what is taken out."""
    lines = PAGE.read_text("utf-8").splitlines()
    return {line.split(" | ")[1]: line for line in lines if re.match(r"\| \d+ \|", line)}


if __name__ == "__main__":
    sys.exit(main([int(each) for each in sys.argv[1:]]))
