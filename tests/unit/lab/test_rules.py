"""What is refused before anything is built, because the parts of a lab do not fit each other."""

import pytest

from lamplighter.lab.model import Lab
from lamplighter.labfile.file import parse
from tests.unit.calendar.named_windows import unnamed

TOLERANT = """\
gpu_operator:
  values:
    daemonsets: {tolerations: [{operator: Exists}]}
    node-feature-discovery: {worker: {tolerations: [{operator: Exists}]}}
"""


def refusals(text: str) -> list[str]:
    found = parse("name: x\n" + text, "f")
    return [] if isinstance(found, Lab) else [f"{problem.key}: {unnamed(problem.text)}" for problem in found]


def windows(*rests: str, lab: str = "") -> list[str]:
    lines = "".join(f"- {{name: w{number}, {rest}}}\n" for number, rest in enumerate(rests))
    return refusals(f"{lab}\nwindows:\n{lines}")


# --- windows -------------------------------------------------------------------------------------


def test_a_problem_of_a_window_names_it() -> None:
    text = "name: x\nwindows:\n- {name: evening, days: mon, start: 10:00, end: 11:00, nodes: 3, pool: gup}\n"
    found = parse(text, "f")
    assert not isinstance(found, Lab)
    assert [problem.text for problem in found] == [
        'is "gup", which is no pool of this lab; the nearest is gpu (window evening)'
    ]
    wrong = parse("name: x\nwindows: [{name: evening, days: mon, start: 9, end: 11:00}]\n", "f")
    assert not isinstance(wrong, Lab)
    assert all("evening" in problem.text for problem in wrong)


@pytest.mark.parametrize("name", ["day", "a", "lab", "x.y", "w"])
def test_a_problem_names_its_window_even_if_the_text_has_that_word(name: str) -> None:
    found = parse(f"name: x\nwindows: [{{name: {name}, days: sun-fri, start: 10:00, end: 11:00}}]\n", "f")
    assert not isinstance(found, Lab)
    assert [problem.text.endswith(f"(window {name})") for problem in found] == [True]


@pytest.mark.parametrize(("zone", "cities"), [
    ("IST", "Asia/Jerusalem or Asia/Kolkata or Europe/Dublin"),
    ("pt", "America/Los_Angeles"),
    ("GMT+9", "Asia/Seoul"),
    ("utc-5", "America/New_York"),
    ("utc", "UTC"),
    ("UTC+05:30", "Asia/Kolkata"),
    ("Seoul", "Asia/Seoul"),
    ("new york", "America/New_York"),
    ("Asia/Tokio", "Asia/Tokyo"),
    ("Slab", "Asia/Seoul"),
])  # fmt: skip
def test_a_wrong_zone_is_refused_with_the_zone_of_a_city(zone: str, cities: str) -> None:
    text = f'time_zone: is "{zone}", which is no zone of the IANA list; write a name such as {cities}'
    assert refusals(f"time_zone: {zone}") == [text]


MONDAYS = "days: mon, start: 10:00, end: 11:00"


@pytest.mark.parametrize(("rest", "lab", "problems"), [
    ("start: 10:00, end: 11:00", "", ["windows.0: has neither days nor dates nor a calendar, write one of them"]),
    ("days: mon, dates: 2026-01-01, start: 10:00, end: 11:00", "",
     ["windows.0.dates: is given beside days, keep one of the two"]),
    ("days: mon, start: 10:00, end: 10:00", "", ["windows.0.end: is 10:00, like start"]),
    ("days: mon, start: 00:00, end: 24:00", "guard: {longest_lease: 24h}", []),
    ("days: mon, start: 20:00, end: 04:00", "", []),
    ("days: mon, start: 20:00, end: 04:01", "", ["windows.0.end: window w0 lasts 8h1m; longest_lease allows 8h"]),
    (f"{MONDAYS}, from: 2026-12-01, until: 2026-11-30", "",
     [("windows.0.until: is 2026-11-30, before from (2026-12-01), so window w0 would never open; write a later day")]),
    (f"{MONDAYS}, from: 2026-12-01, until: 2026-12-01", "", []),
    (f"{MONDAYS}, pool: gup", "", ['windows.0.pool: is "gup", which is no pool of this lab; the nearest is gpu']),
    (f"{MONDAYS}, nodes: 3", "", ["windows.0.nodes: is 3, more than pool gpu may have; write at most 2"]),
    (MONDAYS, "pools: {a: {}, b: {}}", ["windows.0.pool: is left out, but the lab has 2 pools; write one of a, b"]),
])  # fmt: skip
def test_a_window_opens_some_time_on_a_pool_of_the_lab(rest: str, lab: str, problems: list[str]) -> None:
    found = windows(rest, lab=lab)
    assert [one[: len(problem)] for one, problem in zip(found, problems, strict=True)] == problems


def test_window_names_are_unique() -> None:
    window = "- {name: w, days: mon, start: 10:00, end: 11:00}\n"
    assert refusals(f"windows:\n{window}{window}") == [
        'windows.1.name: is "w", like a window before it; write another name'
    ]


