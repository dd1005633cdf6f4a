"""No code of the product parses a sentence of ours: a decision is a code, and words are drawn from it.

The test looks for calls that cut or search a text, on names that hold what a person is told. Texts of an outside
system or of a person may be parsed: FOREIGN lists each such place and whose text it is.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.suite.parts import ROOT

SENTENCES = frozenset(
    {"reason", "because", "why", "said", "told", "sentence", "subject", "summary", "advice"}
)
CUTS = frozenset(
    {"startswith", "endswith", "removeprefix", "removesuffix", "split", "rsplit", "partition", "rpartition"}
    | {"replace", "find", "index"}
)
SEARCHES = frozenset({"search", "match", "fullmatch", "findall", "finditer", "sub"})

FOREIGN = {
    "cli/plan/check_gpus.py": "a list of pairs",
    "cli/reference/page.py": "a list of parts",
    "lambdas/handlers/commands.py": "API Gateway's route key",
    "lambdas/lamplighter/adapters/aws/calls.py": "what botocore wrote: put on one line",
    "lambdas/lamplighter/adapters/aws/ledger/proofs.py": "an item of the ledger, by its keys",
    "lambdas/lamplighter/adapters/aws/ledger/rows.py": "a sort key of the ledger",
    "lambdas/lamplighter/adapters/aws/notices.py": "a subject, put on one line as SNS wants it",
    "lambdas/lamplighter/adapters/calendars/course.py": "what icalendar wrote: put on one line",
    "lambdas/lamplighter/adapters/calendars/recurrence.py": "a set of parts of a rule",
    "lambdas/lamplighter/adapters/calendars/text.py": "a calendar's own text",
    "lambdas/lamplighter/application/board/posting.py": "a set of keys of posts",
    "lambdas/lamplighter/application/deploy/steps.py": "a property of a custom resource",
    "lambdas/lamplighter/application/slack/receiving.py": "the path of a request",
    "lambdas/lamplighter/data/instance_types.py": "a list of names",
    "lambdas/lamplighter/domain/diagnosis/rules/node.py": "names of resources of a node",
    "lambdas/lamplighter/domain/diagnosis/rules/pod.py": "names of resources of a pod",
    "lambdas/lamplighter/domain/diagnosis/snapshot.py": "keys of a snapshot",
    "lambdas/lamplighter/domain/gpu/sharing.py": "a MIG profile",
    "lambdas/lamplighter/domain/leases/closing.py": "Step Functions' form of a failure: name, then cause",
    "lambdas/lamplighter/domain/leases/following.py": "an instant",
    "lambdas/lamplighter/domain/slack/asked/request.py": "Slack's user ids",
    "lambdas/lamplighter/domain/slack/tidy.py": "what a person typed",
    "lambdas/lamplighter/adapters/doctor/inside.py": "an image's name",
    "lambdas/lamplighter/adapters/kubernetes/autoscalers.py": "an image's name",
    "lambdas/lamplighter/domain/checks/verdicts/dcgm.py": "dcgmi's JSON",
    "lambdas/lamplighter/domain/diagnosis/rules/launch.py": "an event of Karpenter",
    "lambdas/lamplighter/lab/cluster_policy.py": "a value of lab.yaml",
    "lambdas/lamplighter/labfile/file.py": "a name in lab.yaml",
    "lambdas/lamplighter/labfile/messages.py": "the kind of a key of lab.yaml",
    "lambdas/lamplighter/labfile/rules/gpu.py": "a MIG profile",
    "lambdas/lamplighter/labfile/schema.py": "a set of keys",
    "lambdas/lamplighter/labfile/yaml.py": "what ruamel wrote: put on one line",
}
NOT_YET = {
    "lambdas/lamplighter/values/clock_time.py": "instants in UTC, which areas without codes still write",
}
"""Places that still parse a sentence of ours, and the reason. Add no place."""


def cuts(source: str) -> Iterator[int]:
    """The lines that cut or search a sentence."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            cut = node.func.attr in CUTS and _sentence(node.func.value)
            searched = node.func.attr in SEARCHES and any(_sentence(given) for given in node.args)
            if cut or searched:
                yield node.lineno
        elif (
            isinstance(node, ast.Compare)
            and isinstance(node.ops[0], ast.In | ast.NotIn)
            and _sentence(node.comparators[0], also_made=True)
        ):
            yield node.lineno


def _sentence(node: ast.expr, *, also_made: bool = False) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in SENTENCES or name.endswith(("_because", "_reason"))
        case ast.Call(func=ast.Name(id="str"), args=[given, *_]):
            return also_made or isinstance(given, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
        case _:
            return False


def places() -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for folder in ("lambdas", "cli"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if lines := sorted(set(cuts(path.read_text("utf-8")))):
                found[str(Path(path).relative_to(ROOT))] = lines
    return found


def test_no_sentence_is_taken_apart() -> None:
    known = {*FOREIGN, *NOT_YET}

    assert {place: lines for place, lines in places().items() if place not in known} == {}


def test_no_place_is_excused_that_needs_no_excuse() -> None:
    assert {*FOREIGN, *NOT_YET} - set(places()) == set()


def test_the_forms_are_found() -> None:
    assert list(cuts('if "is full" in str(lease.because or ""):\n    pass')) == [1]
    assert list(cuts('x = reason.removeprefix("the lab is paused ")')) == [1]
    assert list(cuts('x = last.why.rpartition("; ")[0]')) == [1]
    assert list(cuts('x = str(error).split(" on ")')) == [1]
    assert list(cuts("_CLOCK.sub(told, sentence)")) == [1]
    assert list(cuts('x = pool.removeprefix("POOL#")')) == []
