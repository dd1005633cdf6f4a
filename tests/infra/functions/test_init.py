"""What a handler loads at its start, and what that takes.

Each figure of docs/reference/performance.md that begins with `import-` says what CI holds: a multiple of a plain
`import boto3` on the same machine at the same time, in processor time, which a slow or busy machine hardly changes.
"""

import json
import re
from pathlib import Path

import pytest

from lamplighter.lab.model import Lab
from stacks.layer import CHECKOUT
from tests.bench.imports import BEFORE, KUBERNETES, LAB, MODULES, SDK, Imports
from tests.infra.functions.unpacked import AS_LAMBDA_RUNS_IT, Unpacked

pytestmark = AS_LAMBDA_RUNS_IT

AIM = re.compile(r"^\| `import-([a-z0-9]+)` \|.* CI: ([0-9.]+) of `import-boto3` \|$", re.MULTILINE)
#: So often each is measured at least, and at most where an aim seems missed: the best of all counts.
AT_LEAST, AT_MOST = 2, 15
#: What is there after a start that loads one of these first.
BRINGS = {
    LAB: {"boto3", "botocore.client", "pydantic", "lamplighter.lab.model"},
    KUBERNETES: {
        "boto3",
        "botocore.client",
        "pydantic",
        "lamplighter.lab.model",
        "kubernetes.client.api_client",
    },
}
LOADED = """
import importlib, json
importlib.import_module(sys.argv[1])
print(json.dumps(list(sys.modules)))
"""
LAB_DOCUMENT = {"name": "gpu-lab", "pools": {"gpu": {"instance_type": "g4dn.xlarge", "max_nodes": 1}}}
#: What the environments of these functions name.
NAMED = (
    *("LEDGER_TABLE", "CLUSTER_NAME", "SCHEDULE_GROUP"),
    *("FAILSAFE_ROLE_ARN", "FAILSAFE_DLQ_ARN", "WINDOW_ROLE_ARN", "DEAD_LETTERS_ARN", "SWEPT_TOPIC_ARN"),
    *("OPEN_LAB_ARN", "CLOSE_LAB_ARN", "EXPERIMENT_ARN", "NOTICES_FUNCTION_ARN"),
    *("NOTICES_TOPIC_ARN", "PAGES_TOPIC_ARN"),
)
MADE = """
import importlib, json, os
os.environ.update(json.loads(sys.argv[2]))
import boto3
made, client = [], boto3.client
boto3.client = lambda service, *given, **more: made.append(service) or client(service, *given, **more)
importlib.import_module(sys.argv[1])
print(json.dumps(made))
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


@pytest.mark.parametrize("name", ["leases", "nodegroups", "cluster", "notices", "guard"])
def test_clients_are_made_at_the_start_of_a_function_and_not_by_its_first_event(
    name: str, unpacked: Unpacked, tmp_path: Path
) -> None:
    file = tmp_path / "lab.json"
    file.write_text(Lab.model_validate(LAB_DOCUMENT).to_json(), "utf-8")
    environment = dict.fromkeys(NAMED, f"arn:aws:states:ap-northeast-2:123456789012:{name}")
    environment |= {"LAB_FILE": str(file), "AWS_REGION": "ap-northeast-2"}
    made = unpacked.run(MADE, f"handlers.{name}", json.dumps(environment))

    assert {"dynamodb"} <= set(made)
    assert ("ec2" in made) == (name in {"nodegroups", "guard"})


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
