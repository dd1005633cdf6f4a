"""No test depends on the machine: its speed, its clock, its ports, its shared folders or its name.

docs/explanation/flaky-tests.md lists the tests that did, each with its cause. ALLOWED has the few places that must
ask the machine, each with the reason why no verdict depends on it.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.steady.hang import HANG_SECONDS

#: Programs beside the tests. They measure, or record real time, and no test judges by it.
PROGRAMS = frozenset({"bench", "karpenter_recording", "mutants", "mutations", "quick", "suite"})
ASKED = {
    "clock": re.compile(r"(time\.)?(monotonic|perf_counter|process_time|thread_time)(_ns)?|time\.time(_ns)?"),
    "sleep": re.compile(r"(time\.)?sleep"),
    "date": re.compile(r"(\w+\.)*(datetime|date)\.(now|today|utcnow)"),
    "host": re.compile(
        r"socket\.(gethostname|getfqdn)|platform\.(node|uname)|os\.uname|tempfile\.gettempdir"
    ),
}
#: Their first argument may be a limit in seconds.
LIMITED = re.compile(r".*\.(wait|join)|pytest\.mark\.timeout")
SHARED_FOLDER = re.compile(r"/(var/)?tmp(/|$)")
LISTING = re.compile(r"\b(iterdir|r?glob|listdir|scandir)\(")
#: Ports below 1024 need rights that no test has, so nobody listens there.
ADDRESS = re.compile(r"(127\.0\.0\.1|localhost):(\d{4,})")

ALLOWED = {
    ("tests/steady/hang.py", "clock"): "the one limit, which only ends what never comes",
    ("tests/steady/hang.py", "sleep"): "between two looks at a condition",
    ("tests/local/aws/eks_lab.py", "port"): "an address that EKS tells and nobody calls",
    ("tests/local/cluster/test_stories.py", "limit"): "a moment in which nothing may happen: never too short",
    ("tests/local/karpenter_user_data.py", "port"): "an address in a text that nobody calls",
    ("tests/local/test_clock.py", "limit"): "a moment in which nothing may happen: never too short",
    ("tests/local/workflows/test_stepfunctions.py", "sleep"): "plays a slow machine",
    (
        "tests/scenarios/test_day.py",
        "clock",
    ): "what is timed inside is never longer than what is timed around it",
    ("tests/scenarios/failed_scenario.py", "limit"): "a report of a failure, which has been judged",
    ("tests/scenarios/test_local_up.py", "sleep"): "a signal in the middle of a step: any moment will do",
    ("tests/unit/aws/test_function_logs.py", "date"): "moto takes lines of the last two weeks, by its clock",
    ("tests/unit/calendar/courses/test_address.py", "date"): "TLS takes certificates that are valid today",
    ("tests/unit/calendar/courses/test_address.py", "sleep"): "a server that is slower than any limit",
    ("tests/unit/cli/test_local_env.py", "port"): "an address in a text that nobody calls",
    ("tests/unit/gpu/test_cluster_authority.py", "date"): "TLS takes certificates that are valid today",
    (
        "tests/unit/suite/test_quick.py",
        "clock",
    ): "a limit of the program under test, long past or far ahead",
    ("tests/unit/slack/test_slack_adapters.py", "port"): "an address that is refused before any call",
    (str(Path(__file__).relative_to(ROOT)), "port"): "the samples of this test",
}


def faults(source: str) -> Iterator[tuple[int, str]]:
    """The lines that ask the machine, and for what."""
    module = ast.parse(source)
    named = {ast.unparse(each.targets[0]): each.value for each in module.body if isinstance(each, ast.Assign)}
    for node in ast.walk(module):
        match node:
            case ast.Call():
                kind = _of_call(node, named)
            case ast.Tuple(elts=[ast.Constant(value="127.0.0.1" | "localhost"), port]) if _number(port):
                kind = "port"
            case ast.Compare() if _listing(node.left):
                kind = "order" if any(_several(each) for each in node.comparators) else ""
            case ast.Constant(value=str(text)):
                kind = "folder" if SHARED_FOLDER.match(text) else "port" if ADDRESS.search(text) else ""
            case _:
                continue
        if kind:
            yield node.lineno, kind


def _of_call(call: ast.Call, named: Mapping[str, ast.expr]) -> str:
    name = ast.unparse(call.func)
    for kind, pattern in ASKED.items():
        if pattern.fullmatch(name):
            return kind
    if name == "Cloud" and "start" not in {word.arg for word in call.keywords}:
        return "date"
    limits = [word.value for word in call.keywords if word.arg == "timeout"]
    if LIMITED.fullmatch(name):
        limits += call.args[:1]
    numbers = [_number(named.get(ast.unparse(limit), limit)) for limit in limits]
    return "limit" if any(0 < number < HANG_SECONDS for number in numbers) else ""


def _number(node: ast.expr) -> float:
    """The number that is written there; 0 for anything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int | float) else 0


def _several(node: ast.expr) -> bool:
    return isinstance(node, ast.List) and len(node.elts) > 1


def _listing(node: ast.expr) -> bool:
    """Whether this is a list of a folder's files, which come in any order."""
    return not ast.unparse(node).startswith("sorted(") and bool(LISTING.search(ast.unparse(node)))


def test_no_test_asks_the_machine() -> None:
    found: dict[tuple[str, str], list[int]] = {}
    for file in sorted((ROOT / "tests").rglob("*.py")):
        if file.relative_to(ROOT).parts[1] not in PROGRAMS:
            for line, kind in faults(file.read_text("utf-8")):
                found.setdefault((str(file.relative_to(ROOT)), kind), []).append(line)

    assert {place: lines for place, lines in found.items() if place not in ALLOWED} == {}
    assert ALLOWED.keys() - found.keys() == set(), "allowed, and not needed any more"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("assert time.monotonic() - begun < 2", "clock"),
        ("begun = process_time()", "clock"),
        ("time.sleep(0.1)", "sleep"),
        ("now = dt.datetime.now(dt.UTC)", "date"),
        ("today = date.today()", "date"),
        ("with Cloud(path, progress=print) as cloud: ...", "date"),
        ("assert done.wait(10)", "limit"),
        ("thread.join(30)", "limit"),
        ("subprocess.run(command, timeout=60)", "limit"),
        ("SECONDS = 10\nurlopen(request, timeout=SECONDS)", "limit"),
        ("@pytest.mark.timeout(20)\ndef test(): ...", "limit"),
        ("server.bind(('127.0.0.1', 8080))", "port"),
        ("url = 'http://127.0.0.1:8080/x'", "port"),
        ("path = Path('/tmp/lab')", "folder"),
        ("assert [path.name for path in folder.iterdir()] == ['a', 'b']", "order"),
        ("name = socket.gethostname()", "host"),
    ],
)
def test_each_kind_is_seen(line: str, kind: str) -> None:
    assert kind in {kind for _, kind in faults(line)}


def test_what_the_machine_does_not_decide_is_no_fault() -> None:
    steady = "', '.join(names); clock.sleep(60); server.bind(('127.0.0.1', 0)); done.wait(HANG_SECONDS)"
    assert list(faults(steady)) == []
