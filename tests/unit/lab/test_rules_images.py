"""Images of pools, system nodes and node groups that are always on: what fits, and what is refused in one line."""

import pytest
from botocore.model import StringShape
from botocore.session import get_session

from cli.plan.check import notes, summary
from lamplighter.data import versions
from lamplighter.lab.model import Lab
from lamplighter.lab.nodes.images import CUSTOM
from lamplighter.labfile.file import parse
from tests.unit.lab.read_labs import lab, problems

DOCUMENT = """
cluster:
  node_groups:
    linux: {ami_type: BOTTLEROCKET_x86_64, instance_type: m5.large, min_nodes: 2, max_nodes: 4, nodes: 2, disk_gib: 20}
    windows: {ami_type: WINDOWS_FULL_2022_x86_64, min_nodes: 2, max_nodes: 2, nodes: 2, disk_gib: 80,
      taints: [{key: os, value: windows}]}
"""


def group(keys: str, more: str = "") -> str:
    return f"cluster: {{node_groups: {{one: {{{keys}}}}}{more}}}"


def test_every_image_type_of_eks_is_one_of_ours() -> None:
    of_eks = get_session().get_service_model("eks").shape_for("AMITypes")
    assert isinstance(of_eks, StringShape)
    assert {*versions.ami_types(), CUSTOM} == set(of_eks.enum)


@pytest.mark.parametrize("ami_type", versions.ami_types())
def test_a_node_group_takes_every_image_of_eks(ami_type: str) -> None:
    image = versions.ami_types()[ami_type]
    kind = "m7g.large" if image.architecture == "arm64" else "m5.large"
    version = ', kubernetes_version: "1.32"' if image.family == "al2" else ""

    found = lab(group(f"ami_type: {ami_type}, instance_type: {kind}", version)).cluster.node_groups["one"]

    assert (found.ami_type, found.family) == (ami_type, image.family)
    assert found.disk_gib == (50 if image.family == "windows" else 20)


@pytest.mark.parametrize("family", ["al2023", "al2", "bottlerocket", "windows"])
def test_an_image_of_yours_says_what_it_was_made_from(family: str) -> None:
    text = group(f"ami_type: CUSTOM, image: ami-0123456789abcdef0, image_family: {family}")
    found = lab(text.replace("}}}", '}}, kubernetes_version: "1.32"}'))
    assert found.cluster.node_groups["one"].family == family


def test_an_image_of_yours_is_amazon_linux_2023_unless_you_say_otherwise() -> None:
    pools = "pools: {gpu: {ami_type: CUSTOM, image: ami-0123456789abcdef0}}\n"
    system = "cluster: {system_nodes: {ami_type: CUSTOM, image: ami-01234567}}\n"

    found = lab(pools + system)

    assert (found.pools["gpu"].family, found.cluster.system_nodes.family) == ("al2023", "al2023")
    assert found.gpu_stack("gpu") == "operator"
    rocket = lab(pools.replace("def0", "def0, image_family: bottlerocket"))
    assert rocket.gpu_stack("gpu") == "built-in"


def test_the_groups_of_document_003_are_good_and_told() -> None:
    found = lab(DOCUMENT)

    assert [found.always_on_name(name) for name in found.cluster.node_groups] == ["x-linux", "x-windows"]
    assert "  node group x-linux: 2 nodes of m5.large with BOTTLEROCKET_x86_64, always on" in summary(found)
    assert not list(notes(found))
    assert Lab.from_json(found.to_json()) == found


@pytest.mark.parametrize(("keys", "told"), [
    ("{}", "x g5.xlarge, 1.237"),
    ("{ami_type: BOTTLEROCKET_x86_64_NVIDIA}",
     "with BOTTLEROCKET_x86_64_NVIDIA (bottlerocket, its own plugin announces the GPUs), 1.237"),
    ("{ami_type: AL2023_ARM_64_NVIDIA, instance_type: g5g.xlarge}",
     "x g5g.xlarge with AL2023_ARM_64_NVIDIA (al2023, arm64), 0."),
    ("{ami_type: CUSTOM, image: ami-0123456789abcdef0}", "x g5.xlarge with ami-0123456789abcdef0 (al2023), 1.237"),
])  # fmt: skip
def test_check_tells_an_image_that_is_not_the_default_and_what_differs_by_it(keys: str, told: str) -> None:
    [pool] = [line for line in summary(lab(f"pools: {{gpu: {keys}}}")) if line.startswith("  pool ")]
    assert told in pool


