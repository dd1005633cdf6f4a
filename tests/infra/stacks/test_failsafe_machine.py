"""The failsafe's machine in its template: it orders zero, as a role that can do nothing else, and it pages."""

import json
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from lamplighter.domain.capacity.calls import MINUTES
from lamplighter.domain.capacity.node_pool.groups import Group
from lamplighter.domain.capacity.node_pool.off_switch import Rail
from lamplighter.domain.schedules.failsafe import FIRES_WITHIN, RETRIED
from lamplighter.domain.schedules.schedule import NEAREST
from local.aws.stepfunctions.definition import parsed
from stacks.constructs.failsafe.definition import ENDS_WITHIN
from stacks.constructs.failsafe.ended_pool import FILTERS, EndedPool
from stacks.constructs.failsafe.looking import EVERY, ROUNDS
from stacks.constructs.failsafe.states import AGAIN_AFTER, ANSWERED_WITHIN
from tests.failsafe_machine import (
    AUTO_MODE,
    CLUSTER,
    CONTROL_PLANE,
    CONTROLLER,
    KARPENTER,
    NAMES,
    POOLS,
    SECOND,
    SWITCHED_OFF,
    UNLOCKED,
    definition,
    properties,
    states,
)
from tests.infra.conftest import Assembly, Template

READING = {"aws-sdk:eks:describeCluster", "aws-sdk:ec2:describeInstances", "aws-sdk:ec2:describeTags"}


