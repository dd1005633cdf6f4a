"""One deployed lab in a world of its own: our functions and workflows, on AWS and Kubernetes in memory.

It is a context manager: inside it, boto3, the machine's clock and the Kubernetes client are the world's.
"""

import functools
import io
import itertools
import json
import logging
import os
import random
import re
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace, TracebackType
from typing import Any, Self
from unittest.mock import patch

import boto3
import kubernetes.client
import kubernetes.dynamic
from botocore.credentials import Credentials
from botocore.hooks import HierarchicalEmitter
from botocore.model import ServiceId

import lamplighter.clock
from lamplighter.adapters.aws import workflows
from lamplighter.adapters.aws.cluster_authority import trusting
from lamplighter.adapters.aws.ledger import table as ledger_table
from lamplighter.adapters.kubernetes import connection
from lamplighter.application.deploy import response
from lamplighter.application.events import receiving
from lamplighter.domain.classes.target import classes
from lamplighter.lab import notice_kinds
from lamplighter.lab.model import Lab
from tests.world.aws import account
from tests.world.aws.cloudformation import CloudFormation
from tests.world.aws.dynamodb import DynamoDB
from tests.world.aws.event_bus import EventBus
from tests.world.aws.event_queue import EventQueue
from tests.world.aws.functions import Functions
from tests.world.aws.machines import Machines
from tests.world.aws.scheduler import Scheduler
from tests.world.aws.workflows import StepFunctions
from tests.world.capacity.node_groups import NodeGroups
from tests.world.capacity.pools import Pools
from tests.world.capacity.supply import Site, Supply
from tests.world.kubernetes.cluster_policy import ClusterPolicy
from tests.world.kubernetes.kubernetes import Kubernetes
from tests.world.our_code import WORKFLOWS, forget_workers, reading_records_once, workflows_of
from tests.world.outside import ACCOUNT, REGION, Client, NotInTheWorld, refused
from tests.world.slack_site import SECRET, SlackSite

Json = dict[str, Any]
UNFINISHED = frozenset({"admitted", "opening", "open", "closing"})
#: https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameters.html
PARAMETER = re.compile(r"[a-zA-Z0-9_.:/-]{1,2048}")
SWEEP, PLAN = 300.0, 3600.0
TRUSTING = functools.cache(trusting)
"""The context of the one authority, for every cold start."""
SCHEDULER_SFN = "arn:aws:scheduler:::aws-sdk:sfn:startExecution"
SCHEDULER_EC2 = "arn:aws:scheduler:::aws-sdk:ec2:authorizeSecurityGroupIngress"


