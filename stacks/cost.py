"""The monthly cost of a lab that nobody uses, counted from its templates: docs/reference/cost.md.

Prices are in prices.json with their date. The ledger counts the cost of GPU nodes.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from lamplighter.data import prices, standing
from lamplighter.domain.leases.progress import Stage
from lamplighter.lab.model import Lab
from stacks.constructs.http.throttle import REQUESTS_A_SECOND

HOURS = Decimal(730)
MINUTES_IN = {"minute": Decimal(1), "hour": Decimal(60), "day": Decimal(1440)}

# Each run is counted as if it started cold, though Lambda may keep a function from one sweep to the next. AWS bills
# Init since August 2025 ("AWS Lambda standardizes billing for INIT Phase", AWS Compute Blog, 29 April 2025). Measured
# on the embedded cloud, a new guard of 512 MiB is billed 1.16 s for an event with 12 calls (performance.md, Memory).
# A sweep at rest makes 19 calls (`sweep-calls-at-rest`) of 15 ms: 1.27 s. Twelve of them are the ledger's.
SECONDS_A_RUN = Decimal("1.3")
READS_A_RUN = Decimal(15)
WRITES_A_RUN = Decimal(1)
LOGGED_GIB_A_RUN = Decimal(2) / 2**20

# Lambda polls a queue with five long polls of 20 s each, and with a maximum of concurrency never with fewer
# (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html, 2026-11).
POLLERS = Decimal(5)
POLL_SECONDS = Decimal(20)
# The events of one window: open and close put by somebody, both answered; the pool opens and closes, with a verdict,
# two warnings and a receipt. Each request is delivered once, answered once, and each delivery is four calls of SQS.
REQUESTS_OF_A_WINDOW = Decimal(2)
TOLD_IN_A_WINDOW = Decimal(9)
SQS_CALLS_A_REQUEST = Decimal(4)

# The stages of a warm-up and their whole, breaches, node-seconds without a lease, Slack's answers, lost answers, and
# what was not Slack's.
METRICS = len(Stage) + 6
CENT = Decimal("0.01")

SLACK, EVENTS = "Slack", "Events"
"""The controller's constructs that a lab has only with a key: the names of their resources begin so."""

Template = Mapping[str, Any]


@dataclass(frozen=True)
class CostLine:
    """One item of the monthly bill."""

    what: str
    counted: str
    amount: Decimal


def price(name: str) -> Decimal:
    """A price of prices.json, in USD."""
    return Decimal(_prices()[name])


def part(template: Template, construct: str) -> Template:
    """The resources of one construct of the controller."""
    return {"Resources": {n: r for n, r in template["Resources"].items() if n.startswith(construct)}}


def controller(template: Template) -> list[CostLine]:
    """The controller of an idle lab without Slack and events: the guard sweeps, the planner plans, alarms watch."""
    resources = template["Resources"].items()
    return _idle({"Resources": {n: r for n, r in resources if not n.startswith((SLACK, EVENTS))}})


def _idle(template: Template) -> list[CostLine]:
    """What runs, waits and watches while nobody uses the lab."""
    lines = []
    runs_in_all = counts = Decimal(0)
    functions = _named(template, "AWS::Lambda::Function")
    for rule in _of_type(template, "AWS::Events::Rule"):
        runs = _runs(rule)
        for target in rule["Targets"] if runs else []:
            function = functions.get(_referred(target["Arn"]))
            if function is None:
                continue
            runs_in_all += runs
            counts += runs if "DEAD_LETTERS_URL" in function["Environment"]["Variables"] else 0
            gib = Decimal(function["MemorySize"]) / 1024
            each = SECONDS_A_RUN * gib * price("lambda_arm_gib_second") + price("lambda_request")
            lines.append(
                CostLine(
                    f"function {function['FunctionName']}",
                    f"{runs:.0f} runs of {SECONDS_A_RUN} s at {function['MemorySize']} MiB",
                    runs * each,
                )
            )
    units = READS_A_RUN * price("dynamodb_read_unit") + WRITES_A_RUN * price("dynamodb_write_unit")
    lines.append(
        CostLine("ledger", f"{READS_A_RUN} reads and {WRITES_A_RUN} write a run", runs_in_all * units)
    )
    logged = runs_in_all * LOGGED_GIB_A_RUN
    lines.append(CostLine("logs", f"{logged * 1024:.0f} MiB", logged * price("logs_ingested_gib")))
    if counts:
        lines.append(CostLine("counts of dead letters", f"{counts:.0f}", counts * price("sqs_request")))
    polls = _queue(template)
    lines += [polls] if polls.amount else []
    alarms = len(_of_type(template, "AWS::CloudWatch::Alarm"))
    lines.append(CostLine("alarms", f"{alarms} of one metric each", alarms * price("alarm_metric_month")))
    lines.append(
        CostLine(
            "workflows, schedules, rules, topics, queue, stream, pages", "nothing while idle", Decimal(0)
        )
    )
    return lines


