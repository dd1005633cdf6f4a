"""Checks whether the nodes can offer GPUs as the lab and its windows ask.

It checks fields, GPU model, image and their combinations. domain/gpu/sharing.py knows the meaning of a setting, and
lab/cluster_policy.py has the schema of the ClusterPolicy.
"""

from collections.abc import Iterator

from lamplighter.data import instance_types
from lamplighter.data.gpu import mig
from lamplighter.domain.gpu.sharing import mig_strategy, sharings
from lamplighter.lab.cluster_policy import faults
from lamplighter.lab.gpu_settings import GpuSettings
from lamplighter.lab.keys import Path, hint
from lamplighter.lab.model import Lab
from lamplighter.lab.types import shown
from lamplighter.labfile.rules.parts import Misfit

# Without these components no node announces a GPU, or no GPU is recognised: a lease would wait for its GPUs for ever.
NEEDED = ("devicePlugin", "gfd")


def misfits(lab: Lab) -> Iterator[Misfit]:
    """The mistakes in the GPU settings of the lab and its windows."""
    everywhere = list(lab.pools)
    yield from _settings(lab, lab.gpu, lab.gpu, ("gpu",), everywhere)
    for index, window in enumerate(lab.windows):
        if window.gpu is None or (window.pool is not None and window.pool not in lab.pools):
            continue
        path: Path = ("windows", index, "gpu")
        resolved = lab.gpu_for(window.name)
        yield from _settings(lab, window.gpu, resolved, path, [lab.pool_of(window)])
        yield from _taken_away(window.gpu, path)


def _settings(
    lab: Lab, settings: GpuSettings, resolved: GpuSettings, path: Path, pools: list[str]
) -> Iterator[Misfit]:
    """The mistakes of the settings at one place. `resolved` has all settings that apply there."""
    if settings.share is not None and settings.sharing is not None:
        yield Misfit((*path, "share"), "is given beside sharing, keep one of the two", ((*path, "sharing"),))
    shared: Path = (*path, "share" if settings.sharing is None else "sharing")
    for pool in pools:
        keys = (lab.pools[pool].types_key, "ami_type", "kind")
        reads: tuple[Path, ...] = tuple(("pools", pool, key) for key in keys)
        for instance_type in lab.pools[pool].types if settings.mig is not None else ():
            yield from _mig(lab, settings, (*path, "mig"), (pool, instance_type), reads)
        if settings.shared is not None and lab.gpu_stack(pool) == "built-in":
            yield Misfit(shared, _announced_whole(lab, pool), reads)
    yield from _together(lab, settings, resolved, path, shared)
    yield from _policy(lab, settings, (*path, "cluster_policy"))


def _announced_whole(lab: Lab, pool: str) -> str:
    if lab.pools[pool].has("built-in GPUs"):
        return (
            f"shares the GPUs of pool {pool}, but EKS Auto Mode announces them whole and has no setting for it; leave"
            " it out, or take a pool of another kind"
        )
    if lab.pools[pool].brings_plugin:
        return (
            f"shares the GPUs of pool {pool}, but Bottlerocket's own plugin shares only by the node setting"
            " settings.kubelet-device-plugins.nvidia, which no window can change; take an AL2023 image, or leave it out"
        )
    return (
        f"shares the GPUs of pool {pool}, but neither the GPU Operator nor the device-plugin chart is enabled, and what"
        " nodes bring along announces them whole; enable one, or leave it out"
    )


def _mig(
    lab: Lab, settings: GpuSettings, path: Path, of: tuple[str, str], reads: tuple[Path, ...]
) -> Iterator[Misfit]:
    pool, instance_type = of
    known = instance_types.gpu_type(instance_type)
    if not settings.sliced or known is None:
        return
    if lab.gpu_stack(pool) != "operator":
        only = "which only the GPU Operator can"
        if lab.pools[pool].has("built-in GPUs"):
            only = "but EKS Auto Mode has no setting for it"
        yield Misfit(path, f"cuts the GPUs of pool {pool}, {only}; leave it out", reads)
        return
    profiles = mig.profiles(instance_type)
    profile = str(settings.mig_config).removeprefix("all-")
    if not profiles:
        yield Misfit(
            path,
            f"is {profile}, but {instance_type} of pool {pool} has {known.model} GPUs, which cannot be cut into"
            f" slices; leave it out, or take a type of {', '.join(mig.families()[:3])}",
            reads,
        )
    elif profile not in profiles:
        yield Misfit(
            path,
            f"is {profile}, no profile of {mig.model(instance_type)}{hint(profile, profiles)}",
            reads,
        )


def _together(
    lab: Lab, settings: GpuSettings, resolved: GpuSettings, path: Path, shared: Path
) -> Iterator[Misfit]:
    """Mistakes of slices, of sharing, and of the resource names of slices."""
    if not resolved.sliced:
        return
    reads: tuple[Path, ...] = (("gpu", "mig"), ("gpu", "cluster_policy"), ("gpu_operator", "values"))
    strategy = mig_strategy(lab, resolved)
    where: Path = (*path, "mig") if settings.mig is not None else path
    if strategy == "none":
        yield Misfit(
            where, "cuts GPUs into slices, but mig.strategy is none: nobody would be offered one", reads
        )
    unequal = resolved.mig_config == "all-balanced"
    if unequal and strategy == "single":
        yield Misfit(
            where,
            "is balanced, which makes slices of several sizes, but mig.strategy single wants all alike;"
            " write cluster_policy: {mig: {strategy: mixed}}",
            reads,
        )
    if resolved.shared is not None and resolved.shared.strategy == "mps":
        yield Misfit(
            shared, "shares slices by MPS, which works on whole GPUs only; write time-slicing", reads
        )
    elif resolved.shared is not None and strategy == "mixed":
        yield Misfit(
            shared,
            "shares slices, whose names under mig.strategy mixed it does not know; write single",
            reads,
        )


def _policy(lab: Lab, settings: GpuSettings, path: Path) -> Iterator[Misfit]:
    if not settings.cluster_policy:
        return
    if not lab.gpu_operator.enabled and (lab.cluster.existing is None or lab.device_plugin.enabled):
        yield Misfit(
            path,
            "changes the GPU Operator, but gpu_operator.enabled is false; enable it or leave this out",
            (("gpu_operator", "enabled"),),
        )
    for inner, text in faults(settings.cluster_policy):
        yield Misfit((*path, *inner), text)
    plugin = settings.cluster_policy.get("devicePlugin")
    if isinstance(plugin, dict) and "config" in plugin and sharings(lab):
        yield Misfit(
            (*path, "devicePlugin", "config"),
            "is where share and sharing are kept; keep one of the two",
            (("gpu",), ("windows",)),
        )


def _taken_away(settings: GpuSettings, path: Path) -> Iterator[Misfit]:
    for part in NEEDED:
        component = settings.cluster_policy.get(part)
        if isinstance(component, dict) and component.get("enabled") is False:
            yield Misfit(
                (*path, "cluster_policy", part, "enabled"),
                f"is {shown(False)}, which would leave the window without GPUs that can be proven; leave it out",
            )
