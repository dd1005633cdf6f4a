"""What a handler loads at its start, and what that takes.

Each figure of docs/reference/performance.md that begins with `import-` says what CI holds: the calls of functions and
the modules. They are counted, so a slow or busy machine changes nothing. `make bench` measures the time.
"""

import json
import re
from pathlib import Path

import pytest

from lamplighter.lab.model import Lab
from stacks.layer import CHECKOUT
from tests.bench.imports import BEFORE, KUBERNETES, LAB, MODULES, SDK, Imports, Work
from tests.infra.functions.unpacked import Unpacked

AIM = re.compile(r"^\| `import-([a-z0-9]+)` \|.* CI: ([0-9]+),000 calls, ([0-9]+) modules \|$", re.MULTILINE)
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
print(json.dumps([made, list(sys.modules)]))
"""
#: They call AWS at every event.
CALLING = ("leases", "nodegroups", "cluster", "notices", "guard")


def functions() -> dict[str, tuple[str, ...]]:
    """Each handler of the figures, and what it loads first."""
    return {name: before for name, before in BEFORE.items() if name not in MODULES}


def lacks(name: str, loaded: set[str]) -> set[str]:
    """What a handler should load and does not, or loads and need not."""
    wanted = {module for first in functions()[name] for module in BRINGS[first]}
    return wanted ^ (set().union(*BRINGS.values()) & loaded)


@pytest.mark.parametrize("name", [name for name in functions() if name not in CALLING])
def test_a_function_loads_at_its_start_what_each_of_its_events_needs(name: str, unpacked: Unpacked) -> None:
    assert lacks(name, set(unpacked.run(LOADED, f"handlers.{name}"))) == set()


@pytest.mark.parametrize("name", CALLING)
def test_clients_are_made_at_the_start_of_a_function_and_not_by_its_first_event(
    name: str, unpacked: Unpacked, tmp_path: Path
) -> None:
    file = tmp_path / "lab.json"
    file.write_text(Lab.model_validate(LAB_DOCUMENT).to_json(), "utf-8")
    environment = dict.fromkeys(NAMED, f"arn:aws:states:ap-northeast-2:123456789012:{name}")
    environment |= {"LAB_FILE": str(file), "AWS_REGION": "ap-northeast-2"}
    made, loaded = unpacked.run(MADE, f"handlers.{name}", json.dumps(environment))

    assert {"dynamodb"} <= set(made)
    assert ("ec2" in made) == (name in {"nodegroups", "guard"})
    assert lacks(name, set(loaded)) == set()


def test_no_handler_does_more_to_load_than_its_aim(unpacked: Unpacked) -> None:
    document = (CHECKOUT / "docs" / "reference" / "performance.md").read_text("utf-8")
    aims = {name: Work(int(calls) * 1000, int(modules)) for name, calls, modules in AIM.findall(document)}
    imports = Imports(unpacked.code, unpacked.packages)

    works = {name: imports.work(name) for name in aims}

    assert aims.keys() == BEFORE.keys() - {SDK}
    assert {
        name: work
        for name, work in works.items()
        if work.calls > aims[name].calls or work.modules > aims[name].modules
    } == {}
