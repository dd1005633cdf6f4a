"""The cluster's Karpenter: the version that fits, an existing one, and what `check` tells of it."""

import pytest

from cli.plan.check import notes, summary
from lamplighter.data import versions
from lamplighter.domain.capacity.node_pool.roles import launching_role, launching_role_path
from lamplighter.lab.model import Lab
from tests.unit.lab.read_labs import ALIAS, EXISTING, KARPENTER, lab, problems


@pytest.mark.parametrize(("cluster", "problem"), [
    ("{}", "pools.gpu.kind: is karpenter, but the cluster has none; write cluster: {karpenter: {version: 1.14.3}}"),
    ("{karpenter: {version: 1.8.3}}",
     "cluster.karpenter.version: is 1.8.3, which supports Kubernetes 1.26 to 1.34, not 1.35; write 1.14.3"),
    ('{karpenter: {version: 1.8.4}, kubernetes_version: "1.33"}', "is 1.8.4, which schedules wrongly"),
    ('{karpenter: {version: 1.8.3}, kubernetes_version: "1.33"}', "is 1.8.3, whose charts Lamplighter does not"),
    ('{karpenter: {version: 1.5.2}, kubernetes_version: "1.33"}', "is 1.5.2, which has no NodePools of a fixed"),
    ("{karpenter: {version: 1.15.1}}", "is 1.15.1, whose charts Lamplighter does not have; write 1.14.3"),
    ("{karpenter: {existing: true}}", "cluster.karpenter.existing: is true, but the lab creates the cluster"),
    ("{karpenter: {role: theirs}}", "cluster.karpenter.role: names the role of an existing Karpenter"),
    ("{karpenter: {}, system_nodes: {nodes: 1}}", "is 1, but Karpenter has 2 pods, each on its own node"),
    ("{karpenter: {}, system_nodes: {instance_type: t3.small}}", "is t3.small, too small for Karpenter beside"),
    ("{karpenter: {}, addons: [vpc-cni, kube-proxy]}", "which gives Karpenter its AWS permissions; add it"),
    ("{karpenter: {}, auto_mode: {}}", "cluster.karpenter: is given beside auto_mode, but both bring"),
])  # fmt: skip
def test_the_cluster_must_have_a_karpenter_that_fits(cluster: str, problem: str) -> None:
    [one] = problems(f"cluster: {cluster}\npools: {{gpu: {{kind: karpenter}}}}")
    assert problem in one


def test_a_kubernetes_that_no_chart_of_ours_supports_is_said() -> None:
    told = problems('cluster: {karpenter: {}, kubernetes_version: "1.37"}\ngpu_operator: {enabled: false}')

    assert told == [
        (
            "cluster.karpenter.version: is 1.14.3, which supports Kubernetes 1.26 to 1.36, not 1.37; no version that"
            " Lamplighter has supports Kubernetes 1.37"
        )
    ]


@pytest.mark.parametrize(("karpenter", "pool", "problem"), [
    ("{}", "existing: gpu", "cluster.karpenter: is to be installed, but nothing is installed in an existing"),
    ("{existing: true, version: 1.14.3}", "existing: gpu",
     "cluster.karpenter.version: is given beside existing: true, but the lab does not install that Karpenter"),
    ("{existing: true}", "max_nodes: 1", "pools.gpu: is not adopted, but nothing is created in an existing"),
    ("{existing: true}", f"existing: gpu, image: {ALIAS}", "is only for a NodePool that the lab creates"),
])  # fmt: skip
def test_in_an_existing_cluster_karpenter_and_node_pools_exist_already(
    karpenter: str, pool: str, problem: str
) -> None:
    [one] = problems(
        f"cluster: {{existing: theirs, karpenter: {karpenter}}}\npools: {{gpu: {{kind: karpenter, {pool}}}}}"
    )
    assert problem in one


def test_check_tells_that_nothing_uses_karpenter() -> None:
    [note] = notes(lab(KARPENTER))
    assert "no pool is of kind karpenter" in note


def test_check_tells_what_an_adopted_karpenter_lacks() -> None:
    adopted = lab(f"{EXISTING}pools: {{gpu: {{kind: karpenter, existing: gpu}}}}")
    assert any("  pool gpu: NodePool gpu (karpenter), instance_type" in line for line in summary(adopted))
    [note] = notes(adopted)
    assert "the failsafe cannot lock launches" in note


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


@pytest.mark.parametrize(
    "role", ["*", "KarpenterRole?", "arn:aws:iam::111122223333:role/theirs", "/theirs", "a//b"]
)
def test_the_role_of_an_existing_karpenter_is_a_name_and_no_pattern(role: str) -> None:
    cluster = f"{{existing: theirs, karpenter: {{existing: true, role: '{role}'}}}}"
    [one] = problems(f"cluster: {cluster}\npools: {{gpu: {{kind: karpenter, existing: gpu}}}}")
    assert one.startswith("cluster.karpenter.role: ")
    assert "write a role's name such as KarpenterControllerRole" in one


def test_the_path_of_that_role_is_in_its_arn_and_not_in_its_name() -> None:
    role = "{existing: theirs, karpenter: {existing: true, role: team/gpu/Karpenter}}"
    found = lab(f"cluster: {role}\npools: {{gpu: {{kind: karpenter, existing: gpu}}}}")
    assert launching_role(found, "gpu") == "Karpenter"
    assert launching_role_path(found, "gpu") == "team/gpu/Karpenter"