@pytest.mark.parametrize("zone", ["Asia/seoul", "Mars/Base", "../etc/passwd", "", "+09:00"])
def test_zones_are_of_the_iana_list(zone: str) -> None:
    assert "no zone of the IANA list" in refusals(f'time_zone: "{zone}"')[0]
    assert "no zone" in windows(f'days: mon, start: 10:00, end: 11:00, time_zone: "{zone}"')[0]


# --- money ---------------------------------------------------------------------------------------


def test_a_price_is_known_or_stated() -> None:
    assert "state what a node costs" in refusals("region: eu-north-1")[0]
    assert "state what a node costs" in refusals("guard: {budget: {currency: EUR}}")[0]
    assert refusals("guard: {budget: {currency: EUR}}\npools: {gpu: {price_per_hour: 1}}") == []
    assert "in USD" in refusals("pools: {gpu: {instance_type: g99.xlarge}}")[0]
    assert refusals("pools: {gpu: {instance_type: g99.xlarge, price_per_hour: 1}}") == []


def test_the_default_lease_is_within_the_longest() -> None:
    assert refusals("guard: {longest_lease: 2h, default_lease: 3h}")[0].startswith(
        "guard.default_lease: is 3h"
    )


# --- the cluster ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("region", "partition"), [
    ("us-gov-west-1", "aws-us-gov"), ("cn-north-1", "aws-cn"), ("us-iso-east-1", "aws-iso"),
    ("us-isob-east-1", "aws-iso-b"), ("eu-isoe-west-1", "aws-iso-e"), ("us-isof-south-1", "aws-iso-f"),
    ("eusc-de-east-1", "aws-eusc"),
])  # fmt: skip
def test_a_region_of_another_partition_is_refused(region: str, partition: str) -> None:
    """IAM there takes no `arn:aws:`, which the permissions of a lab begin with."""
    text = f'region: is "{region}", in partition {partition}, and a lab works only in partition aws'
    assert refusals(f"region: {region}") == [f"{text}; write a region such as ap-northeast-2"]


@pytest.mark.parametrize("arn", [
    "organisation-boundary", "arn:aws:iam::123456789012:role/theirs", "arn:aws:iam::123456789012:policy/*",
    "arn:aws:iam::1234:policy/theirs", "arn:aws-cn:iam::123456789012:policy/theirs",
])  # fmt: skip
def test_a_permissions_boundary_is_a_managed_policy(arn: str) -> None:
    example = "arn:aws:iam::123456789012:policy/organisation-boundary"
    text = f'permissions_boundary: is "{arn}", write the ARN of a managed policy such as {example}'
    assert refusals(f"permissions_boundary: {arn}") == [text]
    for policy in ("123456789012:policy/team/theirs", "aws:policy/PowerUserAccess"):
        assert refusals(f"permissions_boundary: arn:aws:iam::{policy}") == []