def tasks(found: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, state in found.items():
        if state["Type"] == "Task":
            yield name, state
        elif state["Type"] == "Map":
            yield from tasks(state["ItemProcessor"]["States"])


def integration(state: dict[str, Any]) -> str:
    resource: str = state["Resource"]
    return resource.removeprefix("arn:aws:states:::")


def allowed(kind: str = "AWS::IAM::Policy", pools: Any = POOLS) -> dict[str, dict[str, Any]]:
    """Action -> statement."""
    [policy] = properties(kind, pools)
    found = {}
    for statement in policy["PolicyDocument"]["Statement"]:
        actions = statement["Action"]
        for action in actions if isinstance(actions, list) else [actions]:
            found[action] = statement
    return found


def test_step_functions_takes_the_definition() -> None:
    parsed(definition())


def test_every_state_is_reached_by_some_way() -> None:
    found = states()
    named = [json.loads(definition())["StartAt"]]
    seen: set[str] = set()
    while named:
        name = named.pop()
        if name not in seen:
            seen.add(name)
            state = found[name]
            ways = [state, *state.get("Choices", []), *state.get("Catch", [])]
            named += [way[key] for way in ways for key in ("Next", "Default") if key in way]

    assert seen == set(found)


def test_every_call_orders_zero_or_denies_or_ends_or_reads() -> None:
    calls = {integration(state): state["Parameters"] for _, state in tasks(states())}

    assert set(calls) - READING == {
        "eks:call",
        "aws-sdk:ec2:terminateInstances",
        "aws-sdk:iam:putRolePolicy",
        "aws-sdk:eks:updateClusterConfig",
    }
    assert states()["Scale"]["Parameters"]["RequestBody"]["spec"] == {"replicas": 0}
    assert states()["Claims"]["Parameters"]["Method"] == "DELETE"
    off = calls["aws-sdk:eks:updateClusterConfig"]
    assert off == {
        "Name": "gpu-lab",
        "ComputeConfig": {"Enabled": False},
        "StorageConfig": {"BlockStorage": {"Enabled": False}},
        "KubernetesNetworkConfig": {"ElasticLoadBalancing": {"Enabled": False}},
    }
    for pool in (KARPENTER, SECOND, AUTO_MODE, SWITCHED_OFF):
        [statement] = json.loads(states()[f"Pool-{pool.name}"]["Result"]["lock"]["document"])["Statement"]
        assert statement["Effect"] == "Deny"
        # Controllers of two clusters may have one role, and NodePools of one name.
        assert statement["Condition"] == {
            "StringEquals": {f"aws:RequestTag/{key}": value for key, value in pool.tags.items()}
        }
        assert "gpu-lab" in pool.tags.values()


@pytest.mark.parametrize("state", ["Instances", "MoreInstances"])
def test_a_look_asks_for_the_instances_of_auto_mode_which_ec2_hides(state: str) -> None:
    assert states()[state]["Parameters"]["IncludeManagedResources"] is True
    assert "IncludeManagedResources" not in states((KARPENTER, SECOND, UNLOCKED))[state]["Parameters"]


def test_no_function_takes_part() -> None:
    assert not [name for name, state in tasks(states()) if "lambda" in state["Resource"]]


@pytest.mark.parametrize("state", ["Cluster", "Scale", "Claims"])
def test_any_error_of_the_first_rail_leads_past_kubernetes(state: str) -> None:
    caught = states()[state]["Catch"]
    assert caught[-1] == {"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "PastKubernetes"}
    # States.ALL leaves it out.
    assert any(each["ErrorEquals"] == ["States.DataLimitExceeded"] for each in caught)


@pytest.mark.parametrize("state", ["Instances", "MoreInstances"])
def test_a_page_that_is_longer_than_a_state_may_carry_stops_no_rail(state: str) -> None:
    assert states()[state]["Catch"] == [
        {"ErrorEquals": ["States.DataLimitExceeded"], "ResultPath": "$.error", "Next": "TooLong"}
    ]
    ways = {way["StringEquals"]: way["Next"] for way in states()["TooLongThen"]["Choices"]}
    assert (ways, states()["TooLongThen"]["Default"]) == ({"act": "Act", "end": "Tagged"}, "Enough")


@pytest.mark.parametrize("pool", POOLS)
def test_an_instance_that_is_looked_at_alone_is_looked_for_with_every_filter(pool: EndedPool) -> None:
    assert len(cast("list[object]", pool.row()["filters"])) == FILTERS


def test_one_start_ends_before_the_next_one_comes() -> None:
    found = json.loads(definition())
    tried = [state for _, state in tasks(states()) if integration(state) not in READING]
    assert found["TimeoutSeconds"] == ENDS_WITHIN < (MINUTES[1] - MINUTES[0]) * 60
    # The longest way without the time-out: Kubernetes fails slowly at its last call, and EC2 is looked at to the end.
    slow = 2 * ANSWERED_WITHIN + AGAIN_AFTER
    assert 3 * slow + ROUNDS * EVERY < ENDS_WITHIN
    assert {state["TimeoutSeconds"] for state in tried} == {ANSWERED_WITHIN}


def test_its_role_ends_instances_of_its_pools_alone() -> None:
    statement = allowed()["ec2:TerminateInstances"]

    assert statement["Condition"] == {
        "StringEquals": {
            "aws:ResourceTag/eks:eks-cluster-name": "gpu-lab",
            # AWS ends those of Auto Mode.
            "aws:ResourceTag/karpenter.sh/nodepool": [
                pool.node_pool for pool in (KARPENTER, SECOND, UNLOCKED)
            ],
        }
    }


def writing(policy: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Role -> the condition under which the machine writes a policy to it."""
    return {
        statement["Resource"].rpartition("/")[2]: statement.get("Condition", {})
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Action"] == "iam:PutRolePolicy"
    }


def test_its_role_writes_policies_of_the_launching_roles_alone_while_a_boundary_holds_them() -> None:
    [policy] = properties("AWS::IAM::Policy")

    assert writing(policy) == {
        role: {"StringEquals": {"iam:PermissionsBoundary": f"arn:aws:iam::123456789012:policy/{boundary}"}}
        for role, boundary in (
            (CONTROLLER, "gpu-lab-ap-northeast-2-karpenter"),
            (CONTROL_PLANE, "gpu-lab-ap-northeast-2-control-plane"),
        )
    }
    assert "iam:PutRolePolicy" not in allowed(pools=(UNLOCKED,))


def test_of_a_role_that_the_lab_adopts_no_boundary_is_known() -> None:
    theirs = EndedPool("theirs", "their-gpus", "karpenter", CLUSTER, "TheirKarpenter")
    [policy] = properties("AWS::IAM::Policy", (theirs,))
    assert writing(policy) == {"TheirKarpenter": {}}


def test_its_role_may_only_switch_auto_mode_off_and_only_where_the_lab_says_so() -> None:
    off = {
        f"eks:{part}Enabled": "false" for part in ("blockStorage", "computeConfig", "elasticLoadBalancing")
    }

    assert allowed()["eks:UpdateClusterConfig"]["Condition"] == {"Bool": off}
    assert "eks:UpdateClusterConfig" not in allowed(pools=(KARPENTER, AUTO_MODE))
    assert "ec2:TerminateInstances" not in allowed(pools=(AUTO_MODE,))


def test_no_other_role_writes_a_policy(adopted: Template) -> None:
    writing = [
        name
        for name, policy in adopted.of_type("AWS::IAM::Policy").items()
        if "iam:Put" in json.dumps(policy["Properties"]["PolicyDocument"])
    ]

    assert [name.startswith("FailsafeMachine") for name in writing] == [True]


def test_its_boundary_allows_exactly_what_its_role_may() -> None:
    [role] = properties("AWS::IAM::Role")
    assert allowed("AWS::IAM::ManagedPolicy") == allowed()
    assert "Ref" in role["PermissionsBoundary"]
    assert role["RoleName"] == NAMES.role("failsafe-machine")


def test_the_cluster_knows_its_role_by_a_group_of_its_own() -> None:
    [entry] = properties("AWS::EKS::AccessEntry")
    assert (entry["KubernetesGroups"], entry["Type"]) == ([Group.FAILSAFE.of(NAMES.lab)], "STANDARD")


def test_a_run_that_ends_without_proof_pages() -> None:
    [rule] = properties("AWS::Events::Rule")
    assert rule["EventPattern"]["detail"]["status"] == ["FAILED", "TIMED_OUT", "ABORTED"]
    [target] = rule["Targets"]
    assert (target["Arn"]["Ref"][:5], "Arn" in target["DeadLetterConfig"]) == ("Pages", True)


THEIRS: dict[str, Any] = {
    "cluster": {"existing": "theirs", "karpenter": {"existing": True, "role": "KarpenterController"}},
    "guard": {"curfew": "23:57"},
    "pools": {"gpu": {"kind": "karpenter", "existing": "their-gpus"}, "group": {"existing": "their-group"}},
}


@pytest.fixture(scope="module")
def theirs(synthesis: Callable[..., Assembly]) -> Assembly:
    """A lab that adopts a NodePool of a Karpenter that runs already, and a node group; under cdk-nag."""
    return synthesis({"name": "gpu-lab", **THEIRS}, True)


@pytest.fixture(scope="module")
def adopted(theirs: Assembly) -> Template:
    return theirs.template("gpu-lab-controller")


def test_no_check_finds_anything_in_it(theirs: Assembly) -> None:
    assert not theirs.violations()


def test_a_lab_without_a_node_pool_has_no_machine(controller: Template) -> None:
    machines = {
        each["StateMachineName"] for each in controller.properties("AWS::StepFunctions::StateMachine")
    }

    assert "gpu-lab-failsafe" not in machines
    for function in controller.properties("AWS::Lambda::Function"):
        assert "FAILSAFE_MACHINE_ARN" not in function["Environment"]["Variables"]


def test_the_machine_of_an_adopted_node_pool_locks_the_role_that_the_lab_names(adopted: Template) -> None:
    machine = adopted.one("AWS::StepFunctions::StateMachine", StateMachineName="gpu-lab-failsafe")
    found = json.loads("".join(part if isinstance(part, str) else "aws" for part in parts(machine)))["States"]

    assert {name for name in found if name.startswith("Pool-")} == {"Pool-gpu"}
    known = found["Pool-gpu"]["Result"]
    assert (known["nodePool"], known["lock"]["role"]) == ("their-gpus", "KarpenterController")


def test_the_machine_of_a_pool_of_ours_locks_karpenters_role_and_the_failsafe_starts_it(
    synthesise: Callable[..., Assembly],
) -> None:
    ours = synthesise(cluster={"karpenter": {}}, pools={"gpu": {"kind": "karpenter"}})
    template = ours.template("gpu-lab-controller")
    machine = template.one("AWS::StepFunctions::StateMachine", StateMachineName="gpu-lab-failsafe")
    known = json.loads("".join(part if isinstance(part, str) else "aws" for part in parts(machine)))
    assert known["States"]["Pool-gpu"]["Result"]["lock"]["role"] == CONTROLLER
    roles = ours.template("gpu-lab-cluster").properties("AWS::IAM::Role")
    assert CONTROLLER in [each.get("RoleName") for each in roles]
    # An opening reads its runs, and nobody stops one.
    assert about_the_machine(template) == {
        "failsafe": {"states:StartExecution"},
        "leases": {"states:ListExecutions", "states:DescribeExecution"},
    }
    opening = template.one("AWS::StepFunctions::StateMachine", StateMachineName="gpu-lab-open")
    text = "".join(part if isinstance(part, str) else "aws" for part in parts(opening))
    assert seconds_of_polls(json.loads(text)["States"]["Admit"]["Retry"][1]) > SHOT_AND_RUN


SHOT_AND_RUN = (NEAREST + FIRES_WITHIN + RETRIED).total_seconds() + ENDS_WITHIN
"""The longest that one start of the machine holds an opening up."""


def seconds_of_polls(retry: dict[str, Any]) -> float:
    waits = (
        retry["IntervalSeconds"] * retry["BackoffRate"] ** tried for tried in range(retry["MaxAttempts"])
    )
    return sum(min(each, retry["MaxDelaySeconds"]) for each in waits)


def about_the_machine(template: Template) -> dict[str, set[str]]:
    """What each role may do with the machine and its runs, by the role's purpose."""
    found: dict[str, set[str]] = {}
    for policy in template.properties("AWS::IAM::Policy"):
        for statement in policy["PolicyDocument"]["Statement"]:
            resources = json.dumps(statement["Resource"])
            if ":stateMachine:gpu-lab-failsafe" in resources or ":execution:gpu-lab-failsafe:" in resources:
                actions = statement["Action"]
                [role] = policy["Roles"]
                name = template.resources[role["Ref"]]["Properties"]["RoleName"]
                purpose = name.removeprefix("gpu-lab-ap-northeast-2-")
                found.setdefault(purpose, set()).update([actions] if isinstance(actions, str) else actions)
    return found


def parts(machine: dict[str, Any]) -> list[Any]:
    joined: list[Any] = machine["DefinitionString"]["Fn::Join"][1]
    return joined


def test_the_functions_that_arm_a_failsafe_know_the_machine(adopted: Template) -> None:
    knowing = {
        function["FunctionName"].removeprefix("gpu-lab-")
        for function in adopted.properties("AWS::Lambda::Function")
        if "FAILSAFE_MACHINE_ARN" in function["Environment"]["Variables"]
    }

    assert knowing == {"leases", "guard", "planner"}


def test_the_curfew_starts_the_machine_on_both_ways(adopted: Template) -> None:
    schedules = {each["Name"]: each for each in adopted.properties("AWS::Scheduler::Schedule")}

    assert set(schedules) == {
        f"curfew-{name}" for name in ("gpu-kubernetes", "gpu-ec2", "group-eks", "group-group")
    }
    for rail, at in (("kubernetes", "cron(57 23 * * ? *)"), ("ec2", "cron(2 0 * * ? *)")):
        schedule = schedules[f"curfew-gpu-{rail}"]
        assert schedule["ScheduleExpression"] == at
        assert json.loads(schedule["Target"]["Input"]) == {"pool": "gpu", "rail": rail}
        assert ":stateMachine:gpu-lab-failsafe" in json.dumps(schedule["Target"]["Arn"])


def test_a_destroy_keeps_the_machine_until_every_pool_is_closed(adopted: Template) -> None:
    [closed] = adopted.of_type("Custom::LamplighterLastClosed")
    machine = adopted.name("AWS::StepFunctions::StateMachine", StateMachineName="gpu-lab-failsafe")
    assert machine in adopted.needs(closed)


@pytest.mark.parametrize("rail", Rail)
def test_the_machine_knows_every_rail(rail: Rail) -> None:
    assert [way for way in states()["Rail"]["Choices"] if way["StringEquals"] == rail.value]
