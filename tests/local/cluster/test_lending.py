"""Settings are borrowed from Helm and given back so that its next upgrade passes: real helm, real API server."""

from contextlib import suppress

import pytest

from lamplighter.adapters.kubernetes import overrides
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.domain.gpu.overrides import Before
from lamplighter.errors import TryLater
from tests.local.cluster.lab import POLICY
from tests.steady.hang import await_value

CHANGE = {"spec": {"mig": {"strategy": "mixed"}, "daemonsets": {"tolerations": [{"operator": "Exists"}]}}}
MINE = {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}}


@pytest.fixture
def connection(enter) -> Connection:
    found: Connection = enter("cluster")
    return found


@pytest.fixture
def upgrade(lab, helm, charts):
    def run(values=None):
        return helm(
            *("upgrade", "gpu-operator", "gpu-operator", "--repo", charts.url, "--version", "v26.3.1"),
            *("--namespace", "gpu-operator", "--timeout", "4m"),
            values=values or lab.OPERATOR_VALUES,
        )

    return run


@pytest.fixture
def policy(lab):
    """The ClusterPolicy's spec; afterwards whatever a test left of ours is let go."""
    yield lambda: lab.kubernetes.get(POLICY)["spec"]
    lab.kubernetes.apply(POLICY, MINE, "lamplighter")


def borrow(connection: Connection, fields=CHANGE, kept: list[Before] | None = None) -> Before:
    def keep(before: Before) -> Before:
        if kept is None:
            return before
        kept.append(before)
        return kept[0]

    return overrides.borrow(connection, POLICY, fields, keep=keep)


def give_back(connection: Connection, before: Before) -> Before | None:
    """Asks again while the policy is being changed, as the workflow does: the operator writes its status into it."""

    def given() -> tuple[Before | None] | None:
        with suppress(TryLater):
            return (overrides.give_back(connection, POLICY, before),)
        return None

    (left,) = await_value("the policy stands still", given)
    return left


def managers(lab) -> set[str]:
    return {entry["manager"] for entry in lab.kubernetes.get(POLICY)["metadata"]["managedFields"]}


def test_change_restore_and_helm_upgrades_as_if_nothing_had_been(lab, connection, policy, upgrade):
    spec = policy()
    before = Before.from_json(borrow(connection).to_json())
    assert policy()["mig"] == {"strategy": "mixed"}
    assert policy()["daemonsets"]["tolerations"] == [{"operator": "Exists"}]
    assert policy()["daemonsets"]["updateStrategy"] == "RollingUpdate"

    after = give_back(connection, before)

    assert after is not None
    assert after.values() == before.values()
    assert policy() == spec
    assert "lamplighter" not in managers(lab)
    done = upgrade()
    assert done.returncode == 0, done.stderr
    changed = upgrade({**lab.OPERATOR_VALUES, "mig": {"strategy": "none"}})
    assert changed.returncode == 0, changed.stderr
    assert policy()["mig"] == {"strategy": "none"}
    assert upgrade().returncode == 0
    assert policy() == spec


def test_without_the_giving_back_the_upgrade_fails(connection, policy, upgrade):
    before = borrow(connection)
    broken = upgrade()
    assert broken.returncode != 0
    assert "conflict" in broken.stderr
    give_back(connection, before)
    assert upgrade().returncode == 0


def test_giving_back_to_nobody_in_particular_would_fail_too(lab, connection, policy, upgrade):
    """So the first test can fail: the right value under the wrong manager is a conflict as well."""
    borrow(connection)
    lab.kubernetes.apply(POLICY, {**MINE, "spec": {"mig": {"strategy": "single"}}}, "lamplighter")
    broken = upgrade({**lab.OPERATOR_VALUES, "mig": {"strategy": "none"}})
    assert broken.returncode != 0
    assert "conflict" in broken.stderr
    lab.kubernetes.apply(POLICY, MINE, "lamplighter")
    assert upgrade().returncode == 0


def test_everything_may_run_twice(connection, policy):
    spec, kept = policy(), list[Before]()
    borrow(connection, kept=kept)
    again = borrow(connection, kept=kept)
    assert again == kept[0]
    assert again.values()["mig.strategy"] == "single"
    give_back(connection, again)
    give_back(connection, again)
    assert policy() == spec


def test_a_field_that_nobody_had_is_gone_again(connection, policy):
    assert "env" not in policy()["validator"].get("cuda", {})
    fields = {"spec": {"validator": {"cuda": {"env": [{"name": "WITH_WORKLOAD", "value": "true"}]}}}}
    before = borrow(connection, fields)
    assert policy()["validator"]["cuda"]["env"]
    give_back(connection, before)
    assert "env" not in policy()["validator"].get("cuda", {})


def test_what_somebody_else_manages_is_not_taken(lab, connection, policy):
    theirs = {**MINE, "spec": {"dcgm": {"hostPort": 5555}}}
    lab.kubernetes.apply(POLICY, theirs, "argocd-controller")
    try:
        with pytest.raises(overrides.OwnedElsewhere, match=r"dcgm\.hostPort belongs to argocd-controller"):
            borrow(connection, {"spec": {"dcgm": {"hostPort": 5556}}})
        assert policy()["dcgm"]["hostPort"] == 5555
    finally:
        lab.kubernetes.apply(POLICY, MINE, "argocd-controller")


def test_what_helm_took_back_by_force_is_left_to_it(connection, policy, helm, lab, charts):
    before = borrow(connection)
    forced = helm(
        *("upgrade", "gpu-operator", "gpu-operator", "--repo", charts.url, "--version", "v26.3.1"),
        *("--namespace", "gpu-operator", "--timeout", "4m", "--force-conflicts"),
        values={**lab.OPERATOR_VALUES, "mig": {"strategy": "none"}},
    )
    assert forced.returncode == 0, forced.stderr
    give_back(connection, before)
    assert policy()["mig"] == {"strategy": "none"}
    done = helm(
        *("upgrade", "gpu-operator", "gpu-operator", "--repo", charts.url, "--version", "v26.3.1"),
        *("--namespace", "gpu-operator", "--timeout", "4m"),
        values=lab.OPERATOR_VALUES,
    )
    assert done.returncode == 0, done.stderr


def test_what_is_not_there_is_not_made(connection):
    with pytest.raises(overrides.Absent):
        overrides.borrow(
            connection, POLICY.replace("cluster-policy", "other"), CHANGE, keep=lambda before: before
        )
    assert overrides.give_back(connection, POLICY.replace("cluster-policy", "other"), Before(())) is None


def test_an_upgrade_at_the_same_moment_is_not_set_back(connection, policy, monkeypatch, lab):
    before = borrow(connection)
    ask, once = connection.ask, list[bool]()

    def meanwhile(method, path, **more):
        if more.get("query", {}).get("fieldManager") == "helm" and not once:
            once.append(True)
            lab.kubernetes.merge(POLICY, {"metadata": {"labels": {"upgraded": "meanwhile"}}})
        return ask(method, path, **more)

    monkeypatch.setattr(connection, "ask", meanwhile)
    with pytest.raises(TryLater, match="another program is changing"):
        overrides.give_back(connection, POLICY, before)
    give_back(connection, before)
    assert policy()["mig"] == {"strategy": "single"}
