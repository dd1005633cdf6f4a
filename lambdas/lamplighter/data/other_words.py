"""The words of other tools for keys of lab.yaml: Terraform, eksctl, Kubernetes and Instance Scheduler."""

from collections.abc import Mapping

_MEANT: Mapping[str, str] = {
    "max_nodes": "max_size maximum max_count max_capacity max_node_count",
    "nodes": "count replicas size capacity desired node_count num_nodes",
    "instance_type": "type machine_type vm_size flavor",
    "price_per_hour": "price cost hourly_price cost_per_hour",
    "disk_gib": "disk_size volume_size",
    "longest_lease": "max_duration max_length max_lease duration_limit ttl",
    "default_lease": "default_duration",
    "windows": "schedules schedule periods sessions classes bookings",
    "days": "weekdays weekday day_of_week",
    "dates": "monthdays on",
    "start": "begin begintime begin_time start_time starttime opens open",
    "end": "stop endtime end_time stop_time closes close",
    "from": "start_date begin_date",
    "until": "end_date expires",
    "except": "holidays exclude excluded exclude_dates exceptions exdates",
    "calendar": "ics ical icalendar",
    "time_zone": "tz zone zoneinfo",
    "kubernetes_version": "cluster_version k8s_version eks_version",
    "cluster.existing": "cluster_name",
    "idle_after": "idle_timeout idle",
}
_KEYS = {word: key for key, words in _MEANT.items() for word in words.split()}
_NO_NODES = "leave it out: a pool has nodes only while it is open"
# A stopped instance holds no capacity: its start can fail for want of it, as any other does
# (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/troubleshooting-launch.html).
_NO_WARM_POOL = (
    "leave it out: a lab has no warm pools, since a stopped node holds no capacity and a running one needs a lease;"
    " write ready: by in the window"
)
_NEEDLESS: Mapping[str, str] = {
    **dict.fromkeys(("min_size", "min_nodes", "minimum", "min_count", "min_capacity"), _NO_NODES),
    **dict.fromkeys(("desired_size", "desired_capacity", "desired_nodes", "initial_size"), _NO_NODES),
    **dict.fromkeys(
        ("cron", "cron_expression", "recurrence", "rrule", "schedule_expression"),
        "write days, start and end",
    ),
    "duration": "write end",
    **dict.fromkeys(("warm", "warm_pool", "warm_pool_config"), _NO_WARM_POOL),
}


def key_for(word: str) -> str | None:
    """The key that other tools call by this word."""
    return _KEYS.get(_plain(word))


def advice_for(word: str) -> str | None:
    """What to do in place of a key that a lab does not need."""
    return _NEEDLESS.get(_plain(word))


def _plain(word: str) -> str:
    """MinSize, minSize and min-size as min_size."""
    parted = "".join(f"_{mark}" if mark.isupper() else mark for mark in word.replace("-", "_"))
    return parted.lower().strip("_")