def test_a_lab_without_node_groups_is_written_as_before_there_were_any() -> None:
    assert "node_groups" not in Lab(name="x").to_json()
    assert "node_groups" in lab(DOCUMENT).to_json()


@pytest.mark.parametrize(("text", "problem"), [
    ("pools: {gpu: {ami_type: WINDOWS_FULL_2022_x86_64, disk_gib: 100}}",
     ("pools.gpu.ami_type: is for Windows, which has no image with the NVIDIA driver, so a pool of it would offer no"
      " GPU; write a type such as AL2023_x86_64_NVIDIA")),
    ("pools: {gpu: {ami_type: CUSTOM, image: ami-01234567, image_family: windows}}",
     ("pools.gpu.image_family: is for Windows, which has no image with the NVIDIA driver, so a pool of it would offer"
      " no GPU; write a type such as AL2023_x86_64_NVIDIA")),
    (("cluster: {existing: c}\npools: {gpu: {existing: n, instance_type: g5.xlarge, ami_type:"
      " WINDOWS_CORE_2022_x86_64}}"), ("pools.gpu.ami_type: is for Windows, which has no image with the NVIDIA driver,"
      " so a pool of it would offer no GPU; write a type such as AL2023_x86_64_NVIDIA")),
    (('cluster: {kubernetes_version: "1.32"}\npools: {gpu: {ami_type: AL2_x86_64_GPU, instance_type: g5g.xlarge,'
      ' price_per_hour: 1}}'),
     "pools.gpu.ami_type: is AL2_x86_64_GPU for x86_64, but g5g.xlarge is arm64; write AL2023_ARM_64_NVIDIA"),
    ("cluster: {system_nodes: {ami_type: WINDOWS_CORE_2025_x86_64, disk_gib: 50}}",
     ("cluster.system_nodes.ami_type: is for Windows, but the system nodes run CoreDNS and other add-ons, which need"
      " Linux; write a type such as AL2023_x86_64_STANDARD")),
    (group("ami_type: WINDOWS_FULL_2025_x86_64", ', kubernetes_version: "1.34"'),
     ("cluster.node_groups.one.ami_type: is WINDOWS_FULL_2025_x86_64, which EKS has for Kubernetes 1.35 and later, not"
      " for 1.34; write WINDOWS_FULL_2022_x86_64")),
    (group("ami_type: BOTTLEROCKET_X86"), ('cluster.node_groups.one.ami_type: is "BOTTLEROCKET_X86", no image type we'
      ' know; the nearest is BOTTLEROCKET_x86_64')),
    (group("ami_type: CUSTOM"), ("cluster.node_groups.one.ami_type: is CUSTOM, but no image is named; write image:"
      " ami-0123456789abcdef0, or an image type of EKS")),
    (group("image: ami-01234567"), ("cluster.node_groups.one.image: is ami-01234567, but ami_type is"
      " AL2023_x86_64_STANDARD; write ami_type: CUSTOM, or leave it out")),
    (group("ami_type: CUSTOM, image: mine"),
     'cluster.node_groups.one.image: is "mine", write the id of an image such as ami-0123456789abcdef0'),
    ("pools: {gpu: {image_family: bottlerocket}}", ("pools.gpu.image_family: is bottlerocket, but ami_type is"
      " AL2023_x86_64_NVIDIA; write ami_type: CUSTOM, or leave it out")),
    ("cluster: {existing: c}\npools: {gpu: {existing: n, instance_type: g5.xlarge, image: ami-01234567}}",
     ("pools.gpu.image: is only for a node group that the lab creates: an existing one has its image already; leave it"
      " out")),
    (group("ami_type: WINDOWS_FULL_2022_x86_64, instance_type: m7g.large"),
     ("cluster.node_groups.one.instance_type: is m7g.large, which is arm64, but WINDOWS_FULL_2022_x86_64 is for x86_64"
      " only; write a type of x86_64 such as m5.large")),
    (group("ami_type: BOTTLEROCKET_x86_64_FIPS, instance_type: m7g.large"),
     ("cluster.node_groups.one.ami_type: is BOTTLEROCKET_x86_64_FIPS for x86_64, but m7g.large is arm64; write"
      " BOTTLEROCKET_ARM_64_FIPS")),
    (group("ami_type: WINDOWS_FULL_2022_x86_64, instance_type: m4.large"),
     ("cluster.node_groups.one.instance_type: is m4.large, which EKS does not start Windows on; write a newer type such"
      " as m5.large")),
    (group("ami_type: WINDOWS_FULL_2022_x86_64, disk_gib: 49"),
     "cluster.node_groups.one.disk_gib: is 49, but Windows needs 50 GiB; write 50 or more"),
    (group("ami_type: WINDOWS_FULL_2022_x86_64, max_pods: 20"), ("cluster.node_groups.one.max_pods: is 20, but a"
      " Windows node has as many pods as its network interface has addresses; leave it out")),
    (group("ami_type: WINDOWS_FULL_2022_x86_64, packages: [htop]"), ("cluster.node_groups.one.packages: are htop, but"
      " Windows has no package manager; leave them out, or take an AL2023 type")),
    ("pools: {gpu: {ami_type: BOTTLEROCKET_x86_64_NVIDIA, packages: [htop, tree]}}",
     ("pools.gpu.packages: are htop, tree, but Bottlerocket has no package manager; leave them out, or take an AL2023"
      " type")),
    (group("ami_type: AL2_x86_64"), ("cluster.node_groups.one.ami_type: is AL2_x86_64, which EKS has for Kubernetes"
      " 1.32 and earlier, not for 1.35; write an AL2023 type")),
    (group("ami_type: CUSTOM, image: ami-01234567, image_family: al2"),
     ("cluster.node_groups.one.image_family: is al2, but Amazon Linux 2 ended with Kubernetes 1.32, and the lab has"
      " 1.35; build the image from AL2023")),
    (group("instance_type: g5.xlarge"), ("cluster.node_groups.one.instance_type: is g5.xlarge, which has an NVIDIA GPU,"
      " and nothing would close this group; make it a pool, or write a type such as m5.large")),
    # Of an earlier generation, newer than our table, with a GPU of another maker; then with a part of a GPU.
    *((group(f"instance_type: {kind}"), (f"cluster.node_groups.one.instance_type: is {kind}, of a family with GPUs, and"
       " nothing would close this group; make it a pool, or write a type such as m5.large"))
      for kind in ("p3.2xlarge", "g3s.xlarge", "p6e-gb200.36xlarge", "g4ad.xlarge")),
    *((group(f"instance_type: {kind}"), (f"cluster.node_groups.one.instance_type: is {kind}, which has an NVIDIA"
       " GPU, and nothing would close this group; make it a pool, or write a type such as m5.large"))
      for kind in ("g6f.large", "gr6f.4xlarge")),
    ("cluster: {system_nodes: {instance_type: g5.xlarge}}", ("cluster.system_nodes.instance_type: is g5.xlarge, which"
      " has an NVIDIA GPU, and nothing would close this group; make it a pool, or write a type such as m5.large")),
    ('pools: {gpu: {instance_type: g4ad.xlarge, price_per_hour: "1"}}',
     "pools.gpu.instance_type: is g4ad.xlarge, which has no NVIDIA GPU; write a type such as g5.xlarge"),
    (group("min_nodes: 3"), "cluster.node_groups.one.nodes: is 2, write a number from min_nodes 3 to max_nodes 4"),
    ("cluster: {node_groups: {ng-gpu: {}}}", ("cluster.node_groups.ng-gpu: makes the node group x-ng-gpu, but for case,"
      " - and _ that of pool gpu; write another name")),
    ("cluster: {node_groups: {one-: {}}}", ("cluster.node_groups.one-: makes the node group x-one-, and no label of a"
      " node may end so; end it with a letter or digit")),
    ("pools: {gpu_: {}}",
     "pools.gpu_: makes the node group x-ng-gpu_, and no label of a node may end so; end it with a letter or digit"),
    ("cluster: {node_groups: {NG_1: {}}}", ("cluster.node_groups.NG_1: makes the node group x-NG_1, but for case, - and"
      " _ that of the system nodes; write another name")),
    ("cluster: {existing: c, node_groups: {one: {}}}\npools: {gpu: {existing: n, instance_type: g5.xlarge}}",
     "cluster.node_groups: are to be created, but nothing is created in an existing cluster; leave them out"),
    (group(f"taints: [{', '.join(f'{{key: k{number}}}' for number in range(51))}]"),
     "cluster.node_groups.one.taints: are 51, EKS takes at most 50"),
    # By the first of them the guard would take the group's nodes for those of the pool.
    *((group(f"labels: {{{key}: x}}"), (f'cluster.node_groups.one.labels."{key}": is kept for EKS and Kubernetes, which'
       " refuse it on a node group; write a prefix of your own"))
      for key in ("eks.amazonaws.com/nodegroup", "node-role.kubernetes.io/worker", "k8s.io/a")),
    (group("taints: [{key: a, value: b}, {key: a, value: b, effect: NoExecute}, {key: a, value: c}]"),
     'cluster.node_groups.one.taints.2: is "a" with NoSchedule for a second time; a node has one value for both'),
    # The start script would run them, take them for options, or end the part of the MIME document.
    *((group(f"packages: [htop, {written}]"),
       f"cluster.node_groups.one.packages.1: is {written}, write the name of a package such as htop")
      for written in ('"htop; reboot"', '"$(id)"', '"--nogpgcheck"', '"a\\n--b--"', '""')),
    (group("labels: {a b: c}"), ('cluster.node_groups.one.labels."a b": has the key "a b", write at most 63 letters and'
      ' digits, and - _ . within, with a prefix/ or without')),
])  # fmt: skip
def test_what_does_not_fit_is_refused_in_one_line(text: str, problem: str) -> None:
    assert problems(text) == [problem]


