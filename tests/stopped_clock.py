"""A clock that stands at an instant, in the file that the product reads (lamplighter.clock)."""

import struct
from datetime import datetime
from pathlib import Path


def stop_at(file: Path, moment: datetime) -> None:
    """From now on the file says that it is this instant."""
    file.write_bytes(struct.pack("=q", round(moment.timestamp() * 1_000_000) * 1000))
