"""The only place where the product asks for the time, or lets time pass.

Both come from the environment, as endpoint URLs do. With LAMPLIGHTER_INSTANT unset it is the machine's clock;
otherwise it names a file whose first eight bytes are the present instant, as nanoseconds since 1970 in the
machine's byte order. With LAMPLIGHTER_SLEEP set, a pause is asked for at that address, and is over when it answers.
"""

import os
import struct
import time
from datetime import UTC, datetime
from pathlib import Path


def now() -> datetime:
    """The present instant, aware and in UTC."""
    source = os.environ.get("LAMPLIGHTER_INSTANT")
    if source is None:
        return datetime.now(UTC)
    with Path(source).open("rb") as file:
        (nanoseconds,) = struct.unpack("=q", file.read(8))
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)


def monotonic() -> float:
    """Seconds that only ever grow and that `sleep` lets pass, for measuring how much time has."""
    return time.monotonic() if os.environ.get("LAMPLIGHTER_SLEEP") is None else now().timestamp()


def sleep(seconds: float) -> None:
    """Return when so much time has passed."""
    address = os.environ.get("LAMPLIGHTER_SLEEP")
    if address is None:
        time.sleep(seconds)
        return
    from urllib.request import ProxyHandler, build_opener  # noqa: PLC0415 (no function pays that never pauses)

    # The address is this machine's own: a proxy for the web has no part in it.
    with build_opener(ProxyHandler({})).open(address, data=f"{seconds}".encode()) as answer:
        answer.read()
