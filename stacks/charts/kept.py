"""Which versions of Karpenter's charts are kept here, and the folder of each chart."""

from pathlib import Path

_HERE = Path(__file__).parent
_NAME = "karpenter-"


def kept_versions() -> tuple[str, ...]:
    """The versions whose charts are here, as text in the order of the folder's names."""
    return tuple(sorted(folder.name.removeprefix(_NAME) for folder in _HERE.glob(f"{_NAME}*/")))


def karpenter_chart(version: str) -> Path:
    """The folder of the chart with the controller. Raises ValueError for a version that is not kept."""
    return _chart("karpenter", version)


def karpenter_crd_chart(version: str) -> Path:
    """The folder of the chart with the custom resource definitions, which is installed before the other one.

    Raises ValueError for a version that is not kept.
    """
    return _chart("karpenter-crd", version)


def _chart(name: str, version: str) -> Path:
    if version not in kept_versions():
        raise ValueError(f"no chart of Karpenter {version}; there are {', '.join(kept_versions())}")
    return _HERE / f"{_NAME}{version}" / name
