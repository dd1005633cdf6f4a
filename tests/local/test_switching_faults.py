"""Faults are switched by name: from the command line, over HTTP, for a pool or for all."""

import json

import pytest
import urllib3
from typer.testing import CliRunner

from cli.local import fault as local_fault
from lamplighter.domain.diagnosis.causes import CAUSES
from lamplighter.errors import BadInput, OutsideFailed
from local.aws.api.server import Server
from local.clock import VirtualClock
from local.faults.catalogue import FAULTS
from local.faults.switches import Switches
from local.faults.switching import FaultSwitching
from local.faults_page import FaultsPage
from tests.diagnosis_cases import node_pool

POOLS = {"gpu": "lab-ng-gpu", "big": "lab-ng-big"}


@pytest.fixture
def switches():
    return Switches()


@pytest.fixture
def endpoint(switches, tmp_path):
    server = Server(VirtualClock(tmp_path / "clock"))
    server.page(FaultsPage.PATH, FaultsPage(FaultSwitching(switches, lambda: POOLS)).answer)
    server.start()
    yield server.endpoint
    server.stop()


@pytest.fixture
def fault(endpoint, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)

    def run(*words):
        return CliRunner().invoke(local_fault.app, list(words))

    return run


def test_every_cause_but_unknown_is_a_fault_that_says_what_it_does():
    # Pods that are not evicted take an update of a leased pool, which only a hand begins: tests/scenarios/deploys.
    # Causes of NodePools are played with the real Karpenter: tests/scenarios.
    of_node_pools = {case.cause for case in node_pool.CASES}
    diagnosed = {name for name, fault in FAULTS.items() if fault.diagnosed}
    assert diagnosed == set(CAUSES) - {"unknown", "pods-not-evicted"} - of_node_pools
    for each in FAULTS.values():
        assert all((each.does, each.on, each.expect, each.heals)), each.name


def test_a_fault_is_on_for_the_pool_that_is_named_and_for_no_other(fault, switches):
    said = fault("on", "xid", "--pool", "big")
    assert said.exit_code == 0
    assert said.output.splitlines()[0].startswith("xid is on for big: ")
    assert switches.holds("xid", "lab-ng-big")
    assert not switches.holds("xid", "lab-ng-gpu")
    assert "xid (a pool's): ON for big" in fault("list").output

    fault("off", "xid", "--pool", "gpu")
    assert switches.holds("xid", "lab-ng-big")
    assert fault("off", "xid").exit_code == 0
    assert not switches.holds("xid", "lab-ng-big")


def test_without_a_pool_it_is_on_for_all(fault, switches):
    fault("on", "no-capacity")
    assert switches.holds("no-capacity", "lab-ng-gpu")
    listed = json.loads(fault("list", "--json").stdout)
    assert {each["name"]: each["on_for"] for each in listed if each["on_for"]} == {"no-capacity": ["all"]}


def test_all_faults_end_at_once(fault, switches):
    fault("on", "no-capacity")
    fault("on", "xid", "--pool", "gpu")
    assert fault("off", "--all").output == "every fault is off\n"
    assert not any(switches.where(name) for name in FAULTS)


def test_the_cloud_may_be_named_by_the_file_that_it_wrote(endpoint, switches, tmp_path, monkeypatch):
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    written = tmp_path / "cloud.json"
    written.write_text(json.dumps({"aws": {"endpoint": endpoint}}))
    assert CliRunner().invoke(local_fault.app, ["on", "gpu-lost", "--cloud", str(written)]).exit_code == 0
    assert switches.holds("gpu-lost")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("on", "no-capasity"), "there is no fault no-capasity, did you mean no-capacity?"),
        (("on", "unknown"), "there is no fault unknown"),
        (("on", "xid", "--pool", "other"), "there is no pool other, the lab has gpu, big"),
        (("on", "vcpu-quota", "--pool", "gpu"), "vcpu-quota is the account's and of no one pool"),
        (("off",), "name one fault, or say --all"),
        (("off", "xid", "--all"), "name one fault, or say --all"),
        (("list", "--cloud", "/nowhere.json"), "--cloud: there is no file /nowhere.json"),
    ],
)
def test_what_cannot_be_meant_is_bad_input(fault, words, said):
    answer = fault(*words)
    assert isinstance(answer.exception, BadInput)
    assert said in str(answer.exception)


def test_without_a_cloud_one_line_says_how_to_name_one(monkeypatch):
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    answer = CliRunner().invoke(local_fault.app, ["list"])
    assert isinstance(answer.exception, BadInput)
    assert str(answer.exception).startswith("no embedded cloud is named: give --cloud FILE")


@pytest.mark.parametrize(
    ("endpoint", "kind"),
    [("http://127.0.0.1:9", OutsideFailed), ("https://eks.eu-west-1.amazonaws.com", BadInput)],
)
def test_nobody_there_and_no_embedded_cloud(endpoint, kind, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    assert isinstance(CliRunner().invoke(local_fault.app, ["list"]).exception, kind)


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"on": 1}', '{"on": "xid", "off": "xid"}', '{"x": "y"}'])
def test_the_page_refuses_what_is_no_wish(endpoint, body, switches):
    answer = urllib3.request("POST", endpoint + FaultsPage.PATH, body=body.encode())
    assert answer.status == 400
    assert answer.json()["message"]
    assert not any(switches.where(name) for name in FAULTS)
