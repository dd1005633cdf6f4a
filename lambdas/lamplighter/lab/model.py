"""The model of lab.yaml: every key, its default and its unit; read at synth and at run time.

Each default has the value of the Terraform lab. This file has the types. labfile/rules/ finds values that do not fit
together, and labfile reads the file with its lines.
"""

from datetime import date, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import Field, JsonValue, StringConstraints, model_validator

from lamplighter.data import instance_types, prices, regions
from lamplighter.errors import BadInput
from lamplighter.lab.channels import Notify, Slack
from lamplighter.lab.checks import Checks
from lamplighter.lab.cluster import Cluster
from lamplighter.lab.events import Events
from lamplighter.lab.exceptions import ExceptionDates, dates_of
from lamplighter.lab.gpu_charts import DcgmExporter, DevicePlugin, GpuOperator
from lamplighter.lab.gpu_settings import GpuSettings
from lamplighter.lab.guard import Guard, Mode
from lamplighter.lab.kinds import Trait
from lamplighter.lab.names import ADMIN_ARN, BOUNDARY_ARN, CALENDAR_FILE, LAB_NAME, POOL_NAME
from lamplighter.lab.observability import Observability
from lamplighter.lab.pools import Pool
from lamplighter.lab.types import Day, OneOrMore, Part, change, unit
from lamplighter.lab.windows import Window

GpuStack = Literal["operator", "device-plugin", "built-in"]

BESIDE_A_LEASE = timedelta(hours=2)
"""How much longer a node may be needed than its lease is by the wall clock: a warm-up before it, and an hour that a
clock change adds."""
DEFAULT_TAGS = {"Environment": "cloudneta-lab", "Terraform": "true", "Week": "aews-5w"}
PoolName = Annotated[str, StringConstraints(pattern=POOL_NAME)]
CalendarFile = Annotated[str, StringConstraints(pattern=CALENDAR_FILE)]
RoleArn = Annotated[str, StringConstraints(pattern=ADMIN_ARN)]


class SecurityGroups(Part):
    """The two toggles that cut NCCL off, on purpose."""

    aux_vpc_allow: bool = Field(
        True, description="The auxiliary security group allows all traffic from the VPC."
    )
    recommended_rules: bool = Field(
        True,
        description="The node group's recommended rules: webhooks, ports 1025-65535 among nodes, egress.",
    )


class Quotas(Part):
    """vCPU quotas of the account, where you want them checked before anything is built."""

    g_and_vt_vcpus: int | None = Field(
        None,
        ge=0,
        description="Running On-Demand G and VT instances (L-DB2E81BA).",
        examples=[8],
        json_schema_extra=unit("vCPUs"),
    )
    p_vcpus: int | None = Field(
        None,
        ge=0,
        description="Running On-Demand P instances (L-417A185B).",
        examples=[96],
        json_schema_extra=unit("vCPUs"),
    )
    g_and_vt_spot_vcpus: int | None = Field(
        None,
        ge=0,
        description="All G and VT Spot Instance Requests (L-3819A6DF), for pools with buy: spot.",
        examples=[8],
        json_schema_extra=unit("vCPUs"),
    )
    p_spot_vcpus: int | None = Field(
        None,
        ge=0,
        description="All P4, P3 and P2 Spot Instance Requests (L-7212CCBC), for pools with buy: spot.",
        examples=[96],
        json_schema_extra=unit("vCPUs"),
    )


