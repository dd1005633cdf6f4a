"""Whether the plugins that announce GPUs fit the lab: one plugin on a node, and no settings that nothing applies.

gpu.py checks the settings; cluster.py checks images and versions.
"""

from collections.abc import Iterator

from lamplighter.domain.gpu.device_plugin import pools as of_the_chart
from lamplighter.domain.gpu.sharing import sharings
from lamplighter.lab.gpu_settings import GpuSettings
from lamplighter.lab.keys import Path
from lamplighter.lab.model import Lab
from lamplighter.labfile.rules.parts import Misfit

PLUGIN: Path = ("device_plugin", "enabled")
OPERATOR: Path = ("gpu_operator", "enabled")
EXPORTER: Path = ("dcgm_exporter", "enabled")
MONITORING: Path = ("cluster", "node_monitoring")
CONFIG: Path = ("device_plugin", "values", "config")


def misfits(lab: Lab) -> Iterator[Misfit]:
    """The mistakes in the GPU stacks."""
    if lab.device_plugin.enabled and lab.gpu_operator.enabled:
        yield Misfit(
            PLUGIN,
            "is true, but the GPU Operator installs a device plugin too, and a node can have only one;"
            " write gpu_operator: {enabled: false}, or leave this out",
            (OPERATOR,),
        )
        return
    if lab.device_plugin.enabled and not of_the_chart(lab):
        yield Misfit(
            PLUGIN,
            "is true, but the image of every pool has its own device plugin; leave it out",
            (("pools",),),
        )
    yield from _exporter(lab)
    yield from _use(lab)
    if lab.cluster.node_monitoring and lab.cluster.existing is not None:
        yield Misfit(
            MONITORING,
            "is true, but nothing is installed in an existing cluster; add eks-node-monitoring-agent there"
            " yourself and leave this out: the checks read it where it runs",
            (("cluster", "existing"),),
        )
    if "config" in lab.device_plugin.values and sharings(lab):
        yield Misfit(
            CONFIG,
            "is set as well as share or sharing, which use it; keep one of the two",
            (("gpu",), ("windows",)),
        )
    yield from _settings(lab, lab.gpu, ("gpu",), list(lab.pools))
    for index, window in enumerate(lab.windows):
        if window.gpu is None or (window.pool is not None and window.pool not in lab.pools):
            continue
        pool = lab.pool_of(window)
        yield from _settings(lab, window.gpu, ("windows", index, "gpu"), [pool])
        if window.gpu.cluster_policy and lab.gpu_operator.enabled and lab.gpu_stack(pool) != "operator":
            yield Misfit(
                ("windows", index, "gpu", "cluster_policy"),
                f"changes the GPU Operator, but the GPUs of pool {pool} come from the plugin in its image,"
                " which does not read it; leave it out",
                (("pools", pool, "ami_type"),),
            )


def _exporter(lab: Lab) -> Iterator[Misfit]:
    """The DCGM exporter's own chart: only for nodes of the device-plugin chart, in a cluster that the lab creates."""
    if not lab.dcgm_exporter.enabled:
        return
    if lab.gpu_operator.enabled:
        text = (
            "is true, but the GPU Operator has an exporter of its own (dcgmExporter in gpu_operator.values);"
            " leave this out"
        )
        yield Misfit(EXPORTER, text, (OPERATOR,))
    elif lab.cluster.existing is not None:
        text = (
            "is true, but nothing is installed in an existing cluster; install the chart there yourself and leave"
            " this out"
        )
        yield Misfit(EXPORTER, text, (("cluster", "existing"),))
    elif not of_the_chart(lab):
        text = (
            "is true, but it runs only on pools whose GPUs the device-plugin chart announces; write device_plugin:"
            " {enabled: true}, or leave this out"
        )
        yield Misfit(EXPORTER, text, (PLUGIN, ("pools",)))


def _use(lab: Lab) -> Iterator[Misfit]:
    """Idle time by GPU needs an exporter on every pool's nodes; of an existing cluster nobody knows."""
    if lab.guard.idle_by != "gpu" or lab.cluster.existing is not None:
        return
    operators = lab.gpu_operator.values.get("dcgmExporter")
    off = isinstance(operators, dict) and operators.get("enabled") is False
    exports = {"operator": not off, "device-plugin": lab.dcgm_exporter.enabled, "built-in": False}
    without = [pool for pool in lab.pools if not exports[lab.gpu_stack(pool)]]
    if without:
        text = (
            f"is gpu, but no DCGM exporter runs on the nodes of pool {without[0]}; write pods, or install one"
        )
        yield Misfit(("guard", "idle_by"), text, (OPERATOR, EXPORTER, ("pools",)))


def _settings(lab: Lab, said: GpuSettings, path: Path, pools: list[str]) -> Iterator[Misfit]:
    """MPS by the chart: its daemon starts where GPU feature discovery has labelled the node, and nowhere else."""
    if said.shared is None or said.shared.strategy != "mps" or lab.device_plugin.discovers:
        return
    if any(lab.gpu_stack(pool) == "device-plugin" for pool in pools):
        yield Misfit(
            (*path, "sharing", "strategy"),
            "is mps, whose daemon the device-plugin chart starts only where GPU feature discovery has labelled the"
            " node; write time-slicing, or device_plugin: {values: {gfd: {enabled: true}}}",
            (("device_plugin", "values"),),
        )