def events(template: Template) -> list[CostLine]:
    """The bus of an idle lab: nobody puts a request, and the lab tells nothing."""
    return [line for line in _idle(part(template, EVENTS)) if line.amount]


def slack(template: Template) -> list[CostLine]:
    """Slack of an idle lab: nobody types, and no function runs."""
    return [CostLine("secret", "1", price("secret_month")), _queue(part(template, SLACK))]


def _queue(template: Template) -> CostLine:
    """The polls of queues; a mapping without a starting position takes from one."""
    mappings = _of_type(template, "AWS::Lambda::EventSourceMapping")
    queues = [mapping for mapping in mappings if "StartingPosition" not in mapping]
    polls = len(queues) * POLLERS * HOURS * 3600 / POLL_SECONDS
    counted = f"{polls:.0f} long polls of {POLL_SECONDS} s by {POLLERS} pollers"
    return CostLine("polls of the queue", counted, polls * price("sqs_request"))


def flood(requests: int) -> Decimal:
    """So many requests to Slack's address that are not Slack's: API Gateway, SQS in batches of ten, and the function.

    A batch is received and deleted by one call each, and takes the function a tenth of a second.
    """
    calls = Decimal(requests) * (1 + Decimal("0.2")) * price("sqs_request")
    runs = Decimal(requests) / 10 * (price("lambda_arm_gib_second") / 10 + price("lambda_request"))
    return Decimal(requests) * price("rest_request") + calls + runs


def events_of_a_window(template: Template) -> list[CostLine]:
    """One window that somebody opens and closes by an event."""
    put = REQUESTS_OF_A_WINDOW + TOLD_IN_A_WINDOW
    runs = REQUESTS_OF_A_WINDOW + TOLD_IN_A_WINDOW
    functions = _of_type(part(template, EVENTS), "AWS::Lambda::Function")
    memory = max(Decimal(function["MemorySize"]) for function in functions)
    run = SECONDS_A_RUN * memory / 1024 * price("lambda_arm_gib_second") + price("lambda_request")
    calls = REQUESTS_OF_A_WINDOW * SQS_CALLS_A_REQUEST
    units = READS_A_RUN * price("dynamodb_read_unit") + WRITES_A_RUN * price("dynamodb_write_unit")
    logged = runs * LOGGED_GIB_A_RUN
    return [
        CostLine("custom events", f"{put} put", put * price("custom_event")),
        CostLine("functions", f"{runs} runs of {SECONDS_A_RUN} s", runs * run),
        CostLine("queue of requests", f"{calls} calls", calls * price("sqs_request")),
        CostLine("ledger", f"{READS_A_RUN} reads and {WRITES_A_RUN} write a run", runs * units),
        CostLine("logs", f"{logged * 1024 * 1024:.0f} KiB", logged * price("logs_ingested_gib")),
    ]


def traces(template: Template) -> Decimal:
    """How many invocations of an idle lab X-Ray could record in a month: all of them."""
    return sum((_runs(rule) for rule in _of_type(template, "AWS::Events::Rule")), Decimal(0))


