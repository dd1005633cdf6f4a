"""A changed byte runs each part that it touches, and the parts that it cannot touch are left out."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from secrets import token_hex

import pytest

from tests.suite.keys import Keys
from tests.suite.parts import MACHINES, PARTS
from tests.suite.reach import EVERYBODYS, NOBODYS, Reach
from tests.suite.tree import Tree

LONG = {"LAMPLIGHTER_TESTS": "long"}
TESTS = {part.name for part in PARTS if part.tests}
SCENARIOS = {"scenarios", "examples", "deploys", "karpenter", "guides"}
#: The parts with the real Kubernetes, which deploy no product.
CLUSTERS = {"cluster", "controller", "node-pools", "nodes"}


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree()


@pytest.fixture(scope="module")
def reach(tree: Tree) -> Reach:
    return Reach(tree.files)


@pytest.fixture(scope="module")
def digests(tree: Tree) -> Mapping[str, str]:
    return tree.digests


def keys(reach: Reach, digests: Mapping[str, str], **environment: str) -> dict[str, str | None]:
    found = Keys(digests, environment, reach)
    return {part.name: found.of(part) for part in PARTS if part is not MACHINES}


@pytest.fixture(scope="module")
def before(reach: Reach, digests: Mapping[str, str]) -> dict[str, str | None]:
    return keys(reach, digests)


def differing(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> set[str]:
    return {name for name, key in before.items() if key != after[name]}


@pytest.fixture
def changed(reach: Reach, digests: Mapping[str, str], before: Mapping[str, str | None]):
    """The parts whose key a changed byte in a file changes."""

    def parts(file: str) -> set[str]:
        assert file in digests
        return differing(before, keys(reach, {**digests, file: "another digest"}))

    return parts


@pytest.mark.parametrize(
    ("file", "parts"),
    [
        ("docs/how-to/run/add-a-language.md", {"project"}),
        ("docs/tutorial/first-lab.md", {"project", "guides"}),
        ("docs/how-to/run/ci-job/job.yaml", {"project", "guides"}),
        ("CONTRIBUTING.md", {"project"}),
        (".devcontainer/devcontainer.json", {"project"}),
        ("tests/browser/conftest.py", {"project", "types", "browser"}),
        ("tests/infra/conftest.py", {"project", "types", "infra"}),
        ("tests/scenarios/misfortunes/pool.py", {"project", "types", "scenarios"}),
        ("tests/scenarios/examples/test_auto_mode.py", {"project", "types", "examples"}),
        ("docs/how-to/run/pipeline/pipeline.yaml", {"project", "guides", "local", "infra"}),
        ("tests/unit/guard/rules/test_budget.py", {"project", "types", "unit"}),
    ],
)
def test_these_files_touch_no_other_part(changed, file: str, parts: set[str]) -> None:
    assert changed(file) == parts


#: By file: parts that a changed byte runs at least, and parts that it leaves out.
TOUCHED = {
    # a text that ships with the functions
    "lambdas/lamplighter/data/texts/en/lease.json": (TESTS, {"types"}),
    # the domain, an entry point, and a verb, which is loaded by its name
    "lambdas/lamplighter/domain/guard/guard.py": (
        {"unit", "properties", "infra", "types", *SCENARIOS},
        {"local", "nodes", "browser"},
    ),
    "lambdas/handlers/guard.py": (
        {"unit", "properties", "infra", "played", *SCENARIOS},
        {"local", "cluster", "nodes"},
    ),
    "cli/understand/status.py": ({"unit", *SCENARIOS}, {"local", "properties", *CLUSTERS}),
    # the embedded cloud, a day of its demo, what it is built of
    "local/aws/iam.py": ({"local", "played", *SCENARIOS}, {"properties", "browser"}),
    "local/demo/day.yaml": ({"unit", "scenarios"}, {"local", "properties", *CLUSTERS}),
    "local/kubernetes/controlplane/main.go": ({*CLUSTERS, *SCENARIOS}, {"local", "properties"}),
    # charts, a policy, a template
    "local/kubernetes/charts/gpu-operator/values.yaml": ({"cluster", *SCENARIOS}, {"local", "properties"}),
    "stacks/charts/karpenter-1.14.3/karpenter/values.yaml": (
        {"infra", "controller", *SCENARIOS},
        {"browser", "properties"},
    ),
    "stacks/policies/externaldns_controller_policy.json": ({"infra", *SCENARIOS}, {"local", "cluster"}),
    "stacks/constructs/ledger.py": ({"infra", *SCENARIOS}, {"local", "browser", "cluster"}),
    # labs, fixtures, a release
    "lab.yaml": ({"project", "infra", *SCENARIOS}, {"local", "properties"}),
    "examples/002-device-plugin.yaml": (
        {"project", "infra", "examples"},
        {"scenarios", "deploys", "guides"},
    ),
    "tests/karpenter_recording/recording.json": ({"unit", "properties", "nodes"}, {"scenarios"}),
    "tests/scenarios/deploys/releases/0.1.0.tar.xz": ({"deploys"}, {"scenarios", "examples", "unit"}),
    "tests/conftest.py": (TESTS, set()),
}


@pytest.mark.parametrize("file", TOUCHED)
def test_a_changed_byte_runs_what_it_touches(changed, file: str) -> None:
    parts = changed(file)
    touched, untouched = TOUCHED[file]

    assert touched <= parts
    assert not parts & untouched


@pytest.mark.parametrize(
    "file", ["requirements/dev.txt", "lambdas/requirements.txt", "pyproject.toml", "Makefile"]
)
def test_a_lock_runs_all(changed, file: str) -> None:
    assert changed(file) == TESTS | {"types"}


@pytest.mark.parametrize("file", ["lambdas/lamplighter/data/new.json", "tests/unit/new.txt", "new.toml"])
def test_a_new_file_that_nobody_names_runs_all(reach, digests, before, file: str) -> None:
    assert differing(before, keys(reach, {**digests, file: "a digest"})) == TESTS


def test_the_machines_are_set_up_after_any_change_but_that_of_a_page(reach, digests) -> None:
    def key(*changed: str) -> str | None:
        files = {**digests, **dict.fromkeys(changed, "another")}
        return Keys(files, {}, reach).of(replace(MACHINES, versions=()))

    before = key()
    assert key("README.md", "docs/tutorial/first-lab.md") == before
    assert before not in {key("cli/understand/status.py"), key(".ci/run")}


def test_each_excuse_is_for_files_that_exist_and_no_part_reaches(reach, digests) -> None:
    reached = frozenset[str]().union(
        *(reach.of(part.tests, part.ignored) for part in PARTS if part.name != "project")
    )

    for name in NOBODYS:
        assert {file for file in digests if file.startswith(name)} - reached, name


#: By variable: the same.
READ = {
    "LAMPLIGHTER_KARPENTER": ({"controller", "node-pools", "karpenter"}, {"properties", "local", "browser"}),
    "LAMPLIGHTER_HISTORIES": ({"properties", "project"}, TESTS - {"properties", "project"}),
    "LAMPLIGHTER_TESTS": (TESTS, set()),
    "JSII_NODE": ({"infra", *SCENARIOS}, set()),
    "AWS_PROFILE": (TESTS, set()),
    "LAMPLIGHTER_SEED": (set(), TESTS),
}


@pytest.mark.parametrize("name", READ)
def test_a_variable_runs_the_parts_that_read_it(reach, digests, before, name: str) -> None:
    parts = differing(before, keys(reach, digests, **{name: "1"}))
    touched, untouched = READ[name]

    assert touched <= parts
    assert not parts & untouched


def test_a_variable_that_nobody_reads_runs_nothing(reach, digests, before) -> None:
    assert differing(before, keys(reach, digests, **{f"LAMPLIGHTER_{token_hex().upper()}": "1"})) == set()


def test_another_python_runs_all(reach, digests, before, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version", "3.99.0")

    assert differing(before, keys(reach, digests)) == TESTS | {"types"}


def test_a_fresh_seed_always_runs_and_a_given_one_is_in_the_key(reach, digests) -> None:
    fresh = keys(reach, digests, **LONG)
    one, other = (keys(reach, digests, LAMPLIGHTER_SEED=seed, **LONG) for seed in "12")

    assert {"properties", "unit", "scenarios"} <= {name for name, key in fresh.items() if key is None} - {
        "lint"
    }
    assert fresh["examples"] is not None
    assert {"properties", "unit"} <= differing(one, other)
    assert one["examples"] == other["examples"]


def test_the_locks_are_where_the_keys_look_for_them(digests) -> None:
    assert all(any(file.startswith(name) for file in digests) for name in EVERYBODYS)
