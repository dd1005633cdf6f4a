"""Labs with classes, for the tests of classes."""

from typing import Any

from lamplighter.lab.model import Lab

CLASS: dict[str, Any] = {
    "namespace": "gpu-101",
    "people": [{"group": "gpu-101-students"}],
    "quota_per_seat": {"cpu": "500m", "memory": "1.5Gi", "pods": "4"},
}
TIMES = {"days": ["daily"], "start": "20:00", "end": "23:00"}


def window(
    name: str, seats: int = 2, namespace: str = "gpu-101", *, terms: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """A window with a class; `terms` changes keys of the class."""
    made = {**CLASS, "namespace": namespace, **(terms or {})}
    return {"name": name, **TIMES, "seats": seats, "class": made, **more}


def lab(*windows: dict[str, Any], **more: Any) -> Lab:
    return Lab.model_validate({"name": "lab", "windows": list(windows), **more})