def cluster(template: Template, region: str) -> list[CostLine]:
    """The standing cost of a created cluster, GPU pools at zero."""
    gateways = len(_of_type(template, "AWS::EC2::NatGateway"))
    addresses = len(_of_type(template, "AWS::EC2::EIP"))
    lines = [
        CostLine(
            "EKS control plane", "1, in standard support", HOURS * _standing(region, "eks_cluster_hour")
        ),
        CostLine(
            "NAT gateway",
            f"{gateways}, traffic apart",
            gateways * HOURS * _standing(region, "nat_gateway_hour"),
        ),
        CostLine(
            "its public address", f"{addresses}", addresses * HOURS * _standing(region, "public_ipv4_hour")
        ),
    ]
    templates = _named(template, "AWS::EC2::LaunchTemplate")
    for group in _of_type(template, "AWS::EKS::Nodegroup"):
        nodes = group["ScalingConfig"]["DesiredSize"]
        if not isinstance(nodes, int):
            continue  # a pool: its size is read at a deploy, and idle means zero
        data = templates[_referred(group["LaunchTemplate"]["Id"])]["LaunchTemplateData"]
        kind, disk = data["InstanceType"], data["BlockDeviceMappings"][0]["Ebs"]["VolumeSize"]
        hourly = prices.on_demand(region, kind)
        if hourly is not None:
            lines.append(CostLine("system nodes", f"{nodes} x {kind}", nodes * HOURS * hourly))
        lines.append(
            CostLine(
                "their disks", f"{nodes} x {disk} GiB gp3", nodes * disk * _standing(region, "gp3_gib_month")
            )
        )
    return lines


def _standing(region: str, name: str) -> Decimal:
    """The cost of resources beside the pools; 0 for a resource without a known price in the region."""
    return standing.price(region, name) or Decimal(0)


def total(lines: Iterable[CostLine]) -> Decimal:
    """The sum of the amounts, unrounded."""
    return sum((line.amount for line in lines), Decimal(0))


