"""Pools that are NodePools of Karpenter or of EKS Auto Mode: which keys fit, and their names."""

from datetime import timedelta

import pytest

from cli.plan.check import notes, summary
from lamplighter.domain.capacity.node_pool import launch_bar
from lamplighter.lab.model import Lab
from lamplighter.labfile.file import parse
from tests.unit.lab.read_labs import ALIAS, EXISTING, KARPENTER, lab, of_auto_mode, of_karpenter, problems


@pytest.mark.parametrize("text", [
    of_karpenter(),
    of_karpenter("image: bottlerocket@v1.62.0, drain: 25m"),
    of_karpenter("instance_type: g5g.xlarge"),
    of_auto_mode(),
    of_auto_mode("instance_type: g6e.48xlarge, efa: true, drain: 5m"),
    f"{EXISTING}pools: {{gpu: {{kind: karpenter, existing: team.gpu}}}}",
    "cluster: {existing: theirs, auto_mode: {}}\npools: {gpu: {kind: auto-mode, existing: gpu}}",
    f"{KARPENTER}pools: {{gpu: {{kind: karpenter}}, groups: {{}}}}",
    "cluster: {auto_mode: {switch_off: true}}\ngpu_operator: {enabled: false}\npools: {gpu: {kind: auto-mode}}",
])  # fmt: skip
def test_a_lab_with_node_pools_is_good_and_survives_the_way_to_the_functions(text: str) -> None:
    found = lab(text)

    assert Lab.from_json(found.to_json()) == found
    again = parse(found.to_json())
    assert isinstance(again, Lab), again
    assert again == found


def test_a_lab_without_node_pools_is_written_as_before_there_were_any() -> None:
    text = Lab(name="x").to_json()
    assert not [word for word in ("kind", "efa", "drain", "karpenter", "auto_mode") if f'"{word}"' in text]


def test_a_node_pool_has_the_name_of_lab_and_pool_or_its_own() -> None:
    assert lab(of_karpenter()).node_pool_name("gpu") == "x-gpu"
    adopted = lab(f"{EXISTING}pools: {{gpu: {{kind: karpenter, existing: team.gpu}}}}")
    assert adopted.node_pool_name("gpu") == "team.gpu"


@pytest.mark.parametrize(("text", "image", "ami_type", "stack"), [
    (of_karpenter(), ALIAS, "AL2023_x86_64_NVIDIA", "operator"),
    (of_karpenter("instance_type: g5g.xlarge"), ALIAS, "AL2023_ARM_64_NVIDIA", "operator"),
    (of_karpenter("image: bottlerocket@v1.62.0"), "bottlerocket@v1.62.0", "BOTTLEROCKET_x86_64_NVIDIA", "built-in"),
    (of_auto_mode(), None, "BOTTLEROCKET_x86_64_NVIDIA", "built-in"),
])  # fmt: skip
def test_the_image_of_a_node_pool_follows_from_its_kind_and_type(
    text: str, image: str | None, ami_type: str, stack: str
) -> None:
    found = lab(text)
    assert (found.pools["gpu"].image, found.pools["gpu"].ami_type) == (image, ami_type)
    assert found.gpu_stack("gpu") == stack


def test_the_plugin_of_auto_mode_counts_for_an_adopted_node_pool_too() -> None:
    adopted = lab(
        "cluster: {existing: theirs, auto_mode: {}}\npools: {gpu: {kind: auto-mode, existing: gpu}}"
    )
    assert adopted.gpu_stack("gpu") == "built-in"


def test_a_node_outlives_the_longest_lease_its_start_and_its_last_grace() -> None:
    found = lab(of_karpenter("drain: 20m") + "\nguard: {longest_lease: 8h}")
    assert found.pools["gpu"].last_grace == timedelta(minutes=20)
    assert found.node_life("gpu") == timedelta(hours=10, minutes=20)
    assert lab(of_karpenter()).pools["gpu"].last_grace == timedelta(minutes=10)


