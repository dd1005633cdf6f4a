"""Pools that are NodePools of Karpenter or of EKS Auto Mode: which keys fit, and what the cluster must have."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from cli.plan.check import notes, summary
from lamplighter.data import instance_types, prices, versions
from lamplighter.domain.capacity.node_pool import launch_bar
from lamplighter.domain.planner.simulation import simulate
from lamplighter.lab.model import Lab
from lamplighter.labfile.file import parse

KARPENTER = "cluster: {karpenter: {version: 1.14.3}}\n"
AUTO = "cluster: {auto_mode: {enabled: true}}\ngpu_operator: {enabled: false}\n"
EXISTING = "cluster: {existing: theirs, karpenter: {existing: true}}\n"
ALIAS = "al2023@v20260724"


def said(text: str) -> list[str]:
    found = parse(f"name: x\n{text}")
    return [] if isinstance(found, Lab) else [f"{one.key}: {one.text}" for one in found]


def lab(text: str) -> Lab:
    found = parse(f"name: x\n{text}")
    assert isinstance(found, Lab), found
    return found


def of_karpenter(keys: str = "") -> str:
    return f"{KARPENTER}pools: {{gpu: {{kind: karpenter{keys and ', '}{keys}}}}}"


def of_auto_mode(keys: str = "") -> str:
    return f"{AUTO}pools: {{gpu: {{kind: auto-mode{keys and ', '}{keys}}}}}"


@pytest.mark.parametrize(
    "text",
    [
        of_karpenter(),
        of_karpenter("image: bottlerocket@v1.62.0, drain: 25m"),
        of_karpenter("instance_type: g5g.xlarge"),
        of_auto_mode(),
        of_auto_mode("instance_type: g6e.48xlarge, efa: true, drain: 5m"),
        f"{EXISTING}pools: {{gpu: {{kind: karpenter, existing: team.gpu}}}}",
        "cluster: {existing: theirs, auto_mode: {}}\npools: {gpu: {kind: auto-mode, existing: gpu}}",
        f"{KARPENTER}pools: {{gpu: {{kind: karpenter}}, groups: {{}}}}",
        "cluster: {auto_mode: {switch_off: true}}\ngpu_operator: {enabled: false}\npools: {gpu: {kind: auto-mode}}",
    ],
)
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


@pytest.mark.parametrize(
    ("text", "image", "ami_type", "stack"),
    [
        (of_karpenter(), ALIAS, "AL2023_x86_64_NVIDIA", "operator"),
        (of_karpenter("instance_type: g5g.xlarge"), ALIAS, "AL2023_ARM_64_NVIDIA", "operator"),
        (
            of_karpenter("image: bottlerocket@v1.62.0"),
            "bottlerocket@v1.62.0",
            "BOTTLEROCKET_x86_64_NVIDIA",
            "built-in",
        ),
        (of_auto_mode(), None, "BOTTLEROCKET_x86_64_NVIDIA", "built-in"),
    ],
)
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


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("pools: {gpu: {drain: 5m}}", "pools.gpu.drain: is only for a pool of kind karpenter or auto-mode"),
        ("pools: {gpu: {efa: true}}", "pools.gpu.efa: is only for a pool of kind auto-mode; leave it out"),
        (f"pools: {{gpu: {{image: {ALIAS}}}}}", "an alias of Karpenter; write the id of an image such as"),
        (
            f"pools: {{gpu: {{ami_type: CUSTOM, image: {ALIAS}}}}}",
            f"pools.gpu.image: is {ALIAS}, an alias of Karpenter",
        ),
        (
            "cluster: {existing: theirs}\npools: {gpu: {existing: team.gpu}}",
            'pools.gpu.existing: is "team.gpu", write the node group\'s name',
        ),
        (
            of_karpenter("efa: true, instance_type: g5.8xlarge"),
            "pools.gpu.efa: is only for a pool of kind auto-mode",
        ),
        (
            of_karpenter("ami_type: AL2023_x86_64_NVIDIA"),
            (
                "pools.gpu.ami_type: is AL2023_x86_64_NVIDIA, a type of a node group, and Karpenter takes an alias;"
                f" write image: {ALIAS} in its place"
            ),
        ),
        (
            of_karpenter("image_family: al2023"),
            "pools.gpu.image_family: is for a node group's own image; leave it out",
        ),
        (
            of_karpenter("image: al2023@latest"),
            "is al2023@latest, which moves while the lab runs; write a version",
        ),
        (of_karpenter("image: al2023"), 'is "al2023", write the id of an image'),
        (of_karpenter("image: al2@v20251126"), "is al2@v20251126, no alias of AL2023 or Bottlerocket"),
        (of_karpenter("image: al2023@v1"), "is al2023@v1, no alias of AL2023 or Bottlerocket"),
        (
            of_karpenter("image: ami-00aec23bbe1278680"),
            "another image may have no kubelet and never join, as Deep Learning AMIs; write al2023@v20260724",
        ),
        (
            of_karpenter("image: bottlerocket@v1.62.0, packages: [htop]"),
            "pools.gpu.packages: are htop, but Bottlerocket has no package manager",
        ),
        (of_karpenter("drain: 26m"), "pools.gpu.drain: is 26m, for which a pod could keep a node"),
        (
            of_karpenter('labels: {karpenter.sh/x: "1"}'),
            "is kept for Karpenter, which refuses it on a NodePool",
        ),
        (of_karpenter("zone_index: 3"), "pools.gpu.zone_index: is 3, but cluster.zones counts from 0 to 2"),
        (of_karpenter("instance_type: m5.large"), "which has no NVIDIA GPU"),
        (
            of_karpenter("max_nodes: 3") + "\nquotas: {g_and_vt_vcpus: 8}",
            "pools.gpu.max_nodes: is 3, which needs 12 vCPUs of g5.xlarge, but quotas.g_and_vt_vcpus is 8",
        ),
        (
            of_karpenter().replace("1.14.3}", '1.14.3}, kubernetes_version: "1.29"')
            + "\ngpu_operator: {enabled: false}",
            "pools.gpu.kind: is karpenter, whose launch bar is a ValidatingAdmissionPolicy",
        ),
        (
            of_auto_mode(f"image: {ALIAS}"),
            "pools.gpu.image: is al2023@v20260724, but EKS Auto Mode chooses the image",
        ),
        (
            of_auto_mode("ami_type: BOTTLEROCKET_x86_64_NVIDIA"),
            "leave it out: EKS Auto Mode chooses the image",
        ),
        (
            of_auto_mode("packages: [htop]"),
            "pools.gpu.packages: are htop, but nodes of EKS Auto Mode have no package",
        ),
        (of_auto_mode("metadata_hop_limit: 3"), "is 3, but EKS Auto Mode sets it to 1; leave it out"),
        (of_auto_mode("efa: true"), "is true, but g5.xlarge has no EFA; write a type such as g5.8xlarge"),
        (
            of_auto_mode("efa: true, instance_type: g5g.xlarge"),
            "is true, but g5g.xlarge has no EFA; leave it out",
        ),
        (of_auto_mode("instance_type: g7.2xlarge"), "is g7.2xlarge, which EKS Auto Mode does not start"),
        (of_auto_mode("instance_type: p5.48xlarge"), "no price of p5.48xlarge with the fee of EKS Auto Mode"),
        (
            "cluster: {existing: theirs, auto_mode: {}}\npools: {gpu: {kind: auto-mode, existing: system}}",
            "pools.gpu.existing: is system, a built-in node pool of EKS Auto Mode, which starts no GPUs",
        ),
        (
            "cluster: {existing: theirs, auto_mode: {}}\npools: {gpu: {kind: auto-mode, existing: a, efa: true}}",
            "pools.gpu.efa: is for a NodePool that the lab creates",
        ),
        (
            "pools: {gpu: {kind: karpentr, drain: 2h, efa: true}}",
            'pools.gpu.kind: is "karpentr", write one of',
        ),
        (
            "cluster: {karpenter: {version: latest}}\npools: {gpu: {kind: karpenter}}",
            'cluster.karpenter.version: is "latest", write a version such as',
        ),
        (
            f"{EXISTING}pools: {{gpu: {{kind: karpenter, existing: gpu, auto_scaling_group: eks-x}}}}",
            "is for a node group, but a pool of kind karpenter has no Auto Scaling group; leave it out",
        ),
    ],
)
def test_a_key_that_does_not_fit_the_kind_is_refused_by_name(text: str, problem: str) -> None:
    [one] = said(text)

    assert problem in one


@pytest.mark.parametrize(
    ("cluster", "problem"),
    [
        (
            "{}",
            "pools.gpu.kind: is karpenter, but the cluster has none; write cluster: {karpenter: {version: 1.14.3}}",
        ),
        (
            "{karpenter: {version: 1.8.3}}",
            "cluster.karpenter.version: is 1.8.3, which supports Kubernetes 1.26 to 1.34, not 1.35; write 1.14.3",
        ),
        ('{karpenter: {version: 1.8.4}, kubernetes_version: "1.33"}', "is 1.8.4, which schedules wrongly"),
        (
            '{karpenter: {version: 1.8.3}, kubernetes_version: "1.33"}',
            "is 1.8.3, whose charts Lamplighter does not",
        ),
        (
            '{karpenter: {version: 1.5.2}, kubernetes_version: "1.33"}',
            "is 1.5.2, which has no NodePools of a fixed",
        ),
        ("{karpenter: {version: 1.15.1}}", "is 1.15.1, whose charts Lamplighter does not have; write 1.14.3"),
        (
            "{karpenter: {existing: true}}",
            "cluster.karpenter.existing: is true, but the lab creates the cluster",
        ),
        ("{karpenter: {role: theirs}}", "cluster.karpenter.role: names the role of an existing Karpenter"),
        ("{karpenter: {}, system_nodes: {nodes: 1}}", "is 1, but Karpenter has 2 pods, each on its own node"),
        (
            "{karpenter: {}, system_nodes: {instance_type: t3.small}}",
            "is t3.small, too small for Karpenter beside",
        ),
        (
            "{karpenter: {}, addons: [vpc-cni, kube-proxy]}",
            "which gives Karpenter its AWS permissions; add it",
        ),
        ("{karpenter: {}, auto_mode: {}}", "cluster.karpenter: is given beside auto_mode, but both bring"),
    ],
)
def test_the_cluster_must_have_a_karpenter_that_fits(cluster: str, problem: str) -> None:
    [one] = said(f"cluster: {cluster}\npools: {{gpu: {{kind: karpenter}}}}")

    assert problem in one


def test_a_kubernetes_that_no_chart_of_ours_supports_is_said() -> None:
    told = said('cluster: {karpenter: {}, kubernetes_version: "1.37"}\ngpu_operator: {enabled: false}')

    assert told == [
        (
            "cluster.karpenter.version: is 1.14.3, which supports Kubernetes 1.26 to 1.36, not 1.37; no version that"
            " Lamplighter has supports Kubernetes 1.37"
        )
    ]


@pytest.mark.parametrize(
    ("karpenter", "pool", "problem"),
    [
        (
            "{}",
            "existing: gpu",
            "cluster.karpenter: is to be installed, but nothing is installed in an existing",
        ),
        (
            "{existing: true, version: 1.14.3}",
            "existing: gpu",
            "cluster.karpenter.version: is given beside existing: true, but the lab does not install that Karpenter",
        ),
        (
            "{existing: true}",
            "max_nodes: 1",
            "pools.gpu: is not adopted, but nothing is created in an existing",
        ),
        ("{existing: true}", f"existing: gpu, image: {ALIAS}", "is only for a NodePool that the lab creates"),
    ],
)
def test_in_an_existing_cluster_karpenter_and_node_pools_exist_already(
    karpenter: str, pool: str, problem: str
) -> None:
    [one] = said(
        f"cluster: {{existing: theirs, karpenter: {karpenter}}}\npools: {{gpu: {{kind: karpenter, {pool}}}}}"
    )

    assert problem in one


@pytest.mark.parametrize(
    ("pools", "problem"),
    [
        (
            "{GPU_1: {kind: karpenter}}",
            "pools.GPU_1: makes the NodePool x-GPU_1, but Kubernetes takes a to z",
        ),
        (
            "{g-pu: {kind: karpenter}, gpu: {kind: karpenter}}",
            "pools.gpu: makes the NodePool x-gpu, but for - that of pool g-pu; give the pool another name",
        ),
        (
            "{%s: {kind: karpenter}}" % ("a" * 40),
            "which is longer than 63 characters; shorten the pool's name",
        ),
    ],
)
def test_the_names_of_node_pools_are_those_of_kubernetes(pools: str, problem: str) -> None:
    found = parse(f"name: {'x' if 'a' * 40 not in pools else 'b' * 40}\n{KARPENTER}pools: {pools}")

    assert not isinstance(found, Lab)
    [one] = [f"{each.key}: {each.text}" for each in found]
    assert problem in one


@pytest.mark.parametrize("name", launch_bar.POLICIES)
def test_no_node_pool_has_the_name_of_a_policy(name: str) -> None:
    problem = (
        f"pools.{name}: makes objects with the name x-{name} in Kubernetes, which is that of an admission policy of the"
        " lab; give the pool another name"
    )

    assert said(f"{KARPENTER}pools: {{{name}: {{kind: karpenter}}}}") == [problem]
    assert said(f"{EXISTING}pools: {{{name}: {{kind: karpenter, existing: gpu}}}}") == [problem]
    assert said(f"pools: {{{name}: {{}}}}") == []


def test_every_policy_of_a_lab_has_one_of_these_names() -> None:
    documents = launch_bar.documents(lab(of_karpenter()))
    policies = [each["metadata"] for each in documents if each["kind"] == "ValidatingAdmissionPolicy"]

    assert [each["name"] for each in policies] == [f"x-{name}" for name in launch_bar.POLICIES]  # type: ignore[index]


def test_a_node_pool_is_adopted_by_one_pool_only() -> None:
    pools = "{a: {kind: karpenter, existing: gpu}, b: {kind: karpenter, existing: gpu}, c: {existing: gpu}}"

    assert said(f"{EXISTING}pools: {pools}") == [
        "pools.b.existing: names the NodePool gpu, like pool a; name each NodePool once"
    ]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("gpu: {share: 4}", "gpu.share: shares the GPUs of pool gpu, but EKS Auto Mode announces them whole"),
        (
            "gpu: {sharing: {strategy: mps, replicas: 2}}",
            "gpu.sharing: shares the GPUs of pool gpu, but EKS Auto Mode announces them whole",
        ),
        (
            "guard: {longest_lease: 502h}",
            "its start and its last grace included; write at most 501h50m",
        ),
        (
            "device_plugin: {enabled: true}",
            "device_plugin.enabled: is true, but the image of every pool has its own",
        ),
    ],
)
def test_what_auto_mode_does_not_do_is_refused_by_name(more: str, problem: str) -> None:
    [one] = said(f"{of_auto_mode()}\n{more}")

    assert problem in one


def test_the_longest_grace_of_a_pool_decides_how_long_a_lease_may_be() -> None:
    pools = "pools: {a: {kind: auto-mode}, b: {kind: auto-mode, drain: 25m}}"

    [problem] = said(f"{AUTO}{pools}\nguard: {{longest_lease: 501h45m}}")

    assert problem.startswith("guard.longest_lease: is 501h45m")
    assert problem.endswith("write at most 501h35m")


def test_slices_are_refused_on_auto_mode() -> None:
    text = of_auto_mode("instance_type: p4d.24xlarge, price_per_hour: 30")

    assert said(f"{text}\ngpu: {{mig: 1g.5gb}}") == [
        "gpu.mig: cuts the GPUs of pool gpu, but EKS Auto Mode has no setting for it; leave it out"
    ]


def test_the_operator_has_nothing_to_do_in_a_lab_of_auto_mode() -> None:
    text = "cluster: {auto_mode: {}}\npools: {gpu: {kind: auto-mode}%s}"

    assert said(text % "") == [
        (
            "gpu_operator.enabled: is true, but every pool is of kind auto-mode, whose nodes bring driver and device"
            " plugin; write gpu_operator: {enabled: false}"
        )
    ]
    assert said(text % ", groups: {}") == []


@pytest.mark.parametrize(
    ("cluster", "pools", "problem"),
    [
        (
            "auto_mode: {}",
            "gpu: {kind: auto-mode}, b: {}",
            "is true, but pool b is of kind node-group: the cluster",
        ),
        (
            "auto_mode: {}, node_groups: {one: {}}",
            "gpu: {kind: auto-mode}",
            "is true, but cluster.node_groups are for other work",
        ),
        (
            "existing: c, auto_mode: {}",
            "gpu: {kind: auto-mode, existing: gpu}",
            "in a cluster that is not the lab's own",
        ),
    ],
)
def test_auto_mode_may_be_switched_off_only_in_a_cluster_that_is_nothing_but_the_lab(
    cluster: str, pools: str, problem: str
) -> None:
    off = cluster.replace("auto_mode: {}", "auto_mode: {switch_off: true}")

    [one] = said(f"cluster: {{{off}}}\ngpu_operator: {{enabled: false}}\npools: {{{pools}}}")

    assert one.startswith("cluster.auto_mode.switch_off: ")
    assert problem in one


def test_auto_mode_that_is_off_is_no_auto_mode() -> None:
    text = "cluster: {auto_mode: {enabled: false, switch_off: true}}\npools: {gpu: {kind: auto-mode}, b: {}}"

    assert said(text) == [
        "cluster.auto_mode.switch_off: is true, but EKS Auto Mode is not on; write enabled: true, or leave it out",
        "pools.gpu.kind: is auto-mode, but EKS Auto Mode is not on; write cluster: {auto_mode: {enabled: true}}",
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


def test_a_pool_of_auto_mode_needs_no_toleration_of_the_operator() -> None:
    taints = "taints: [{key: team, value: a}]"

    assert (
        said(f"cluster: {{auto_mode: {{}}}}\npools: {{gpu: {{kind: auto-mode, {taints}}}, groups: {{}}}}")
        == []
    )
    [problem] = said(of_karpenter(taints))
    assert "which the operator's pods do not tolerate" in problem


def test_check_tells_that_nothing_uses_karpenter() -> None:
    [note] = notes(lab(KARPENTER))

    assert "no pool is of kind karpenter" in note


def test_check_tells_what_an_adopted_karpenter_lacks() -> None:
    adopted = lab(f"{EXISTING}pools: {{gpu: {{kind: karpenter, existing: gpu}}}}")

    assert any("  pool gpu: NodePool gpu (karpenter), instance_type" in line for line in summary(adopted))
    [note] = notes(adopted)
    assert "the failsafe cannot lock launches" in note


def test_a_node_of_auto_mode_costs_its_instance_and_the_fee() -> None:
    fee = prices.auto_mode_fee("ap-northeast-2", "g5.xlarge")

    assert fee == Decimal("0.09649")
    assert lab(of_auto_mode()).price("gpu") == Decimal("1.237") + fee
    assert lab(of_karpenter()).price("gpu") == Decimal("1.237")
    assert lab(of_auto_mode("price_per_hour: 2")).price("gpu") == 2
    assert prices.auto_mode_fee("ap-northeast-2", "g5.xlarge", "EUR") is None


@pytest.mark.parametrize(("text", "amount"), [(of_karpenter(), "7.4220"), (of_auto_mode(), "8.0009")])
def test_a_simulation_counts_the_fee(text: str, amount: str) -> None:
    window = "windows: [{name: evening, days: daily, start: 20:00, end: 23:00}]"
    begins = datetime(2026, 3, 1, tzinfo=UTC)

    [cost] = simulate(lab(f"{text}\n{window}"), begins, begins + timedelta(days=1)).costs

    assert format(cost.cost.rounded(), "f") == amount


@pytest.mark.parametrize("region", prices.known_regions())
def test_a_fee_is_a_small_part_of_the_price_of_a_type_that_auto_mode_starts(region: str) -> None:
    fees = {kind: prices.auto_mode_fee(region, kind) for kind in instance_types.gpu_type_names()}

    assert {kind for kind, fee in fees.items() if fee is not None} >= {"g4dn.xlarge", "g5.xlarge"}
    for kind, fee in fees.items():
        if fee is not None:
            price = prices.on_demand(region, kind)
            assert price is not None
            assert Decimal("0.07") < fee / price < Decimal("0.09")
            assert not instance_types.not_in_auto_mode(kind)


def test_the_charts_that_we_have_fit_the_default_lab() -> None:
    charts = versions.karpenter_charts()

    assert Lab.model_validate({"name": "x", "cluster": {"karpenter": {}}}).cluster.karpenter is not None
    assert "1.14.3" in charts
    for version in charts:
        fit = versions.karpenter_fit(version)
        assert fit is not None
        assert fit.holds(Lab(name="x").cluster.kubernetes_version)
        assert versions.has_static_node_pools(version)
        assert not versions.is_bad_karpenter(version)
