"""Cost-allocation tags: on all that costs money, and the same from deploy to deploy."""

from collections.abc import Callable, Iterator, Mapping

from local.aws.cloudformation.registry import KINDS
from tests.infra.conftest import Assembly, Resource, Template

WINDOW = {"name": "evening", "days": "tue", "start": "20:00", "end": "22:00"}
CHANGED = {
    "windows": [WINDOW],
    "guard": {"budget": {"amount": "50", "owners": {"class": "20"}}, "longest_lease": "4h"},
    "notify": {"email": "somebody@example.com"},
}
Tags = Mapping[str, object]


def tags_of(resource: Resource) -> Tags:
    """A resource's tags, however its type writes them."""
    properties = resource.get("Properties", {})
    found: dict[str, object] = {}
    for kind, tags in [("", properties.get("Tags")), *_specified(properties)]:
        pairs = tags.items() if isinstance(tags, dict) else ((tag["Key"], tag["Value"]) for tag in tags or ())
        found |= {f"{kind}{key}": value for key, value in pairs}
    return found


def _specified(properties: Resource) -> Iterator[tuple[str, object]]:
    data = properties.get("LaunchTemplateData", {})
    for each in (*properties.get("TagSpecifications", ()), *data.get("TagSpecifications", ())):
        yield f"{each['ResourceType']} ", each["Tags"]


def all_tags(template: Template) -> dict[str, Tags]:
    return {name: tags_of(resource) for name, resource in template.resources.items()}


def test_no_tag_changes_when_windows_money_or_people_do(synthesise: Callable[..., Assembly]) -> None:
    before, after = synthesise(), synthesise(**CHANGED)

    for stack in ("gpu-lab-cluster", "gpu-lab-controller"):
        old, new = all_tags(before.template(stack)), all_tags(after.template(stack))
        assert {name: new[name] for name in old if name in new} == {
            name: old[name] for name in old if name in new
        }
        assert any(old.values())


def test_what_a_pool_costs_carries_lab_and_node_group(cluster: Template) -> None:
    """EC2 gives an instance and its volume the launch template's tags; the stack's do not reach them."""
    for template in cluster.properties("AWS::EC2::LaunchTemplate"):
        for specified in template["LaunchTemplateData"]["TagSpecifications"]:
            tags = {tag["Key"]: tag["Value"] for tag in specified["Tags"]}
            assert tags["lamplighter:lab"] == "gpu-lab"
            assert str(tags["lamplighter:node-group"]).startswith("gpu-lab-ng-")
        kinds = {
            specified["ResourceType"] for specified in template["LaunchTemplateData"]["TagSpecifications"]
        }
        assert kinds == {"instance", "volume"}


def test_a_labs_own_tags_are_on_whatever_takes_tags(synthesise: Callable[..., Assembly]) -> None:
    lab = synthesise(tags={"CostCentre": "4711"})
    for stack in lab.stacks:
        for name, tags in all_tags(lab.template(stack)).items():
            if "Terraform" in tags:
                assert tags["CostCentre"] == "4711", name


def test_every_stack_is_tagged_with_its_lab(assembly: Assembly) -> None:
    """CloudFormation puts a stack's tags on what the stack makes."""
    for name in assembly.stacks:
        assert assembly.artifacts[name]["properties"]["tags"]["lamplighter:lab"] == "gpu-lab"


def test_other_tags_of_a_lab_replace_nothing(synthesise: Callable[..., Assembly]) -> None:
    """Nor do they touch anything but tags, a step of a deploy and what the functions know of the lab."""
    before, after = synthesise(), synthesise(tags={"CostCentre": "4711"})

    for stack in before.stacks:
        old, new = before.template(stack).resources, after.template(stack).resources
        assert old.keys() == new.keys()
        for name, resource in old.items():
            kind = resource["Type"]
            was, will = resource.get("Properties", {}), new[name].get("Properties", {})
            changed = {key for key in was.keys() | will.keys() if was.get(key) != will.get(key)}
            if changed and not kind.startswith("Custom::"):
                assert changed <= {"Tags", "Code"}, (name, kind, changed)
                assert not KINDS[kind].replaces(changed), (name, kind, changed)
