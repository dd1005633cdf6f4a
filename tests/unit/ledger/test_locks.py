"""What demo and synth install is enough for them, and of the versions that everything else is tested with."""

import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = ("lamplighter", "handlers", "cli", "local", "stacks")
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)
#: What runs in a pod, in whose image it is.
_IN_A_POD = {"torch"}


def locked(name: str) -> set[tuple[str, str]]:
    return set(_PINNED.findall((ROOT / "requirements" / name).read_text("utf-8")))


def test_both_locks_have_the_same_versions() -> None:
    assert len(locked("run.txt")) > 50
    assert locked("run.txt") < locked("dev.txt")


def test_programs_import_nothing_that_only_checks_and_tests_have() -> None:
    graph = grimp.build_graph(*PROGRAMS, include_external_packages=True, exclude_type_checking_imports=True)
    outside = {module.partition(".")[0] for module in graph.modules} - {*PROGRAMS, "app"}
    names = packages_distributions()

    missing = {
        package
        for package in outside - set(sys.stdlib_module_names) - _IN_A_POD
        if not {_plain(each) for each in names.get(package, [])} & {name for name, _ in locked("run.txt")}
    }

    assert missing == set()


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
