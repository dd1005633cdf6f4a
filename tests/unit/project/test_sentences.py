"""No code of the product parses a sentence of ours: a decision is a code, and words are drawn from it.

The test looks for calls that cut or search a text, on names that hold what a person is told. Texts of an outside
system or of a person may be parsed: FOREIGN lists each such place and whose text it is.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.checkout import ROOT

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
    "lambdas/lamplighter/adapters/aws/ledger/rows.py": "a sort key of the ledger",
    "lambdas/lamplighter/adapters/aws/notices.py": "a subject, put on one line as SNS wants it",
    "lambdas/lamplighter/adapters/calendars/recurrence.py": "a set of parts of a rule",
    "lambdas/lamplighter/adapters/calendars/text.py": "a calendar's own text",
    "lambdas/lamplighter/adapters/doctor/inside.py": "an image's name",
    "lambdas/lamplighter/adapters/kubernetes/autoscalers.py": "an image's name",
    "lambdas/lamplighter/application/board/posting.py": "a set of keys of posts",
    "lambdas/lamplighter/application/deploy/steps.py": "a property of a custom resource",
    "lambdas/lamplighter/data/instance_types.py": "a list of names",
    "lambdas/lamplighter/domain/checks/verdicts/dcgm.py": "dcgmi's JSON",
    "lambdas/lamplighter/domain/commands/spelling.py": "what a person typed",
    "lambdas/lamplighter/domain/diagnosis/rules/node.py": "names of resources of a node",
    "lambdas/lamplighter/domain/diagnosis/rules/node_pool/refusals.py": "an event of Karpenter",
    "lambdas/lamplighter/domain/diagnosis/snapshot.py": "keys of a snapshot",
    "lambdas/lamplighter/domain/granting/closing.py": "Step Functions' form of a failure: name, then cause",
    "lambdas/lamplighter/domain/granting/following.py": "an instant",
    "lambdas/lamplighter/domain/slack/asked/request.py": "Slack's user ids",
    "lambdas/lamplighter/lab/cluster_policy.py": "a value of lab.yaml",
    "lambdas/lamplighter/lab/gpu_settings.py": "a MIG profile",
    "lambdas/lamplighter/labfile/file.py": "a name in lab.yaml",
    "lambdas/lamplighter/labfile/messages.py": "the kind of a key of lab.yaml",
    "lambdas/lamplighter/labfile/rules/gpu.py": "a MIG profile",
    "lambdas/lamplighter/labfile/schema.py": "a set of keys",
    "lambdas/lamplighter/labfile/yaml.py": "what ruamel wrote: put on one line",
    "lambdas/lamplighter/values/clock_time.py": "instants in sentences that an older release kept",
}


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


@cache
def places() -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for folder in ("lambdas", "cli"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if lines := sorted(set(cuts(path.read_text("utf-8")))):
                found[str(Path(path).relative_to(ROOT))] = lines
    return found


def test_no_sentence_is_taken_apart() -> None:
    known = {*FOREIGN}

    assert {place: lines for place, lines in places().items() if place not in known} == {}


def test_no_place_is_excused_that_needs_no_excuse() -> None:
    assert {*FOREIGN} - set(places()) == set()


def test_the_forms_are_found() -> None:
    assert list(cuts('if "is full" in str(lease.because or ""):\n    pass')) == [1]
    assert list(cuts('x = reason.removeprefix("the lab is paused ")')) == [1]
    assert list(cuts('x = last.why.rpartition("; ")[0]')) == [1]
    assert list(cuts('x = str(error).split(" on ")')) == [1]
    assert list(cuts("_CLOCK.sub(told, sentence)")) == [1]
    assert list(cuts('x = pool.removeprefix("POOL#")')) == []


LOGGED = frozenset({"debug", "info", "warning", "error", "exception", "critical"})
FOR_DEVELOPERS = frozenset(
    {"ValueError", "KeyError", "AssertionError", "TypeError", "LookupError", "RuntimeError", "Missing"}
)
WORD = re.compile(r"(?<![\w.:/{-])[A-Za-z][a-z']*(?![\w:/=(-])")
WORDS_OF_A_SENTENCE = 3
NO_SENTENCE = {
    "lambdas/handlers/guard.py": "the message of a heartbeat, which nobody reads",
    "lambdas/lamplighter/adapters/aws/ledger/changes.py": "expressions of DynamoDB",
    "lambdas/lamplighter/adapters/aws/ledger/ledger.py": "expressions of DynamoDB",
    "lambdas/lamplighter/adapters/aws/ledger/slack/slack.py": "expressions of DynamoDB",
    "lambdas/lamplighter/adapters/diagnosis/kubernetes.py": "a key of a snapshot",
    "lambdas/lamplighter/adapters/diagnosis/logs.py": "a key of a snapshot",
    "lambdas/lamplighter/adapters/kubernetes/nodes.py": "in the place of Kubernetes' own words",
    "lambdas/lamplighter/adapters/slack/secret.py": "the subject of a call, for logs",
    "lambdas/lamplighter/application/guard/single_nodes.py": "EC2's words",
    "lambdas/lamplighter/application/guard/stirs.py": "the name of an error in a log",
    "lambdas/lamplighter/domain/calendar/changes.py": "the form of an instant",
    "lambdas/lamplighter/domain/classes/access.py": "the API server's answer to our own functions",
    "lambdas/lamplighter/domain/checks/ladder.py": "a command for a shell",
    "lambdas/lamplighter/domain/checks/manifests.py": "a command for a shell",
    "lambdas/lamplighter/domain/checks/node.py": "names in the measurements of a verdict",
    "lambdas/lamplighter/domain/checks/verdicts/transport.py": "NCCL's words",
    "lambdas/lamplighter/domain/checks/time_limit.py": "the kubelet's words",
    "lambdas/lamplighter/domain/commands/asked.py": "an example of a request",
    "lambdas/lamplighter/domain/commands/words.py": "the names of days that people type",
    "lambdas/lamplighter/domain/diagnosis/rules/hardware.py": "the MIG manager's words",
    "lambdas/lamplighter/domain/diagnosis/rules/symptoms.py": "words of NVIDIA's programs and of the kernel",
    "lambdas/lamplighter/domain/diagnosis/rules/workloads.py": "the device plugin's words",
    "lambdas/lamplighter/domain/diagnosis/scrubbing.py": "the pattern of a private key",
    "lambdas/lamplighter/domain/doctor/cluster.py": "a command for a shell",
    "lambdas/lamplighter/domain/experiments/rails.py": "who acted, in a schedule's document",
    "lambdas/lamplighter/domain/capacity/launch_cause.py": "EC2's words",
    "lambdas/lamplighter/domain/capacity/node_group/seen.py": "Auto Scaling's words",
    "lambdas/lamplighter/domain/leases/terms.py": "the form of an instant",
    "lambdas/lamplighter/domain/capacity/node_group/edit.py": "in the place of a key of lab.yaml, for a deploy",
    "lambdas/lamplighter/domain/capacity/node_pool/launch_bar.py": "expressions for the API server, and its refusals",
    "lambdas/lamplighter/domain/slack/answers.py": "examples of what people type",
    "lambdas/lamplighter/pages/frame.py": "a header of a page",
    "lambdas/lamplighter/pages/timeline.py": "the path of a drawing",
    "lambdas/lamplighter/pages/html.py": "a type",
    "lambdas/lamplighter/values/counted.py": "how English counts, for the command line",
    "lambdas/lamplighter/values/zone_names.py": "abbreviations of time zones",
    "lambdas/lamplighter/values/instant.py": "a mistyped instant: values know no catalogue",
}
"""Texts of three words and more in the product's code that no person reads as the product's sentence."""


def sentences(source: str) -> Iterator[int]:
    """The lines that hold a text of several words; docstrings, logs, types and patterns are left out."""
    tree = ast.parse(source)
    left_out = {
        id(inner) for node in ast.walk(tree) for outer in _left_out(node) for inner in ast.walk(outer)
    }
    left_out |= {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values
    }
    for node in ast.walk(tree):
        if id(node) in left_out and not isinstance(node, ast.JoinedStr):
            continue
        text = _text(node) if id(node) not in left_out else ""
        if " " in text.strip() and len(WORD.findall(text)) >= WORDS_OF_A_SENTENCE:
            yield node.lineno  # type: ignore[attr-defined]  # only texts come here


def _left_out(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Expr(value=ast.Constant()):
            yield node
        case ast.Call(func=ast.Attribute(attr=name)) if name in LOGGED:
            yield node
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"))):
            yield node
        case ast.Call(func=ast.Name(id=name)) if name in FOR_DEVELOPERS:
            yield node
        case ast.AnnAssign(annotation=annotation) | ast.arg(annotation=ast.expr() as annotation):
            yield annotation
        case ast.FunctionDef(returns=ast.expr() as returns):
            yield returns


def _text(node: ast.AST) -> str:
    match node:
        case ast.JoinedStr(values=parts):
            return "".join(_text(part) or "{}" for part in parts)
        case ast.Constant(value=str() as text):
            return text
        case _:
            return ""


def written_sentences() -> dict[str, list[int]]:
    folders = (
        "handlers",
        *(f"lamplighter/{name}" for name in ("application", "adapters", "domain", "pages", "values")),
    )
    found: dict[str, list[int]] = {}
    for folder in folders:
        for path in sorted((ROOT / "lambdas" / folder).rglob("*.py")):
            if lines := sorted(set(sentences(path.read_text("utf-8")))):
                found[str(path.relative_to(ROOT))] = lines
    return found


def test_no_sentence_is_written_outside_the_catalogue() -> None:
    written = written_sentences()

    assert {place: lines for place, lines in written.items() if place not in NO_SENTENCE} == {}
    assert set(NO_SENTENCE) - set(written) == set()


def test_a_sentence_in_code_is_found() -> None:
    assert list(sentences('raise Refused(f"pool {pool} is full until tomorrow")')) == [1]
    assert list(sentences('x = "the lab is paused"')) == [1]
    assert list(sentences('_logger.warning("the lab is paused")')) == []
    assert list(sentences('reason("lease.pool-full", pool=pool)')) == []
