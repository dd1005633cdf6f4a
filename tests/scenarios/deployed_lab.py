"""The noon on which most scenarios begin, and a cloud of their own with a lab that is written in the test."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from local.cloud import Cloud

NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


@contextmanager
def deployed_lab(
    folders: pytest.TempPathFactory,
    lab: str,
    *,
    start: datetime = NOON,
    rate: float | None = None,
    found: Callable[[Cloud], None] = lambda _: None,
) -> Iterator[Cloud]:
    """The cloud, up. `found` makes what somebody has in the account before the lab is deployed."""
    path = folders.mktemp("lab") / "lab.yaml"
    path.write_text(lab, "utf-8")
    with Cloud(path, rate=rate, start=start, progress=print, found=found) as cloud:
        cloud.up()
        yield cloud