@pytest.mark.parametrize(("text", "problem"), [
    ("pools: {gpu: {drain: 5m}}", "pools.gpu.drain: is only for a pool of kind karpenter or auto-mode"),
    ("pools: {gpu: {efa: true}}", "pools.gpu.efa: is true, but g5.xlarge has no EFA; write a type such as g5.8xlarge"),
    (f"pools: {{gpu: {{image: {ALIAS}}}}}", "an alias of Karpenter; write the id of an image such as"),
    (f"pools: {{gpu: {{ami_type: CUSTOM, image: {ALIAS}}}}}", f"pools.gpu.image: is {ALIAS}, an alias of Karpenter"),
    ("cluster: {existing: theirs}\npools: {gpu: {existing: team.gpu}}",
     'pools.gpu.existing: is "team.gpu", write the node group\'s name'),
    (of_karpenter("efa: true"), "pools.gpu.efa: is true, but g5.xlarge has no EFA; write a type such as g5.8xlarge"),
    (of_karpenter("ami_type: AL2023_x86_64_NVIDIA"), ("pools.gpu.ami_type: is AL2023_x86_64_NVIDIA, a type of a node"
      f" group, and Karpenter takes an alias; write image: {ALIAS} in its place")),
    (of_karpenter("image_family: al2023"), "pools.gpu.image_family: is for a node group's own image; leave it out"),
    (of_karpenter("image: al2023@latest"), "is al2023@latest, which moves while the lab runs; write a version"),
    (of_karpenter("image: al2023"), 'is "al2023", write the id of an image'),
    (of_karpenter("image: al2@v20251126"), "is al2@v20251126, no alias of AL2023 or Bottlerocket"),
    (of_karpenter("image: al2023@v1"), "is al2023@v1, no alias of AL2023 or Bottlerocket"),
    (of_karpenter("image: ami-00aec23bbe1278680"),
     "another image may have no kubelet and never join, as Deep Learning AMIs; write al2023@v20260724"),
    (of_karpenter("image: bottlerocket@v1.62.0, packages: [htop]"),
     "pools.gpu.packages: are htop, but Bottlerocket has no package manager"),
    (of_karpenter("drain: 26m"), "pools.gpu.drain: is 26m, for which a pod could keep a node"),
    (of_karpenter('labels: {karpenter.sh/x: "1"}'), "is kept for Karpenter, which refuses it on a NodePool"),
    (of_karpenter("zone_index: 3"), "pools.gpu.zone_index: is 3, but cluster.zones counts from 0 to 2"),
    (of_karpenter("instance_type: m5.large"), "which has no NVIDIA GPU"),
    (of_karpenter("max_nodes: 3") + "\nquotas: {g_and_vt_vcpus: 8}",
     "pools.gpu.max_nodes: is 3, which needs 12 vCPUs of g5.xlarge, but quotas.g_and_vt_vcpus is 8"),
    (of_karpenter().replace("1.14.3}", '1.14.3}, kubernetes_version: "1.29"') + "\ngpu_operator: {enabled: false}",
     "pools.gpu.kind: is karpenter, whose launch bar is a ValidatingAdmissionPolicy"),
    (of_auto_mode(f"image: {ALIAS}"), "pools.gpu.image: is al2023@v20260724, but EKS Auto Mode chooses the image"),
    (of_auto_mode("ami_type: BOTTLEROCKET_x86_64_NVIDIA"), "leave it out: EKS Auto Mode chooses the image"),
    (of_auto_mode("packages: [htop]"), "pools.gpu.packages: are htop, but nodes of EKS Auto Mode have no package"),
    (of_auto_mode("metadata_hop_limit: 3"), "is 3, but EKS Auto Mode sets it to 1; leave it out"),
    (of_auto_mode("efa: true"), "is true, but g5.xlarge has no EFA; write a type such as g5.8xlarge"),
    (of_auto_mode("efa: true, instance_type: g5g.xlarge"), "is true, but g5g.xlarge has no EFA; leave it out"),
    (of_auto_mode("instance_type: g7.2xlarge"), "is g7.2xlarge, which EKS Auto Mode does not start"),
    (of_auto_mode("instance_type: p5.48xlarge"), "no price of p5.48xlarge with the fee of EKS Auto Mode"),
    ("cluster: {existing: theirs, auto_mode: {}}\npools: {gpu: {kind: auto-mode, existing: system}}",
     "pools.gpu.existing: is system, a built-in node pool of EKS Auto Mode, which starts no GPUs"),
    ("cluster: {existing: theirs}\npools: {gpu: {existing: a, instance_type: g5.xlarge, efa: true}}",
     "pools.gpu.efa: is true, but g5.xlarge has no EFA"),
    ("pools: {gpu: {kind: karpentr, drain: 2h, efa: true}}", 'pools.gpu.kind: is "karpentr", write one of'),
    ("cluster: {karpenter: {version: latest}}\npools: {gpu: {kind: karpenter}}",
     'cluster.karpenter.version: is "latest", write a version such as'),
    (f"{EXISTING}pools: {{gpu: {{kind: karpenter, existing: gpu, auto_scaling_group: eks-x}}}}",
     "is for a node group, but a pool of kind karpenter has no Auto Scaling group; leave it out"),
])  # fmt: skip
def test_a_key_that_does_not_fit_the_kind_is_refused_by_name(text: str, problem: str) -> None:
    [one] = problems(text)
    assert problem in one


