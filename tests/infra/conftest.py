"""One synthesis a session of each lab that tests ask for."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Aspects, CloudFormationValidatePlugin, Tags, Validations
from cdk_nag import AwsSolutionsChecks

from lamplighter.lab.model import Lab
from lamplighter.values.lab_tag import LAB_TAG
from stacks.assembly import build
from stacks.cluster_stack import ClusterStack
from stacks.constructs.functions.log_retention import KeepLogsShort
from stacks.layer import CHECKOUT
from stacks.names import Names
from tests.infra.functions.unpacked import Unpacked, unpack
from tests.machines.lambda_python import native_modules_or_skip
from tests.shared_folders import made_once

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

    def part(self, construct: str) -> "Template":
        """The resources of one construct of the stack."""
        own = {name: one for name, one in self.resources.items() if name.startswith(construct)}
        return Template({**self.document, "Resources": own})

    def of_type(self, kind: str) -> dict[str, Resource]:
        return {name: found for name, found in self.resources.items() if found["Type"] == kind}

    def properties(self, kind: str) -> list[Resource]:
        return [found.get("Properties", {}) for found in self.of_type(kind).values()]

    def one(self, kind: str, **wanted: object) -> Resource:
        """The properties of the one resource of a type that has these."""
        found = [p for p in self.properties(kind) if wanted.items() <= p.items()]
        assert len(found) == 1, f"{len(found)} resources of type {kind} with {wanted}"
        return found[0]

    def name(self, kind: str, **wanted: object) -> str:
        """The logical name of the one resource of a type that has these properties."""
        [found] = [
            n for n, r in self.of_type(kind).items() if wanted.items() <= r.get("Properties", {}).items()
        ]
        return found

    def node_role(self, nodegroup: str) -> Resource:
        """The properties of the role that a node group's nodes have."""
        group = self.one("AWS::EKS::Nodegroup", NodegroupName=nodegroup)
        found: Resource = self.resources[group["NodeRole"]["Fn::GetAtt"][0]]["Properties"]
        return found

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
        named = {explicit} if isinstance(explicit, str) else set(explicit)
        return (named | set(_references(resource.get("Properties")))) & self.resources.keys()


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


class Assembly:
    """A cloud assembly, made once it is asked for: all of it, or the cluster's stack alone in a third of the time."""

    def __init__(self, whole: Callable[[], Path], cluster: Callable[[], Path] | None = None) -> None:
        self._whole, self._cluster = whole, cluster

    @cached_property
    def folder(self) -> Path:
        return self._whole()

    def template(self, stack: str) -> Template:
        alone = self._cluster if stack.endswith("-cluster") else None
        folder = alone() if alone is not None else self.folder
        return Template(json.loads((folder / f"{stack}.template.json").read_text("utf-8")))

    @property
    def artifacts(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "manifest.json").read_text("utf-8"))["artifacts"]
        return found

    @property
    def stacks(self) -> list[str]:
        return [n for n, a in self.artifacts.items() if a["type"] == "aws:cloudformation:stack"]

    @property
    def files(self) -> list[Path]:
        return [self.folder / f"{stack}.template.json" for stack in self.stacks]

    def violations(self) -> list[str]:
        """What any check found, a line each."""
        report = json.loads((self.folder / "validation-report.json").read_text("utf-8"))
        return [
            f"{violation['ruleName']}: {violation['description'][:120]} at {construct.get('constructPath')}"
            for plugin in report["pluginReports"]
            for violation in plugin["violations"]
            for construct in violation["violatingConstructs"]
        ]


ENTRY = {"source": "ci.training", "principals": ["arn:aws:iam::111122223333:role/ci"]}
#: The default lab, with an address for pages, Slack and a bus.
DEFAULT = {
    "name": "gpu-lab",
    "notify": {"email": "oncall@example.com"},
    "slack": {"channel": "C0123456789"},
    "events": {"allow": {"training": ENTRY}},
}

#: One pool whose plugin a chart of its own brings, one with a plugin in its image.
WITHOUT_OPERATOR = {
    "name": "gpu-lab",
    "notify": {"email": "oncall@example.com"},
    "cluster": {"node_monitoring": True},
    "gpu_operator": {"enabled": False},
    "device_plugin": {"enabled": True},
    "pools": {"gpu": {}, "rocket": {"ami_type": "BOTTLEROCKET_x86_64_NVIDIA"}},
    "windows": [
        {"name": "class", "pool": "gpu", "days": "mon", "start": "10:00", "end": "11:00", "gpu": {"share": 4}}
    ],
}

