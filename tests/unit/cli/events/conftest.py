"""The lab with a bus."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.cli.events.given import Bus, lab_with_a_bus


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Bus]:
    with lab_with_a_bus(monkeypatch, tmp_path) as made:
        yield made