@pytest.mark.parametrize(("pools", "problem"), [
    ("{GPU_1: {kind: karpenter}}", "pools.GPU_1: makes the NodePool x-GPU_1, but Kubernetes takes a to z"),
    ("{g-pu: {kind: karpenter}, gpu: {kind: karpenter}}",
     "pools.gpu: makes the NodePool x-gpu, but for - that of pool g-pu; give the pool another name"),
    ("{%s: {kind: karpenter}}" % ("a" * 40), "which is longer than 63 characters; shorten the pool's name"),
])  # fmt: skip
def test_the_names_of_node_pools_are_those_of_kubernetes(pools: str, problem: str) -> None:
    found = parse(f"name: {'x' if 'a' * 40 not in pools else 'b' * 40}\n{KARPENTER}pools: {pools}")
    assert not isinstance(found, Lab)
    [one] = [f"{each.key}: {each.text}" for each in found]
    assert problem in one


@pytest.mark.parametrize("name", [*launch_bar.POLICIES, f"b-{launch_bar.CLAIMS_STAY}"])
def test_no_node_pool_that_the_lab_creates_has_the_name_of_a_policy(name: str) -> None:
    """The one that begins with `b-` is a policy of a lab x-b, which adopts a NodePool of the same cluster."""
    problem = (
        f"pools.{name}: makes objects with the name x-{name} in Kubernetes, which is that of an admission policy of a"
        " lab; give the pool another name"
    )

    assert problems(f"{KARPENTER}pools: {{{name}: {{kind: karpenter}}}}") == [problem]
    assert problems(f"{EXISTING}pools: {{{name}: {{kind: karpenter, existing: gpu}}}}") == []
    assert problems(f"pools: {{{name}: {{}}}}") == []


def test_the_objects_of_an_adopted_node_pool_have_a_name_of_kubernetes() -> None:
    problem = (
        "pools.GPU_1: makes objects with the name x-GPU_1 in Kubernetes, which takes a to z, 0 to 9, and - and ."
        " within; give the pool or the lab another name"
    )
    assert problems(f"{EXISTING}pools: {{GPU_1: {{kind: karpenter, existing: gpu}}}}") == [problem]


def test_every_policy_of_a_lab_has_one_of_these_names() -> None:
    documents = launch_bar.documents(lab(of_karpenter()))
    policies = [each["metadata"] for each in documents if each["kind"] == "ValidatingAdmissionPolicy"]
    assert [each["name"] for each in policies] == [f"x-{name}" for name in launch_bar.POLICIES]  # type: ignore[index]


def test_a_node_pool_is_adopted_by_one_pool_only() -> None:
    pools = "{a: {kind: karpenter, existing: gpu}, b: {kind: karpenter, existing: gpu}, c: {existing: other}}"
    assert problems(f"{EXISTING}pools: {pools}") == [
        "pools.b.existing: names the NodePool gpu, like pool a; name each NodePool once"
    ]


def test_check_tells_the_kind_its_image_and_what_it_cannot_do() -> None:
    karpenter, auto = lab(of_karpenter()), lab(of_auto_mode())

    assert "  Karpenter: 1.14.3" in summary(karpenter)
    assert any(f"x g5.xlarge by Karpenter with {ALIAS}, 1.237 USD" in line for line in summary(karpenter))
    assert not list(notes(karpenter))
    assert "  EKS Auto Mode: on, without its built-in node pools" in summary(auto)
    assert any(
        "by EKS Auto Mode, 1.33349 USD for a node and hour with Auto Mode's fee" in line
        for line in summary(auto)
    )
    [note] = notes(auto)
    assert "kind auto-mode is experimental" in note


@pytest.mark.parametrize("key", [
    "eks:eks-cluster-name",
    "karpenter.k8s.aws/ec2nodeclass",
    "karpenter.sh/nodeclaim",
    "karpenter.sh/nodepool",
    "kubernetes.io/cluster/x",
])  # fmt: skip
def test_a_tag_that_karpenter_writes_itself_is_not_the_lab_s(key: str) -> None:
    tags = f'\ntags: {{"{key}": y}}'

    assert problems(f"{of_karpenter()}{tags}") == [
        f'tags."{key}": is a tag that Karpenter writes itself and refuses in a NodeClass; write another key'
    ]
    assert problems(f"pools: {{gpu: {{}}}}{tags}") == []


@pytest.mark.parametrize(("text", "problem"), [
    (f"{EXISTING}pools: {{a: {{existing: gpu}}, b: {{kind: karpenter, existing: gpu}}}}",
     "pools.b.existing: is the NodePool gpu, and pool a is a node group of that name; leave one of them out"),
    (f"{KARPENTER}pools: {{gpu: {{}}, ng-gpu: {{kind: karpenter}}}}",
     "pools.ng-gpu: is the NodePool x-ng-gpu, and pool gpu is a node group of that name; leave one of them out"),
])  # fmt: skip
def test_a_node_group_and_a_node_pool_have_two_names(text: str, problem: str) -> None:
    assert problems(text) == [problem]