OWN = {"ami_type": "CUSTOM", "image": "ami-0123456789abcdef0"}
TAINTED = {"taints": [{"key": "team", "value": "a", "effect": "NoExecute"}], "labels": {"role": "web"}}
OF_WINDOWS = {"taints": [{"key": "os", "value": "windows"}]}
#: Each family of images by EKS's own image and by one of the user's; the version is the last with Amazon Linux 2.
EVERY_IMAGE = {
    "name": "gpu-lab",
    "cluster": {
        "kubernetes_version": "1.32",
        "node_groups": {
            "plain": {},
            "al2023": {"max_pods": 40, "packages": ["htop"]},
            "al2": {"ami_type": "AL2_x86_64", "max_pods": 40, "packages": ["htop"]},
            "rocket": {"ami_type": "BOTTLEROCKET_x86_64", "max_pods": 40, **TAINTED},
            "windows": {"ami_type": "WINDOWS_FULL_2022_x86_64", "disk_gib": 80, **OF_WINDOWS},
            "own-al2023": {**OWN, "max_pods": 40, **TAINTED},
            "own-al2": {**OWN, "image_family": "al2", "max_pods": 40, **TAINTED},
            "own-rocket": {**OWN, "image_family": "bottlerocket", "max_pods": 40, **TAINTED},
            "own-windows": {**OWN, "image_family": "windows", **OF_WINDOWS},
        },
    },
    "pools": {"own": OWN, "own-rocket": {**OWN, "image_family": "bottlerocket"}},
}


Synthesis = Callable[[Mapping[str, object], bool], Assembly]


@pytest.fixture(scope="session")
def synthesis(tmp_path_factory: pytest.TempPathFactory) -> Synthesis:
    """Each lab is synthesised once a session, for all workers; under all checks where that is asked for."""
    shared = tmp_path_factory.mktemp("shared")

    def folder(document: Mapping[str, object], app_of: Callable[[Lab, Path], App], nag: bool) -> Path:
        lab = Lab.model_validate(document)

        def make(folder: Path) -> None:
            # In one folder the large assets are copied once; what tests read is small.
            app = app_of(lab, shared)
            if nag:
                Validations.of(app).add_plugins(AwsSolutionsChecks(app, verbose=True), _cloudformation())
            app.synth()
            for made in shared.glob("*.json"):
                shutil.move(made, folder / made.name)

        key = hashlib.sha256(json.dumps([document, app_of.__name__, nag]).encode()).hexdigest()
        return made_once(tmp_path_factory, f"assembly-{key}", make)

    def assembly(document: Mapping[str, object], nag: bool) -> Assembly:
        part = None if nag else partial(folder, document, cluster_alone, False)
        return Assembly(partial(folder, document, build, nag), part)

    return assembly


def cluster_alone(lab: Lab, out: Path) -> App:
    """An app with the lab's cluster alone; test_checks.py compares it with the whole."""
    settings = json.loads((CHECKOUT / "cdk.json").read_text("utf-8"))
    app = App(outdir=str(out), context=settings["context"], analytics_reporting=False)
    names = Names(lab=lab.name, region=lab.region, cluster=lab.cluster_name)
    stack = ClusterStack(app, f"{lab.name}-cluster", lab=lab, names=names)
    stack.tags.set_tag(LAB_TAG, lab.name)
    for key, value in lab.tags.items():
        Tags.of(app).add(key, value)
    Aspects.of(app).add(KeepLogsShort())
    return app


@pytest.fixture(scope="session")
def synthesise(synthesis: Synthesis) -> Callable[..., Assembly]:
    """Synthesise a lab given as its keys."""

    def made(**keys: object) -> Assembly:
        return synthesis({"name": "gpu-lab", **keys}, False)

    return made


@cache
def _cloudformation() -> CloudFormationValidatePlugin:
    """CloudFormation's rules, loaded once a process: that takes longer than a synthesis."""
    return CloudFormationValidatePlugin()


def checked(document: Mapping[str, object]) -> Callable[[Synthesis], Assembly]:
    """A fixture: this lab, synthesised under cdk-nag."""

    @pytest.fixture(scope="session")
    def synthesised(synthesis: Synthesis) -> Assembly:
        return synthesis(document, True)

    return synthesised


assembly = checked(DEFAULT)
without_operator = checked(WITHOUT_OPERATOR)
images = checked(EVERY_IMAGE)


@pytest.fixture(scope="session")
def every_image(images: Assembly) -> Template:
    return images.template("gpu-lab-cluster")


@pytest.fixture(scope="session")
def cluster(assembly: Assembly) -> Template:
    return assembly.template("gpu-lab-cluster")


@pytest.fixture(scope="session")
def controller(assembly: Assembly) -> Template:
    return assembly.template("gpu-lab-controller")


@pytest.fixture(scope="session")
def slack(controller: Template) -> Template:
    return controller.part("Slack")


@pytest.fixture(scope="session")
def templates(assembly: Assembly) -> list[Template]:
    """Of every stack of the default lab."""
    return [assembly.template(stack) for stack in assembly.stacks]


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Unpacked:
    """The assets of the functions of a lab of a name alone, as Lambda has them."""
    native_modules_or_skip()
    return unpack(Lab.model_validate({"name": "gpu-lab"}), tmp_path_factory.mktemp("unpacked"))
