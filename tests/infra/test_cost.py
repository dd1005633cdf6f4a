"""What the templates cost."""

from decimal import Decimal

from stacks import cost
from stacks.constructs.http.throttle import REQUESTS_A_SECOND
from tests.infra.conftest import Template


def test_an_idle_controller_costs_less_than_a_dollar_a_month_slack_included(controller: Template) -> None:
    """The polls of Slack's queue counted, of which an account has a million a month free."""
    slack = cost.slack(controller.document)
    assert [line.counted for line in slack if line.what == "polls of the queue"] == [
        "657000 long polls of 20 s by 5 pollers"
    ]
    assert cost.total([*cost.controller(controller.document), *slack]) < 1


def test_the_guard_counts_the_dead_letters_in_place_of_an_alarm(controller: Template) -> None:
    lines = {line.what: line.counted for line in cost.controller(controller.document)}
    assert lines["counts of dead letters"] == "8760"
    assert lines["alarms"].startswith("2 of")


def test_a_flood_of_slacks_address_is_bounded_in_money() -> None:
    assert 0 < cost.flood(REQUESTS_A_SECOND * 3600) < 10


def test_the_guards_sweeps_are_counted_from_the_rule(controller: Template) -> None:
    """Every 5 minutes of 730 hours."""
    (guard,) = [line for line in cost.controller(controller.document) if "guard" in line.what]
    assert guard.counted.startswith("8760 runs")


def test_the_standing_cost_names_control_plane_nat_and_system_nodes(cluster: Template) -> None:
    lines = {line.what: line.amount for line in cost.cluster(cluster.document, "ap-northeast-2")}
    assert lines["EKS control plane"] == 73
    assert lines["NAT gateway"] > 40
    assert lines["system nodes"] > 70


def test_the_bus_of_an_idle_lab_costs_less_than_a_dollar_with_its_polls_counted(controller: Template) -> None:
    lines = {line.what: line for line in cost.events(controller.document)}

    assert cost.total(lines.values()) < 1
    assert lines["polls of the queue"].counted.startswith("657000 long polls")
    assert lines["alarms"].counted.startswith("1 of")
    assert lines["function gpu-lab-lifecycle"].counted.startswith("8760 runs")


def test_the_events_of_a_window_cost_less_than_a_tenth_of_a_cent(controller: Template) -> None:
    lines = cost.events_of_a_window(controller.document)
    assert 0 < cost.total(lines) < Decimal("0.001")
