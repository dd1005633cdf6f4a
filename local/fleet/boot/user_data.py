"""Reads user data as the start-up program of an image does, and tells a custom image by the form of its data."""

from local.fleet.boot import bootstrap_script, bottlerocket, node_config, windows
from local.fleet.boot.images import Family
from local.fleet.boot.settings import BadUserData, NodeSettings

_READERS = {
    Family.AL2: bootstrap_script.read,
    Family.AL2023: node_config.read,
    Family.BOTTLEROCKET: bottlerocket.read,
    Family.WINDOWS: windows.read,
}


def read(family: Family, text: str) -> NodeSettings:
    """The settings in the data. Raises BadUserData if the start-up program cannot read it."""
    return _READERS[family](text)


def family_by_form(text: str) -> Family | None:
    """The operating system for which somebody wrote the data; None if no form fits."""
    if "<powershell>" in text.lower():
        return Family.WINDOWS
    if bootstrap_script.SCRIPT in text:
        return Family.AL2
    if node_config.API_VERSION in text:
        return Family.AL2023
    try:
        return Family.BOTTLEROCKET if bottlerocket.settings_in(text) else None
    except BadUserData:
        return None
