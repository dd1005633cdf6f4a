"""A lab with a bus, in memory."""

from pathlib import Path

import pytest

from tests.unit.events.bus import LabWithBus, lab_with_bus


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> LabWithBus:
    """A lab with a bus, at eight in the evening in UTC."""
    return lab_with_bus(monkeypatch, tmp_path)
