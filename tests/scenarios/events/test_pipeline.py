"""The pipeline, the CI job and the hub of the how-tos, beside a lab: they open, use proven GPUs, and close."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from local.aws.stepfunctions.service import SEEN_AFTER
from local.cloud import COMPLETE, Cloud
from local.stack_template import StackTemplate
from tests.checkout import ROOT
from tests.scenarios.events.bus import LOOK_EVERY, Listener
from tests.scenarios.events.ci_runner import CiRunner
from tests.scenarios.events.hub_process import SERVER_SECONDS, hub_process, hub_role
from tests.scenarios.lab_day import LabDay

pytestmark = pytest.mark.long

LAB = Path(__file__).with_name("pipeline.yaml")
PIPELINE = ROOT / "docs/how-to/run/pipeline/pipeline.yaml"
TRAINING = ROOT / "docs/how-to/run/ci-job/job.yaml"
BEGINS = datetime(2026, 12, 1, 13, 0, tzinfo=UTC)
JOBS = "/apis/batch/v1/namespaces/training/jobs"
PODS = "/api/v1/namespaces/training/pods"


class Pipeline:
    """The deployed stack `training`."""

    def __init__(self, day: LabDay) -> None:
        self._day, self._sfn = day, day.api("stepfunctions")
        self._machine = self._output("PipelineArn")
        self.role = self._output("PrincipalArn")

    def start(self, name: str) -> str:
        run = str(self._sfn.start_execution(stateMachineArn=self._machine, name=name)["executionArn"])
        self._day.clock.sleep(SEEN_AFTER.total_seconds())
        return run

    def until(self, run: str, state: str, every: timedelta = LOOK_EVERY) -> None:
        """Waits until a run has entered a state."""
        name = "stateEnteredEventDetails"
        self._day.until(
            f"{run} is in {state}",
            lambda _: any(event.get(name, {}).get("name") == state for event in self._history(run)),
            timedelta(minutes=40),
            every,
        )

    def outcome(self, run: str) -> dict[str, Any]:
        """The description of a run, once it has ended."""

        def ended() -> dict[str, Any]:
            described: dict[str, Any] = self._sfn.describe_execution(executionArn=run)
            return described

        self._day.until(f"{run} has ended", lambda _: ended()["status"] != "RUNNING", timedelta(hours=1))
        return ended()

    def _history(self, run: str) -> list[dict[str, Any]]:
        pages = self._sfn.get_paginator("get_execution_history").paginate(executionArn=run)
        return [event for page in pages for event in page["events"]]

    def _output(self, name: str) -> str:
        [stack] = self._day.api("cloudformation").describe_stacks(StackName="training")["Stacks"]
        return str({each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}[name])


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabDay]:
    """As the how-to says: a lab with a bus, the namespace and the stack, and the lab with the entry."""
    lab = yaml.safe_load(LAB.read_text("utf-8"))
    bare = tmp_path_factory.mktemp("lab") / "lab.yaml"
    bare.write_text(yaml.safe_dump({**lab, "events": {}}), "utf-8")
    with Cloud(bare, start=BEGINS, progress=print) as cloud:
        cloud.up()
        cloud.control_plane.admin().create("/api/v1/namespaces", {"metadata": {"name": "training"}})
        template = yaml.safe_load(PIPELINE.read_text("utf-8"))
        given = {"Lab": cloud.lab.name, "Cluster": cloud.lab.cluster_name}
        for name, value in given.items():
            template["Parameters"][name]["Default"] = value
        stack = cloud.aws.deploy(StackTemplate("training", json.dumps(template), {}))
        assert stack.status == "CREATE_COMPLETE", stack.failure()
        assert {stack.status for stack in cloud.redeploy(LAB)} <= COMPLETE
        yield LabDay(cloud)


@pytest.fixture(scope="module")
def listener(day: LabDay) -> Listener:
    return Listener(day)


@pytest.fixture(scope="module")
def ci(day: LabDay, tmp_path_factory: pytest.TempPathFactory) -> CiRunner:
    return CiRunner(day, tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="module")
def pipeline(day: LabDay) -> Pipeline:
    return Pipeline(day)


def test_a_run_trains_on_the_proven_node_and_closes(
    day: LabDay, listener: Listener, pipeline: Pipeline
) -> None:
    # given the entry that the how-to asks for
    assert (
        pipeline.role in yaml.safe_load(LAB.read_text("utf-8"))["events"]["allow"]["pipeline"]["principals"]
    )

    # when a run starts, then its request is granted, and the GPUs are proven
    run = pipeline.start("run-1")
    lease = listener.until("lease-granted")["lease"]
    opened = listener.until("pool-open", lease=lease)
    assert day.lease(lease).owner == "training"
    nodes = day.look().kubernetes_nodes

    # then a second run, for which the pool has no node left, is refused and fails
    second = pipeline.outcome(pipeline.start("run-2"))
    assert (second["status"], second["error"]) == ("FAILED", "lease-refused")

    # then the Job of the first trains on that node
    pipeline.until(run, "Outcome")
    admin = day.cloud.control_plane.admin()
    [pod] = admin.get(PODS)["items"]
    assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == (*nodes, "Succeeded")
    assert pod["metadata"]["labels"]["job-name"] == "train-run-1"

    # then the lease is closed in reply to the run's own close, and the run has succeeded
    closing = listener.until("pool-closing", lease=lease)
    assert closing["in_reply_to"] not in {None, opened["in_reply_to"]}
    assert listener.until("pool-closed", lease=lease)["nodes"] == 0
    assert listener.until("receipt", lease=lease)["lease"] == lease
    assert pipeline.outcome(run)["status"] == "SUCCEEDED"
    day.until_quiet()
    assert _waiting(day) == []


def test_a_run_whose_job_fails_closes_and_fails(day: LabDay, listener: Listener, pipeline: Pipeline) -> None:
    run = pipeline.start("run-3")

    # when the GPU is lost after the lab has proven it
    pipeline.until(run, "Train", every=timedelta(seconds=1))
    day.cloud.fault_on("gpu-lost", "gpu")
    [lease] = [each for each in day.ledger.leases("gpu") if each.owner == "training" and each.closed is None]
    outcome = pipeline.outcome(run)
    day.cloud.fault_off()

    # then the run has failed with the Job, and the pool is closed all the same
    assert (outcome["status"], outcome["error"]) == ("FAILED", "States.TaskFailed")
    assert json.loads(outcome["cause"])["metadata"]["name"] == "train-run-3"
    assert listener.until("pool-closed", lease=lease.id)["nodes"] == 0
    listener.until("receipt", lease=lease.id)
    day.until_quiet()


def test_the_script_of_the_ci_job_opens_waits_and_closes(
    day: LabDay, listener: Listener, ci: CiRunner
) -> None:
    # when the job opens and waits, then the GPUs are proven when the wait ends
    asked = ci.script("open", token="ci-1-1")
    event = asked.stdout.strip()
    waited = ci.script("await", event, token="ci-1-1")
    assert (waited.code, waited.stdout) == (0, "the GPUs of gpu are proven\n"), waited
    [opened] = listener.told("pool-open", in_reply_to=event)
    nodes = day.look().kubernetes_nodes

    # when it creates the training Job, then its pod runs to its end on the proven node
    admin = day.cloud.control_plane.admin()
    created = admin.create(JOBS, yaml.safe_load(TRAINING.read_text("utf-8")))
    assert created is not None
    job = created["metadata"]["name"]
    day.until(
        f"{job} is complete",
        lambda _: admin.get(f"{JOBS}/{job}")["status"].get("succeeded") == 1,
        timedelta(minutes=10),
    )
    [pod] = admin.get(f"{PODS}?labelSelector=job-name={job}")["items"]
    assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == (*nodes, "Succeeded")

    # when another job asks for the same nodes, then its wait fails with the lab's answer
    refused = ci.script("await", ci.script("open", token="ci-2-1").stdout.strip(), token="ci-2-1")
    assert refused.code == 1
    assert '"code":"lease.allowed-nodes"' in refused.stderr

    # when the job closes, then its lease ends
    closing = ci.script("close", token="ci-1-1").stdout.strip()
    assert listener.until("pool-closing", in_reply_to=closing)["lease"] == opened["detail"]["lease"]
    listener.until("receipt", lease=opened["detail"]["lease"])
    day.until_quiet()


def test_the_command_line_puts_and_shows_events_with_the_rights_of_the_how_tos(
    day: LabDay, listener: Listener, ci: CiRunner
) -> None:
    put = ("--token", "try-1", "--json", "--wait")

    opened = ci.command("events", "put", "open", "--pool", "gpu", "--for", "30m", *put)
    assert opened.code == 0, opened
    assert opened.document["source"] == "ci.training"
    assert opened.document["answer"]["detail-type"] == "lease-granted"
    assert opened.document["answer"]["detail"]["in_reply_to"] == opened.document["event"]
    again = ci.command("events", "put", "open", "--pool", "gpu", "--for", "30m", "--token", "try-2", "--wait")
    assert (again.code, "may have 1 nodes at once" in again.stdout) == (1, True), again
    lease = opened.document["answer"]["detail"]["lease"]
    listener.until("pool-open", lease=lease)
    closed = ci.command("events", "put", "close", "--pool", "gpu", "--yes", *put)
    assert closed.code == 0, closed
    assert closed.document["answer"]["detail-type"] == "pool-closing", closed
    listener.until("receipt", lease=lease)
    day.until_quiet()

    # then it shows what was asked and told, each once, and no more than that
    shown = ci.command("events", "tail", "--once", "--json", "--since", "1h")
    assert shown.code == 0, shown
    seen = [json.loads(line) for line in shown.stdout.splitlines()]
    about = [each for each in seen if each["detail"].get("lease") == lease]
    told = listener.told(lease=lease)
    assert sorted(each["detail-type"] for each in about) == sorted(each["detail-type"] for each in told)
    asked = {each["id"]: each["detail-type"] for each in seen if "id" in each}
    assert (asked[opened.document["event"]], asked[closed.document["event"]]) == ("open", "close")


def test_servers_of_a_jupyterhub_share_one_lease_that_ends_with_the_last(
    day: LabDay, listener: Listener, ci: CiRunner
) -> None:
    role = hub_role(day)
    hub = hub_process(day, role)

    # given a job that has the only node, then a person reads the lab's reason, and no server starts
    event = ci.script("open", token="ci-3-1").stdout.strip()
    held = listener.until("lease-granted", in_reply_to=event)["lease"]
    with pytest.raises(Exception, match=r"^No GPU: .*pool.*\.$") as refused:
        asyncio.run(hub.start("ann"))
    assert refused.value.jupyterhub_message == str(refused.value)  # type: ignore[attr-defined]
    ci.script("close", token="ci-3-1")
    listener.until("receipt", lease=held)
    day.until_quiet()

    # when two people start a server at once, then one lease opens, and both wait for the proven GPUs
    async def both() -> tuple[Any, Any]:
        return await asyncio.gather(hub.start("ann"), hub.start("bob"))

    ann, bob = asyncio.run(both())
    [lease] = [each for each in day.ledger.leases("gpu") if each.owner == "jupyterhub"]
    assert listener.told("pool-open", lease=lease.id)
    assert day.look().kubernetes_nodes

    # when the hub restarts, and a third server starts after the hour of warm-up, then the lease outlasts it, too
    hub = hub_process(day, role)
    ann, bob = hub.found(ann), hub.found(bob)
    day.pass_until(day.now + timedelta(minutes=70))
    eve = asyncio.run(hub.start("eve"))
    assert day.lease(lease.id).closes > day.now + timedelta(seconds=SERVER_SECONDS)

    # when they stop one after the other, then the last one closes the lease
    for server in (ann, bob):
        asyncio.run(hub.stop(server))
        assert not listener.told("pool-closing", lease=lease.id)
    asyncio.run(hub.stop(eve))
    assert listener.until("pool-closed", lease=lease.id)["nodes"] == 0
    listener.until("receipt", lease=lease.id)
    day.until_quiet()


def _waiting(day: LabDay) -> list[dict[str, Any]]:
    """The task tokens that nobody has returned."""
    [table] = [
        name for name in day.api("dynamodb").list_tables()["TableNames"] if name.startswith("training")
    ]
    items: list[dict[str, Any]] = day.api("dynamodb").scan(TableName=table)["Items"]
    return items
