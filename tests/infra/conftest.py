"""One synthesis a session of the default lab, with cdk-nag looking on; other labs as tests ask for them."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Validations
from cdk_nag import AwsSolutionsChecks

from lamplighter.lab import Lab
from stacks.assembly import build

Resource = dict[str, Any]


@dataclass(frozen=True)
class Template:
    """A synthesised template, asked in the words of a test."""

    document: dict[str, Any]

    @property
    def resources(self) -> dict[str, Resource]:
        resources: dict[str, Resource] = self.document["Resources"]
        return resources

    @property
    def outputs(self) -> dict[str, Any]:
        return {name: output["Value"] for name, output in self.document.get("Outputs", {}).items()}

    def of_type(self, kind: str) -> dict[str, Resource]:
        return {name: found for name, found in self.resources.items() if found["Type"] == kind}

    def properties(self, kind: str) -> list[Resource]:
        return [found.get("Properties", {}) for found in self.of_type(kind).values()]

    def one(self, kind: str, **wanted: object) -> Resource:
        """The properties of the one resource of a type that has these."""
        found = [p for p in self.properties(kind) if wanted.items() <= p.items()]
        assert len(found) == 1, f"{len(found)} resources of type {kind} with {wanted}"
        return found[0]

    def needs(self, name: str) -> set[str]:
        """Every resource that must be there before this one, however indirectly."""
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            for needed in self._direct(waiting.pop()) - seen:
                seen.add(needed)
                waiting.append(needed)
        return seen

    def _direct(self, name: str) -> set[str]:
        resource = self.resources[name]
        explicit = resource.get("DependsOn", [])
        return ({explicit} if isinstance(explicit, str) else set(explicit)) | {
            reference for reference in _references(resource.get("Properties")) if reference in self.resources
        }


def _references(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        if isinstance(value.get("Ref"), str):
            yield value["Ref"]
        attribute = value.get("Fn::GetAtt")
        if isinstance(attribute, list):
            yield attribute[0]
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


@dataclass(frozen=True)
class Assembly:
    """A cloud assembly on disk."""

    folder: Path

    def template(self, stack: str) -> Template:
        return Template(json.loads((self.folder / f"{stack}.template.json").read_text("utf-8")))

    @property
    def stacks(self) -> list[str]:
        manifest = json.loads((self.folder / "manifest.json").read_text("utf-8"))
        return [n for n, a in manifest["artifacts"].items() if a["type"] == "aws:cloudformation:stack"]

    def violations(self) -> list[str]:
        """What any check found, a line each."""
        report = json.loads((self.folder / "validation-report.json").read_text("utf-8"))
        return [
            f"{violation['ruleName']}: {violation['description'][:120]} at {construct.get('constructPath')}"
            for plugin in report["pluginReports"]
            for violation in plugin["violations"]
            for construct in violation["violatingConstructs"]
        ]


DEFAULT = {
    "name": "gpu-lab",
    "notify": {"email": "oncall@example.com"},
    "slack": {"channel": "C0123456789"},
}


@pytest.fixture(scope="session")
def synthesise(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Assembly]:
    """Synthesise a lab given as its keys."""
    shared = tmp_path_factory.mktemp("shared")

    def made(**keys: object) -> Assembly:
        # In one folder the large assets are copied once; what tests read is small.
        build(Lab.model_validate({"name": "gpu-lab", **keys}), shared).synth()
        folder = tmp_path_factory.mktemp("assembly")
        for document in shared.glob("*.json"):
            shutil.move(document, folder / document.name)
        return Assembly(folder)

    return made


@pytest.fixture(scope="session")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """The default lab, with an address for pages and with Slack, synthesised under cdk-nag."""
    folder = tmp_path_factory.mktemp("default-lab")
    app = build(Lab.model_validate(DEFAULT), folder)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app, verbose=True))
    app.synth()
    return Assembly(folder)


@pytest.fixture(scope="session")
def cluster(assembly: Assembly) -> Template:
    return assembly.template("gpu-lab-cluster")


@pytest.fixture(scope="session")
def controller(assembly: Assembly) -> Template:
    return assembly.template("gpu-lab-controller")


@pytest.fixture(scope="session")
def slack(assembly: Assembly) -> Template:
    return assembly.template("gpu-lab-slack")
