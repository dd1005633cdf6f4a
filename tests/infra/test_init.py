"""What a handler loads at its start, and what that takes.

Each figure of docs/reference/performance.md that begins with `import-` says what CI holds: a multiple of a plain
`import boto3` on the same machine at the same time, in processor time, which a slow or busy machine hardly changes.
"""

import re

import pytest

from stacks.layer import CHECKOUT
from tests.bench.imports import BEFORE, KUBERNETES, LAB, MODULES, SDK, Imports
from tests.infra.unpacked import AS_LAMBDA_RUNS_IT, Unpacked

pytestmark = AS_LAMBDA_RUNS_IT

AIM = re.compile(r"^\| `import-([a-z0-9]+)` \|.* CI: ([0-9.]+) of `import-boto3` \|$", re.MULTILINE)
#: So often each is measured at least, and at most where an aim seems missed: the best of all counts.
AT_LEAST, AT_MOST = 2, 15
#: What is there after a start that loads one of these first.
BRINGS = {
    LAB: {"boto3", "botocore.client", "pydantic", "lamplighter.lab"},
    KUBERNETES: {"boto3", "botocore.client", "pydantic", "lamplighter.lab", "kubernetes.client.api_client"},
}
LOADED = """
import importlib, json
importlib.import_module(sys.argv[1])
print(json.dumps(list(sys.modules)))
"""


def functions() -> dict[str, tuple[str, ...]]:
    """Each handler of the figures, and what it loads first."""
    return {name: before for name, before in BEFORE.items() if name not in MODULES}


@pytest.mark.parametrize("name", functions())
def test_a_function_loads_at_its_start_what_each_of_its_events_needs(name: str, unpacked: Unpacked) -> None:
    loaded = set(unpacked.run(LOADED, f"handlers.{name}"))

    wanted = {module for first in functions()[name] for module in BRINGS[first]}
    others = set().union(*BRINGS.values()) - wanted
    assert wanted <= loaded
    assert not others & loaded


def test_no_handler_takes_more_of_the_processor_to_load_than_its_aim(unpacked: Unpacked) -> None:
    document = (CHECKOUT / "docs" / "reference" / "performance.md").read_text("utf-8")
    aims = {name: float(multiple) for name, multiple in AIM.findall(document)}
    imports = Imports(unpacked.code, unpacked.packages)
    best = dict.fromkeys(BEFORE, float("inf"))
    missed = set(aims)

    for turn in range(AT_MOST):
        for name in missed | {SDK} if turn >= AT_LEAST else set(BEFORE):
            best[name] = min(best[name], imports.milliseconds(name))
        missed = {name for name, aim in aims.items() if best[name] > aim * best[SDK]}
        if turn + 1 >= AT_LEAST and not missed:
            break

    assert aims.keys() == BEFORE.keys() - {SDK}
    assert {name: best[name] / best[SDK] for name in missed} == {}