def test_a_long_name_is_refused() -> None:
    found = parse(f"name: {'l' * 40}\ncluster: {{node_groups: {{{'g' * 23}: {{}}}}}}")
    assert isinstance(found, list)
    assert "longer than 63 characters" in found[0].text


def test_the_packages_of_the_default_are_no_mistake_where_nothing_installs_them() -> None:
    """A lab of today with Bottlerocket stays good, and so does what `check --json` writes of it."""
    assert problems("pools: {gpu: {ami_type: BOTTLEROCKET_x86_64_NVIDIA}}") == []


def test_the_end_of_amazon_linux_2_is_said_once() -> None:
    old = (
        'cluster: {kubernetes_version: "1.32", system_nodes: {ami_type: AL2_x86_64}}\n'
        "pools: {gpu: {ami_type: AL2_x86_64_GPU}}\n"
    )

    assert list(notes(lab(old))) == [
        (
            "AWS ended Amazon Linux 2 for EKS on 2025-11-26: cluster.system_nodes and pools.gpu get no new images, and"
            " Kubernetes 1.33 has none; move to an AL2023 type before you upgrade"
        )
    ]


def test_what_surprises_is_told() -> None:
    driver = list(notes(lab(group("ami_type: BOTTLEROCKET_x86_64_NVIDIA"))))
    assert driver == ["node group one has an image with the NVIDIA driver, but m5.large has no GPU"]

    [windows] = notes(lab(group("ami_type: WINDOWS_CORE_2022_x86_64")))
    assert "runs Windows without a taint" in windows
    assert not list(notes(lab(group("ami_type: WINDOWS_CORE_2022_x86_64, taints: [{key: os}]"))))