def page(assembly: Path, lab: Lab) -> str:
    """The page of a lab's assembly."""
    standing = cluster(_read(assembly, f"{lab.name}-cluster"), lab.region)
    read = _read(assembly, f"{lab.name}-controller")
    idle, with_slack, bus = controller(read), slack(read), events(read)
    polls = next(line.amount for line in with_slack if line.what == "polls of the queue")
    known = _prices()
    window = events_of_a_window(read)
    return f"""# What it costs

Generated from the templates of the default lab, with events, by `make docs`. USD a month of {HOURS} hours, in
{lab.region}. Prices as of {known["known"]}: {known["source"]}.

## The controller, idle

{_table(idle)}

Each run is counted as if it started cold, with the time that
[the embedded cloud measured](performance.md#memory). An account has ten alarms free.

A lab with NodePools pays {_shown(polls)} more, for Lambda's polls of the queue of EC2's events. An account has a
million requests to SQS a month free, which the queues of Slack and of events use too. Instances that others in the
account start add at most 15 runs of the guard a minute, while they do.

A pool that is bought from a reservation adds nothing: a sweep reads the reservation, which EC2 does not bill. What AWS
bills for the reservation itself, used or not, is in no figure here.

## Slack

A lab with the key `slack` pays {_shown(total(with_slack))} more, {_shown(total(idle) + total(with_slack))} in all; its
functions rest while nothing happens and nobody asks:

{_rows(with_slack)}

Lambda asks the queue for requests all the time, also when there are none. An account has a million requests to SQS a
month free. While these are not used up, the lab pays {_shown(total(idle) + total(with_slack) - polls)} in all.
A lab that names a secret that you have already (`slack.secret_arn`) makes none, and pays
{_shown(total(idle) + polls)} in all.

Both have their reason. Without a maximum of concurrency Lambda would poll with two pollers, but a flood would take
every function of a new account. A parameter of SSM would cost nothing, but the policy AmazonSSMManagedInstanceCore of
each node lets it read the parameters of the account.

Whoever posts to Slack's address without Slack's signature costs the lab money. The address takes
{REQUESTS_A_SECOND} requests a second, so that is {_shown(flood(REQUESTS_A_SECOND * 3600))} an hour at most. Against
such a flood, put AWS WAF before the address.

## Logs, metrics, traces and a dashboard

The logs are counted above. A custom metric costs {price("custom_metric_month"):.2f} a month for each set of
dimensions, by the hours in which it is written; an account has ten free. An idle lab writes none.
A lab that opens, closes and answers in Slack writes {METRICS} at the most. With `observability.dashboard` one dashboard
costs {price("dashboard_month"):.2f} a month; an account has three free. With `observability.queue_alarms` Slack and the
bus each have an alarm for {price("alarm_metric_month"):.2f}; an account has ten free.
With `observability.tracing` X-Ray takes
{price("million_traces"):.2f} for a million recorded traces; by default it records one request a second and 5 % of the
rest, so an idle lab pays less than {_shown(traces(read) * price("million_traces") / 1_000_000 + CENT)}.

## Windows

A window adds its workflows' transitions, {price("state_transition") * 1000:.4f} for a thousand.

## Events

A lab without the key `events` has no bus, no queue and no such function, and pays nothing for them. A lab with it pays
{_shown(total(bus))} a month while nobody puts an event:

{_rows(bus)}

Lambda asks the queue for requests all the time, also when there are none. That is the largest part. An account has a
million requests to SQS a month free, and ten alarms.

A window that is opened and closed by an event costs {total(window):.5f} more in all:

{_rows(window, places=7)}

EventBridge bills each custom event that is put, for every 64 KB of it. A rule of your own on the bus costs nothing;
what such a rule delivers to another account's bus is a custom event for the lab's account. Whoever puts events that the
lab refuses pays for one event, and the lab for its answer and for the functions.

## The cluster, with every pool at zero

{_table(standing)}

An adopted cluster costs what it cost before. Data through the NAT gateway, control-plane logs and what your own
workloads use come on top. GPU nodes cost what the receipts say.

To compare with the price list:

```console
aws pricing get-products --region us-east-1 --service-code AmazonEKS \\
  --filters Type=TERM_MATCH,Field=regionCode,Value={lab.region}
```
"""


def _table(lines: list[CostLine]) -> str:
    return f"{_rows(lines)}\n| **in all** | | **{_shown(total(lines))}** |"


def _rows(lines: list[CostLine], places: int = 2) -> str:
    rows = [f"| {line.what} | {line.counted} | {line.amount:.{places}f} |" for line in lines]
    return "\n".join(["| what | counted | USD |", "|---|---|---|", *rows])


def _shown(amount: Decimal) -> str:
    return f"{amount:.2f}"


def _runs(rule: Mapping[str, Any]) -> Decimal:
    """How often a rule fires in a month; 0 for one that waits for events."""
    rate = re.fullmatch(r"rate\((\d+) (minute|hour|day)s?\)", rule.get("ScheduleExpression", ""))
    return Decimal(0) if rate is None else HOURS * 60 / (int(rate[1]) * MINUTES_IN[rate[2]])


def _prices() -> dict[str, str]:
    document: dict[str, str] = json.loads((Path(__file__).parent / "prices.json").read_text("utf-8"))
    return document


def _read(assembly: Path, stack: str) -> Template:
    document: Template = json.loads((assembly / f"{stack}.template.json").read_text("utf-8"))
    return document


def _of_type(template: Template, kind: str) -> list[Mapping[str, Any]]:
    return list(_named(template, kind).values())


def _named(template: Template, kind: str) -> dict[str, Mapping[str, Any]]:
    found = template["Resources"].items()
    return {name: resource["Properties"] for name, resource in found if resource["Type"] == kind}


def _referred(reference: Mapping[str, Any]) -> str:
    return str(reference["Ref"] if "Ref" in reference else reference["Fn::GetAtt"][0])