class Lab(Part):
    """One deployment: a cluster, its pools, windows, guard and channels."""

    name: str = Field(
        pattern=LAB_NAME,
        description="The lab's name; the names of its resources begin with it.",
        examples=["gpu-lab"],
    )
    region: str = Field(
        "ap-northeast-2", description="The AWS region.", json_schema_extra=unit("region name")
    )
    time_zone: str = Field(
        "Asia/Seoul",
        description="The time zone of the budget's periods, and of windows without a time zone.",
        json_schema_extra=unit("IANA name"),
    )
    owner: str = Field(
        "",
        max_length=80,
        description="Who is responsible for the lab, and for windows without an owner; left out: the lab's name.",
        examples=["platform-team"],
    )
    pools: dict[PoolName, Pool] = Field(
        default_factory=lambda: {"gpu": Pool()},
        min_length=1,
        description="GPU capacity under guard, by name; pools replace the default pool. At most 40, together with"
        " cluster.node_groups.",
    )
    guard: Guard = Field(default_factory=Guard, description="The budget, and how long leases may be.")
    windows: list[Window] = Field(
        default_factory=list,
        description="Planned openings; without windows, GPUs start only when somebody asks.",
    )
    calendars: dict[CalendarFile, str] | None = Field(
        None,
        description="The text of the calendar files that windows name, by that name; filled from the files"
        " beside the lab, so nobody has to write it.",
        json_schema_extra=unit("iCalendar text by file name"),
    )
    except_: Annotated[list[ExceptionDates], OneOrMore()] = Field(
        default_factory=list,
        alias="except",
        description="Start dates on which no window opens, written as in a window.",
        examples=[["2026-12-25", "holidays.ics"]],
        json_schema_extra=unit("YYYY-MM-DD"),
    )
    holidays: dict[CalendarFile, list[Day]] | None = Field(
        None,
        description="The whole days of the calendar files that except names, by that name; filled from the files"
        " beside the lab, so nobody has to write it.",
        json_schema_extra=unit("YYYY-MM-DD by file name"),
    )
    cluster: Cluster = Field(default_factory=Cluster, description="The EKS cluster, created or existing.")
    security_groups: SecurityGroups = Field(
        default_factory=SecurityGroups, description="The toggles of the NCCL experiment."
    )
    gpu_operator: GpuOperator = Field(default_factory=GpuOperator, description="The NVIDIA GPU Operator.")
    device_plugin: DevicePlugin = Field(
        default_factory=DevicePlugin, description="The NVIDIA device plugin by itself, without the operator."
    )
    dcgm_exporter: DcgmExporter = Field(
        default_factory=DcgmExporter, description="The NVIDIA DCGM exporter by itself, without the operator."
    )
    gpu: GpuSettings = Field(
        default_factory=GpuSettings,
        description="How GPUs are offered to pods, unless a window has its own settings.",
    )
    checks: Checks = Field(
        default_factory=Checks, description="The GPU checks before a lease counts as open."
    )
    admins: list[RoleArn] = Field(
        default_factory=list,
        description="Roles that may administer the cluster with kubectl, beside the deploying role.",
        examples=[["arn:aws:iam::123456789012:role/platform"]],
        json_schema_extra=unit("IAM role ARNs"),
    )
    permissions_boundary: str | None = Field(
        None,
        pattern=BOUNDARY_ARN,
        description="The permissions boundary of every role that the lab creates, but those with a boundary of the"
        " lab's own; for an organisation that refuses roles without one. docs/how-to/set-up/deploy.md says which these"
        " are, and how its policy admits them.",
        examples=["arn:aws:iam::123456789012:policy/organisation-boundary"],
        json_schema_extra=unit("IAM policy ARN") | change("in place"),
    )
    quotas: Quotas = Field(
        default_factory=Quotas, description="Your quotas; max_nodes is checked against them."
    )
    slack: Slack | None = Field(None, description="The Slack app; left out: the lab has no Slack.")
    events: Events | None = Field(
        None,
        description="An EventBridge bus on which programs open and close pools, and hear of it; left out: no bus.",
    )
    notify: Notify = Field(
        default_factory=Notify, description="Who gets pages and notices, and in which language."
    )
    observability: Observability = Field(
        default_factory=Observability, description="Traces and a dashboard, for those who operate the lab."
    )
    tags: dict[str, str] = Field(
        default_factory=lambda: dict(DEFAULT_TAGS),
        description="Tags on every resource, added to the default ones.",
        json_schema_extra=change("in place"),
    )

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: object) -> object:
        """Tags are completed key by key."""
        if isinstance(data, dict) and isinstance(data.get("tags"), dict):
            return {**data, "tags": {**DEFAULT_TAGS, **data["tags"]}}
        return data

    @model_validator(mode="after")
    def _name_the_rest(self) -> Self:
        """Two defaults follow from other keys: the zones from the region, the owner from the name."""
        if not self.cluster.zones:
            object.__setattr__(self.cluster, "zones", regions.zones(self.region))
        if not self.owner:
            object.__setattr__(self, "owner", self.name)
        return self

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The lab that `to_json` wrote."""
        return cls.model_validate_json(text)

    def to_json(self) -> str:
        """The normalised lab: every key with its value, but what is left to AWS.

        A lab without the keys of a later release is the text that releases before it wrote: deploy steps have a digest
        of it.
        """
        left_out: dict[str, Any] = {
            "pools": {name: pool.left_out for name, pool in self.pools.items()},
            "cluster": self.cluster.left_out,
            "guard": set() if self.guard.look_again else {"look_again"},
            "dcgm_exporter": self.dcgm_exporter == DcgmExporter() or set(),
        }
        return self.model_dump_json(by_alias=True, exclude_none=True, exclude=left_out)

    @property
    def cluster_name(self) -> str:
        """The cluster's name: the existing one's, or the lab's own."""
        return self.cluster.existing or self.name

    def nodegroup_name(self, pool: str) -> str:
        """The node group behind a pool."""
        return self.pools[pool].existing or f"{self.name}-ng-{pool}"

    def node_pool_name(self, pool: str) -> str:
        """The NodePool behind a pool of kind karpenter or auto-mode; node class and launch bar have its name."""
        return self.pools[pool].existing or f"{self.name}-{pool}"

    @property
    def falls_back(self) -> bool:
        """Whether a pool has a fallback."""
        return any(pool.fallback for pool in self.pools.values())

    def pools_with(self, trait: Trait) -> list[str]:
        """The pools whose kind has this."""
        return [name for name, pool in self.pools.items() if pool.has(trait)]

    def node_life(self, pool: str) -> timedelta:
        """How long a node of a NodePool lives at most: longer than a lease, its start and its last grace."""
        return self.guard.longest_lease + BESIDE_A_LEASE + self.pools[pool].last_grace

    @property
    def has_own_images(self) -> bool:
        """Whether a group that the lab creates has an image of the user's."""
        images = [
            self.cluster.system_nodes.image,
            *(group.image for group in self.cluster.node_groups.values()),
            *(pool.image for pool in self.pools.values() if pool.has("image type")),
        ]
        return any(images)

    def always_on_name(self, group: str) -> str:
        """The EKS name of a node group that is always on."""
        return f"{self.name}-{group}"

    def group_prefix(self, pool: str) -> str:
        """How EKS begins the name of the Auto Scaling group behind a pool, since spring 2021.

        Those made before are `eks-<uuid>`, and the lab names them (aws/containers-roadmap 1304, eksctl 3203).
        """
        return f"eks-{self.nodegroup_name(pool)}-"

    def reaches(self, pool: str, group: str) -> bool:
        """Whether what the lab's roles and rules may touch of a pool includes the Auto Scaling group of that name."""
        named = self.pools[pool].auto_scaling_group
        return group == named if named else group.startswith(self.group_prefix(pool))

    def pool_of(self, window: Window) -> str:
        """The name of the pool a window opens."""
        return window.pool if window.pool is not None else next(iter(self.pools))

    def nodes_of(self, window: Window) -> int:
        """The nodes a window opens with; as many as its seats need where it has seats."""
        pool = self.pool_of(window)
        nodes = window.nodes if window.seats is None else self.nodes_for(window.seats, pool, window.name)
        return self.pools[pool].max_nodes if nodes is None else nodes

    def nodes_for(self, seats: int, pool: str, window: str | None) -> int | None:
        """The nodes that so many people need; None where the GPUs of the pool's type are not known."""
        a_node = self.seats_a_node(pool, window)
        return None if a_node is None else -(-seats // a_node)

    def seats_of(self, window: str | None) -> int | None:
        """The seats that a window states; None for one that states none, and for a lease of none."""
        return next((one.seats for one in self.windows if one.name == window), None)

    def seats_per_gpu(self, pool: str, window: str | None) -> int:
        """How many people one GPU serves in a window, or in a lease of none."""
        return self.pools[pool].seats_per_gpu or self.shares_of_gpu(pool, window)

    def shares_of_gpu(self, pool: str, window: str | None) -> int:
        """To how many pods one GPU is offered."""
        settings = self.gpu_for(window)
        return settings.replicas * settings.slices(self.pools[pool].instance_type)

    def seats_a_node(self, pool: str, window: str | None) -> int | None:
        """How many people one node serves; None where the GPUs of its type are not known."""
        known = instance_types.gpu_type(self.pools[pool].instance_type)
        return known.gpus * self.seats_per_gpu(pool, window) if known else None

    def owner_of(self, window: Window) -> str:
        """Who answers for a window."""
        return window.owner or self.owner

    def zone_of(self, window: Window) -> str:
        """The IANA name of the zone in which a window is written."""
        return window.time_zone or self.time_zone

    def exceptions_of(self, window: Window) -> frozenset[date]:
        """The start dates on which a window does not open, its own and the lab's."""
        if not (window.except_ or self.except_):
            return frozenset()
        return dates_of((*window.except_, *self.except_), self.holidays)

    def mode(self, pool: str) -> Mode:
        """Whether the guard acts on a pool or only says what it would do."""
        return self.guard.mode or ("enforce" if self.pools[pool].existing is None else "watch")

    def curfew(self, pool: str) -> int | None:
        """The minute of the day at which AWS brings the pool to zero, by the lab's clock."""
        stated = self.pools[pool].curfew
        return self.guard.curfew if stated is None else stated

    def gpu_for(self, window: str | None) -> GpuSettings:
        """How GPUs are offered while a window is open, or for a lease of none: the window's word over the lab's."""
        return self.gpu.under(next((one.gpu for one in self.windows if one.name == window), None))

    def gpu_overlay(self, window: str | None) -> dict[str, JsonValue]:
        """Which fields of the ClusterPolicy a window changes while it is open; empty for a lease of none."""
        found = next((one.gpu for one in self.windows if one.name == window), None)
        return found.cluster_policy if found else {}

    def checks_for(self, window: str | None) -> Checks:
        """What is proven of a window's GPUs, or of a lease's of none: the window's word over the lab's."""
        return self.checks.under(next((one.checks for one in self.windows if one.name == window), None))

    @property
    def spot_pools(self) -> list[str]:
        """The pools whose nodes are Spot Instances that the lab buys."""
        return [name for name, pool in self.pools.items() if pool.spot]

    @property
    def efa_pools(self) -> list[str]:
        """The pools of the lab's own that have EFA: those of others bring what it needs."""
        return [name for name, pool in self.pools.items() if pool.efa and pool.existing is None]

    def gpu_stack(self, pool: str) -> GpuStack:
        """What announces a pool's GPUs to Kubernetes: the operator, the plugin's own chart, or what nodes bring along.

        Bottlerocket's images and nodes of EKS Auto Mode bring a device plugin, whatever else is installed. Of a pool
        with neither chart nothing else is known, so its nodes are taken to bring one too.
        """
        if self.pools[pool].brings_plugin:
            return "built-in"
        if self.gpu_operator.enabled:
            return "operator"
        return "device-plugin" if self.device_plugin.enabled else "built-in"

    @property
    def exporter_namespace(self) -> str:
        """Where the DCGM exporter runs."""
        return (self.dcgm_exporter if self.dcgm_exporter.enabled else self.gpu_operator).namespace

    def discovers(self, pool: str) -> bool:
        """Whether GPU feature discovery labels a pool's nodes."""
        return {
            "operator": True,
            "device-plugin": self.device_plugin.discovers,
            "built-in": False,
        }[self.gpu_stack(pool)]

    def priced(self, pool: str) -> str:
        """What a node of a pool is in the ledger's prices: its type, with the kind where that adds a fee."""
        found = self.pools[pool]
        return found.instance_type + (f"+{found.kind}" if found.has("fee") else "")

    def price(self, pool: str) -> Decimal:
        """What a node of the pool costs for an hour, in the budget's currency; BadInput when unknown."""
        stated = self.pools[pool].price_per_hour
        if stated is not None:
            return stated
        types, currency = self.pools[pool].types, self.guard.budget.currency
        known = prices.dearest(self.region, types, currency, fee=self.pools[pool].has("fee"))
        if known is None:
            raise BadInput(
                f"pools.{pool}.price_per_hour: no price of {' and '.join(types) or 'its nodes'} is known"
                f" in {self.region} in {currency}, state what a node costs for an hour"
            )
        return known