@pytest.mark.parametrize(("text", "key"), [
    ("region: ap-northeast-9", "region"),
    ("cluster: {zones: [us-east-1a, ap-northeast-2b, ap-northeast-2c]}", "cluster.zones.0"),
    ("cluster: {zones: [ap-northeast-2a, ap-northeast-2a, ap-northeast-2c]}", "cluster.zones.1"),
    ("cluster: {vpc: {cidr: 192.168.0.0}}", "cluster.vpc.cidr"),
    ("cluster: {vpc: {cidr: 192.168.0.1/16}}", "cluster.vpc.cidr"),
    ("cluster: {vpc: {cidr: 192.0.0.0/8}}", "cluster.vpc.cidr"),
    ("cluster: {vpc: {public_subnets: [10.0.0.0/22, 192.168.4.0/22, 192.168.8.0/22]}}", "cluster.vpc.public_subnets.0"),
    ("cluster: {vpc: {public_subnets: [192.168.4.0/22, 192.168.5.0/24, 192.168.8.0/22]}}",
     "cluster.vpc.public_subnets.1"),
    ("cluster: {vpc: {private_subnets: [192.168.0.0/22, 192.168.16.0/22, 192.168.20.0/22]}}",
     "cluster.vpc.private_subnets.0"),
    ("cluster: {vpc: {private_subnets: [192.168.12.0/22]}}", "cluster.vpc.private_subnets"),
    ("cluster: {system_nodes: {nodes: 5}}", "cluster.system_nodes.nodes"),
    ("cluster: {system_nodes: {instance_type: t4g.medium}}", "cluster.system_nodes.ami_type"),
    ("cluster: {kubernetes_version: 1.36}", "gpu_operator.version"),
    ("gpu_operator: {version: v25.10.1}", "gpu_operator.version"),
    ("pools: {gpu: {zone_index: 3}}", "pools.gpu.zone_index"),
    ("pools: {gpu: {instance_type: g5g.xlarge}}", "pools.gpu.ami_type"),
    ("pools: {gpu: {ami_type: AL2_x86_64_GPU}}", "pools.gpu.ami_type"),
    ("pools: {gpu: {ami_type: AL2023_x86_64_NVIDA}}", "pools.gpu.ami_type"),
    ("pools: {gpu: {ami_type: AL2023_x86_64_STANDARD}}", "pools.gpu.ami_type"),
    ("pools: {gpu: {instance_type: t3.medium}}", "pools.gpu.instance_type"),
    ("pools: {gpu: {taints: [{key: dedicated, value: gpu}]}}", "pools.gpu.taints.0"),
    ("pools: {gpu: {taints: [{key: nvidia.com/gpu, effect: NoExecute}]}}", "pools.gpu.taints.0"),
    ("pools: {gpu: {max_nodes: 3}}\nquotas: {g_and_vt_vcpus: 8}", "pools.gpu.max_nodes"),
    ("pools: {gpu: {existing: ng}}", "pools.gpu.existing"),
    ("pools: {gpu: {auto_scaling_group: eks-1}}", "pools.gpu.auto_scaling_group"),
    ("cluster: {existing: c}\npools: {gpu: {existing: ng, instance_type: g5.xlarge, instance_types: [g5.xlarge]}}",
     "pools.gpu.instance_types"),
    ("cluster: {existing: c}\npools: {gpu: {existing: ng, instance_types: [g5.xlarge, p9.xlarge]}}",
     "pools.gpu.price_per_hour"),
    ("cluster: {existing: c}", "pools.gpu"),
    ("slack: {roles: {a: {members: [U1], may: [open], pools: [b]}}}", "slack.roles.a.pools.0"),
    ("cluster: {zones: [ap-northeast-2a, ap-northeast-2b, ap-northeast-2zz]}", "cluster.zones.2"),
    ("cluster: {endpoint: {public: false}}", "cluster.endpoint.public"),
    ("quotas: {g_and_vt_vcpus: 0}", "pools.gpu.max_nodes"),
    ('pools: {"1": {}}', "pools.1"),
    ("pools: {gpu: {}, GPU: {}}", "pools.GPU"),
    ("pools: {a-b: {}, a_b: {}}", "pools.a_b"),
    ("cluster: {addons: [vpc-cni, kube-proxy, vpc-cni]}", "cluster.addons.2"),
    ("cluster: {addons: [vpc-cni, kube-proxy, core dns]}", "cluster.addons.2"),
    ("cluster: {addons: [coredns, kube-proxy]}", "cluster.addons"),
    ("cluster: {workload_identity: pod, addons: [vpc-cni, kube-proxy]}", "cluster.addons"),
    ("gpu_operator: {values: {a: 1e400}}", "gpu_operator.values.a"),
    ("cluster: {logs: [api, api]}", "cluster.logs.1"),
    ("cluster: {existing: c}\npools: {a: {existing: ng}, b: {existing: ng}}", "pools.b.existing"),
    ('tags: {"aws:x": y}', 'tags."aws:x"'),
    ('tags: {"a,b": y}', 'tags."a,b"'),
    ("tags: {team: '" + 257 * "x" + "'}", "tags.team"),
    ("tags: {" + ", ".join(f"k{number}: v" for number in range(38)) + "}", "tags"),
    ("pools: {gpu: {labels: {team a: b}}}", 'pools.gpu.labels."team a"'),
    ("pools: {gpu: {labels: {team: a b}}}", "pools.gpu.labels.team"),
    ("cluster: {system_nodes: {taints: [{key: a b}]}}", "cluster.system_nodes.taints.0"),
])  # fmt: skip
def test_what_would_fail_later_on_aws_is_refused_now(text: str, key: str) -> None:
    assert [refusal.split(": ")[0] for refusal in refusals(text)] == [key]


@pytest.mark.parametrize(
    "text",
    [
        "pools: {gpu: {instance_type: g5g.xlarge, ami_type: AL2023_ARM_64_NVIDIA}}",
        "pools: {gpu: {max_nodes: 2}}\nquotas: {g_and_vt_vcpus: 8}",
        "pools: {gpu: {max_nodes: 3}}\nquotas: {p_vcpus: 0}",
        "pools: {gpu: {taints: []}}",
        "pools: {gpu: {taints: [{key: spot, effect: PreferNoSchedule}]}}",
        "pools: {gpu: {taints: [{key: dedicated}]}}\ngpu_operator: {enabled: false}",
        TOLERANT + "pools: {gpu: {taints: [{key: dedicated, effect: NoExecute}]}}",
        "cluster: {existing: c, kubernetes_version: 1.28, zones: [x]}\npools: {gpu: {existing: ng}}",
        "region: us-east-1",
        "region: us-west-2\ncluster: {zones: [us-west-2a, us-west-2b, us-west-2d]}",
        "cluster: {kubernetes_version: 1.36}\ngpu_operator: {enabled: false}",
        "pools: {gpu: {labels: {example.com/team: a.b_c-d}}}\ntags: {Team: Größe 1, empty: ''}",
        (
            "gpu_operator: {values: {nfd: {enabled: false}, daemonsets: {tolerations: [{key: a}]}}}\n"
            "pools: {gpu: {taints: [{key: a}]}}"
        ),
    ],
)
def test_what_fits_is_good(text: str) -> None:
    assert refusals(text) == []
