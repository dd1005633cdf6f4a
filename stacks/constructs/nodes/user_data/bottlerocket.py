"""Bottlerocket: settings in TOML. It runs no script and has no packages.

Settings: https://bottlerocket.dev/en/os/latest/api/settings/kubernetes/
"""

from stacks.constructs.nodes.spec import ClusterAddress, NodeGroupSpec
from stacks.constructs.nodes.user_data.registration import dns_address, labels


def part(spec: NodeGroupSpec) -> str | None:
    """The lab's settings, which EKS merges with its own."""
    return f"[settings.kubernetes]\n{_max_pods(spec)}" if spec.max_pods is not None else None


def whole(spec: NodeGroupSpec, cluster: ClusterAddress) -> str:
    """The address of the cluster, and EKS's labels and the taints of the group."""
    settings = (
        "[settings.kubernetes]\n"
        f'cluster-name = "{cluster.name}"\n'
        f'api-server = "{cluster.endpoint}"\n'
        f'cluster-certificate = "{cluster.certificate_authority}"\n'
        f'cluster-dns-ip = "{dns_address(cluster)}"\n'
        f"{_max_pods(spec)}"
        "\n[settings.kubernetes.node-labels]\n"
    )
    settings += "".join(f'"{key}" = "{value}"\n' for key, value in labels(spec).items())
    if spec.taints:
        settings += "\n[settings.kubernetes.node-taints]\n"
        for key in dict.fromkeys(taint.key for taint in spec.taints):
            values = ", ".join(f'"{t.value}:{t.effect}"' for t in spec.taints if t.key == key)
            settings += f'"{key}" = [{values}]\n'
    return settings


def _max_pods(spec: NodeGroupSpec) -> str:
    return f"max-pods = {spec.max_pods}\n" if spec.max_pods is not None else ""
