"""Notes of `check` on instance types: a name that our tables lack, and a type that needs a driver of its own."""

from collections.abc import Iterator

from cli.nearest import nearest
from lamplighter.data import instance_types
from lamplighter.lab.model import Lab
from lamplighter.lab.pools import Pool


def notes(lab: Lab) -> Iterator[str]:
    """A note for each pool whose type is unknown or needs a driver that not every image has."""
    for name, pool in lab.pools.items():
        for kind in pool.types:
            if instance_types.gpu_type(kind) is None and not instance_types.has_no_gpu(kind):
                yield _unknown(name, kind)
            elif driver := instance_types.driver(kind, _image(pool)):
                yield f"pool {name}: {kind} needs {driver}"


def _unknown(pool: str, kind: str) -> str:
    similar = nearest(kind, instance_types.gpu_type_names())
    meant = f"; the nearest name is {similar}" if similar else ""
    return (
        f"pool {pool}: no instance type {kind} with NVIDIA GPUs is known{meant}. A newer type works, but its GPUs are"
        " not proven"
    )


def _image(pool: Pool) -> str:
    """Which images of EKS the pool takes: `al2023`, `bottlerocket`, or "" for one of its own."""
    return pool.family if pool.family in {"al2023", "bottlerocket"} and not pool.image else ""
