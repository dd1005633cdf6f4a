"""What the templates cost."""

from stacks import cost
from tests.infra.conftest import Template


def test_an_idle_controller_costs_less_than_a_dollar_a_month_slack_included(controller: Template) -> None:
    idle = cost.total(cost.controller(controller.document))
    assert idle + cost.price("secret_month") < 1


def test_the_guards_sweeps_are_counted_from_the_rule(controller: Template) -> None:
    """Every 5 minutes of 730 hours."""
    (guard,) = [line for line in cost.controller(controller.document) if "guard" in line.what]
    assert guard.counted.startswith("8760 runs")


def test_the_standing_cost_names_control_plane_nat_and_system_nodes(cluster: Template) -> None:
    lines = {line.what: line.amount for line in cost.cluster(cluster.document, "ap-northeast-2")}
    assert lines["EKS control plane"] == 73
    assert lines["NAT gateway"] > 40
    assert lines["system nodes"] > 70
