"""NVIDIA's chart of the device plugin, for the tests that install it: without it they are skipped, and never passed."""

from pathlib import Path

import pytest

from lamplighter.errors import OutsideFailed
from local.kubernetes.charts.published import find_device_plugin_chart


def chart_or_skip() -> Path:
    """The folder of the chart, from the user's cache or the module proxy."""
    try:
        return find_device_plugin_chart(print)
    except OutsideFailed as error:
        pytest.skip(str(error))