class World:
    """`lab` is a lab document as a person writes it, with a name and its pools.

    Each pool has the capacity of its own kind; with `kind` all have that one.
    """

    def __init__(
        self, lab: Json, start: datetime, seed: int = 0, kind: Callable[[Site], Supply] | None = None
    ) -> None:
        self.chance = random.Random(seed)
        self.event_queue = EventQueue(start)
        self.document = lab
        self.lab = Lab.model_validate(lab)
        self.dynamodb = DynamoDB()
        self.machines = Machines(self.event_queue, self.chance)
        self.machines.types |= {name: pool.types[0] for name, pool in self.lab.pools.items() if pool.types}
        self.functions = Functions(self.event_queue, self.chance)
        self.kubernetes = Kubernetes(self.event_queue, self.chance, self.machines)
        kind = kind or (Pools if self.lab.pools_with("node pool") else NodeGroups)
        self.supply = kind(
            Site(
                self.event_queue,
                self.chance,
                self.machines,
                self.lab,
                self.functions.cross,
                self.kubernetes,
            )
        )
        self.security_groups = self.supply.security_groups
        self.kubernetes.labels_of = self.supply.node_labels
        self.kubernetes.policy = ClusterPolicy(self.lab.gpu_operator.values)
        self.kubernetes.reachable = lambda: self.security_groups.whole
        self.scheduler = Scheduler(self.event_queue, self.chance)
        self.bus = EventBus(self.lab.name, self.event_queue, self.functions, seed)
        self.workflows = StepFunctions(
            self.event_queue,
            {
                **workflows_of(
                    self.lab.name, falls_back=self.lab.falls_back, classes=bool(classes(self.lab))
                ),
                **self.supply.workflows,
            },
        )
        self.said: list[tuple[datetime, str, str]] = []
        self.swept: list[datetime] = []
        """When the guard reported a successful sweep."""
        self.claims: dict[str, str] = {}
        """Claims on node groups by parameter that another lab holds."""
        self.sweeps_at_rest = True
        """Whether a sweep is played even if it can find nothing."""
        self._rested = (-1, -1)
        self._by_scheduler = False
        self._created: set[str] = set()
        self.cloudformation = CloudFormation(self)
        self.slack = SlackSite(self.functions.cross)
        self.buckets: dict[str, dict[str, Json]] = {}
        """Objects by bucket and key."""
        self._stack = ExitStack()
        self._services: dict[str, object] = {
            "dynamodb": self.dynamodb,
            **self.supply.services,
            "events": self.bus,
            "scheduler": self.scheduler,
            "stepfunctions": self.workflows,
            "sns": SimpleNamespace(publish=self._publish),
            "lambda": SimpleNamespace(invoke=self._invoke),
            "ssm": SimpleNamespace(get_parameters=self._get_parameters, get_parameter=_get_parameter),
            **account.services({"signing_secret": SECRET, "bot_token": "xoxb-world"}, self.buckets),
            "service-quotas": SimpleNamespace(get_service_quota=self._get_service_quota),
            "freetier": SimpleNamespace(get_account_plan_state=lambda: {"accountPlanType": "PAID"}),
            "pricing": SimpleNamespace(get_products=self._get_products),
        }
        self._clients: dict[str, Client] = {}
        self._wire()
        for pool in self.lab.pools:
            self._create(pool)

    # --- what a test does with it ------------------------------------------------------------------

    @property
    def now(self) -> datetime:
        return self.event_queue.now

    def run(self, length: timedelta) -> None:
        self.event_queue.run_until(self.now + length)

    def give(self, workflow: str, command: Json, name: str | None = None) -> str:
        """A person or a program starts a workflow with a command. Returns the name of the execution."""
        name = name or f"{command['id']}"[:80]
        self.workflows.start_execution(
            stateMachineArn=self.arn("states", f"stateMachine:{self.lab.name}-{workflow}"),
            name=name,
            input=json.dumps({"command": command}),
        )
        return name

    def actor(self) -> str:
        """Who acts at this moment: a function, `scheduler`, or `outside` for everybody else."""
        if self._by_scheduler:
            return "scheduler"
        if self.cloudformation.writing:
            return "deploy"
        return self.functions.current.function if self.functions.current else "outside"

    def deploy(self, lab: Json) -> None:
        """Deploys the same lab with another document. Functions start cold."""
        self.document, self.lab = lab, Lab.model_validate(lab)
        self._write_lab()
        self._rule("planner")
        for pool in self.lab.pools:
            self._create(pool)

    def arn(self, service: str, what: str) -> str:
        return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{what}"

    # --- how it is put in the place of the outside ---------------------------------------------------

    def __enter__(self) -> Self:
        enter = self._stack.enter_context
        self._folder = Path(enter(TemporaryDirectory()))
        enter(patch.dict(os.environ, self._environment()))
        enter(self.supply.install())
        enter(reading_records_once())
        os.environ.pop("LAMPLIGHTER_INSTANT", None)
        enter(patch.object(boto3, "client", self._client))
        enter(patch.object(boto3, "Session", self._session))
        enter(patch.object(urllib.request, "urlopen", self.cloudformation.is_told))
        self.slack.install(self._stack)
        pools = SimpleNamespace(
            rest_client=SimpleNamespace(pool_manager=SimpleNamespace(connection_pool_kw={}))
        )
        enter(patch.object(kubernetes.client, "ApiClient", lambda _configuration: pools))
        client = self.kubernetes.client(self.functions.cross)
        enter(patch.object(kubernetes.dynamic, "DynamicClient", lambda *_, **__: client))
        enter(patch.object(connection, "trusting", TRUSTING))
        for adapter in (ledger_table, workflows, response):
            enter(patch.object(adapter, "sleep", lambda _seconds: None))
        # Patience with the API server is as long as the pauses between two tries: each look is one pause later.
        pauses = itertools.count(step=connection.ASK_AGAIN_SECONDS)
        enter(patch.object(connection, "sleep", lambda _seconds: None))
        enter(patch.object(connection, "monotonic", lambda: next(pauses)))
        # Nothing is decided while a function waits: what is not decided yet comes again.
        enter(patch.object(receiving, "DECISION_SECONDS", -1))
        now = SimpleNamespace(now=lambda _zone: self.event_queue.now)
        enter(patch.object(lamplighter.clock, "datetime", now))
        logged = logging.root.manager.disable
        logging.disable(logging.CRITICAL)
        self._stack.callback(logging.disable, logged)
        self._stack.callback(forget_workers)
        self._write_lab()
        self.event_queue.every(SWEEP, lambda: self._rule("guard"), self.chance.uniform(1.0, SWEEP))
        self.event_queue.every(PLAN, lambda: self._rule("planner"), self.chance.uniform(1.0, PLAN))
        self._rule("planner")
        if self.lab.events is not None:
            self.dynamodb.listeners.append(self.bus.written)
            self.event_queue.every(SWEEP, lambda: self.bus.tell({}), self.bus.chance.uniform(1.0, SWEEP))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.functions.end()
        self._stack.close()

    def _client(self, service: str, **_settings: object) -> Client:
        if service not in self._clients:
            if service not in self._services:
                raise NotInTheWorld(f"the world has no service {service} yet: add it to tests/world")
            self._clients[service] = Client(service, self._services[service], self.functions.cross)
        return self._clients[service]

    def _session(self, **_settings: object) -> object:
        """For the presigned call that signs in to Kubernetes."""
        meta = SimpleNamespace(
            service_model=SimpleNamespace(service_id=ServiceId("STS")),
            region_name=REGION,
            endpoint_url="https://sts.world",
        )
        return SimpleNamespace(
            client=lambda _service: SimpleNamespace(meta=meta),
            get_credentials=lambda: Credentials("key", "secret"),
            events=HierarchicalEmitter(),
        )

    def _environment(self) -> dict[str, str]:
        lab = self.lab.name
        role = self.arn("iam", "role/any")
        return {
            "LAB_FILE": str(self._folder / "lab.json"),
            "AWS_REGION": REGION,
            "LEDGER_TABLE": f"{lab}-ledger",
            "CLUSTER_NAME": self.lab.cluster_name,
            "SCHEDULE_GROUP": lab,
            "EVENT_BUS": lab,
            "FAILSAFE_ROLE_ARN": role,
            "FAILSAFE_DLQ_ARN": self.arn("sqs", "failsafe-failed"),
            "SWEPT_TOPIC_ARN": self.arn("sns", "swept"),
            "DEAD_LETTERS_ARN": self.arn("sqs", "dead"),
            "DEAD_LETTERS_URL": "https://sqs.world/dead",
            "WINDOW_ROLE_ARN": role,
            "RESTORE_ROLE_ARN": role,
            **{
                f"{name}_ARN": self.arn("states", f"stateMachine:{lab}-{workflow}")
                for name, workflow in WORKFLOWS.items()
            },
            **{
                f"{name.upper()}_FUNCTION_ARN": self.arn("lambda", f"function:{lab}-{name}")
                for name in (
                    *(
                        "notices",
                        "planner",
                        "cluster",
                        "diagnosis",
                        "experiments",
                        "lifecycle",
                        "guard",
                        "doctor",
                    ),
                )
            },
            "NOTICES_TOPIC_ARN": self.arn("sns", "notices"),
            "PAGES_TOPIC_ARN": self.arn("sns", "pages"),
            "FAILSAFE_MACHINE_ARN": self.arn("states", f"stateMachine:{lab}-failsafe"),
            "SLACK_SECRET_ARN": self.arn("secretsmanager", "secret:slack"),
            "PAGES_BUCKET": f"{lab}-pages",
            "POWERTOOLS_SERVICE_NAME": "world",
        }

    def _write_lab(self) -> None:
        (self._folder / "lab.json").write_text(self.lab.to_json(), "utf-8")
        forget_workers()

    def _wire(self) -> None:
        self.workflows.invoke = self.functions.invoke
        self.workflows.invoke_async = self.functions.invoke_async
        self.workflows.tasks = {name: self._by_aws(task) for name, task in self.supply.tasks.items()}
        self.scheduler.deliver = self._deliver
        self.supply.heard.event = self._event_of_capacity

    def _create(self, pool: str) -> None:
        if pool in self._created:
            return
        self._created.add(pool)
        self.supply.create(pool, self.lab.pools[pool].max_nodes)
        minute = self.lab.curfew(pool)
        if minute is not None:
            self._stand_curfew(pool, minute)

    def _stand_curfew(self, pool: str, minute: int) -> None:
        """The two schedules of the controller's template for a pool with a curfew."""
        for rail, later in zip(self.supply.curfew(pool), (0, 5), strict=True):
            hour, past = divmod((minute + later) % 1440, 60)
            self.scheduler.create_schedule(
                GroupName=self.lab.name,
                Name=f"curfew-{pool}-{rail.name}",
                ScheduleExpression=f"cron({past} {hour} * * ? *)",
                ScheduleExpressionTimezone=self.lab.time_zone,
                FlexibleTimeWindow={"Mode": "OFF"},
                State="ENABLED",
                Target={
                    "Arn": rail.target,
                    "RoleArn": self.arn("iam", "role/failsafe"),
                    "Input": json.dumps(rail.sent),
                    "RetryPolicy": {"MaximumEventAgeInSeconds": (8 - later) * 60, "MaximumRetryAttempts": 20},
                },
            )

    # --- what wakes our code, and what AWS does for it -------------------------------------------------

    def _rule(self, function: str) -> None:
        if function == "guard" and not self.sweeps_at_rest and self._at_rest():
            return
        self.functions.invoke_async(
            self.arn("lambda", f"function:{self.lab.name}-{function}"), {"source": "rule"}
        )

    def _at_rest(self) -> bool:
        """Nothing exists, nothing runs, and nothing was written since the last sweep."""
        now = (self.dynamodb.version, self.scheduler.version)
        still = now == self._rested and not self.workflows.running and not self.functions.in_flight
        self._rested = now
        there = any(m.exists for m in self.machines.machines.values())
        there = there or any(self.supply.size(pool) for pool in self._created)
        leased = any(sort.startswith("LEASE#") and item["state"]["S"] in UNFINISHED
                     for (_, sort), item in self.dynamodb.items.items())  # fmt: skip
        return still and not there and not leased

    def _event_of_capacity(self) -> None:
        if not self.machines.troubles.events_lost:
            self.event_queue.after(self.chance.uniform(0.5, 10.0), lambda: self._rule("guard"))

    def _deliver(self, arn: str, sent: Json, done: Any) -> None:
        if arn.startswith("arn:aws:lambda:"):
            self.functions.invoke(arn, sent, lambda _result, error: done(None))
            return
        try:
            self._by_aws(lambda sent: self._scheduled_call(arn, sent))(sent)
        except Exception as error:  # noqa: BLE001 -- Scheduler tries again, whatever it is
            done(str(error))
        else:
            done(None)

    def _by_aws(self, act: Callable[[Json], Any]) -> Callable[[Json], Any]:
        """What Scheduler, or a state machine that it started, does."""

        def acts(given: Json) -> Any:
            self._by_scheduler = True
            try:
                return act(given)
            finally:
                self._by_scheduler = False

        return acts

    def _scheduled_call(self, arn: str, sent: Json) -> None:
        if arn == SCHEDULER_SFN:
            self.workflows.start_execution(
                stateMachineArn=sent["StateMachineArn"], name=sent["Name"], input=sent["Input"]
            )
        elif arn == SCHEDULER_EC2:
            self.security_groups.authorize_security_group_ingress(**sent)
        elif arn in self.supply.targets:
            self.supply.targets[arn](sent)
        elif arn.startswith("arn:aws:states:"):
            name = f"scheduled-{len(self.workflows.executions)}"
            self.workflows.start_execution(stateMachineArn=arn, name=name, input=json.dumps(sent))
        else:
            raise NotInTheWorld(f"the world's Scheduler has no target {arn} yet: add it to tests/world")

    def _publish(
        self, *, TopicArn: str, Message: str, Subject: str = "", MessageAttributes: Json | None = None
    ) -> Json:
        if MessageAttributes is None:
            assert TopicArn.endswith(":swept")
            self.swept.append(self.now)
            return {}
        assert MessageAttributes["kind"]["StringValue"] in notice_kinds.NAMES
        self.said.append((self.now, TopicArn.rpartition(":")[2], f"{Subject}\n{Message}"))
        return {}

    def _invoke(self, *, FunctionName: str, Payload: bytes, InvocationType: str = "RequestResponse") -> Json:
        event = json.loads(Payload)
        if InvocationType == "Event":
            self.event_queue.after(0.1, lambda: self.functions.invoke_async(FunctionName, event))
            return {"StatusCode": 202}
        result, error = self.functions.now(FunctionName, event)
        if error is not None:
            return {"FunctionError": "Unhandled", "Payload": io.BytesIO(error.cause.encode())}
        return {"Payload": io.BytesIO(json.dumps(result).encode())}

    def _get_parameters(self, *, Names: list[str]) -> Json:
        """A colon begins a version or a label, and the answer lacks it. One strange name refuses the whole call."""
        if any(not PARAMETER.fullmatch(name) for name in Names):
            raise refused(
                "ValidationException", "Parameter name: can't be prefixed with ...", "GetParameters"
            )
        names = [name.partition(":")[0] for name in Names]
        # The deploy made each as version 1; what is in `claims` was written over it.
        return {
            "Parameters": [
                {"Name": n, "Value": self.claims.get(n, self.lab.name), "Version": 1 + (n in self.claims)}
                for n in names
            ]
        }

    def _get_service_quota(self, *, ServiceCode: str, QuotaCode: str) -> Json:
        return {"Quota": {"ServiceCode": ServiceCode, "QuotaCode": QuotaCode, "Value": 64.0}}

    def _get_products(self, **_asked: Any) -> Json:
        """One price for everything; the labs of our histories state their own."""
        hour = {"unit": "Hrs", "pricePerUnit": {"USD": "0.6470000000"}}
        return {"PriceList": [json.dumps({"terms": {"OnDemand": {"a": {"priceDimensions": {"b": hour}}}}})]}


def _get_parameter(*, Name: str) -> Json:
    """CDK's bootstrap."""
    return {"Parameter": {"Name": Name, "Value": "30"}}
