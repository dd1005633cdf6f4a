"""How long the HTTP clients of this process wait in vain, by their own limits: counted instead of measured.

A test holds a promise like "within 10 seconds" to the limits that the clients set, so a slow machine changes nothing.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from urllib3 import Timeout
from urllib3.connectionpool import HTTPConnectionPool
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError


class Waits:
    """`seconds` is the sum of the limits of all failed requests, and of the pauses between requests."""

    def __init__(self) -> None:
        self.seconds = 0.0


@contextmanager
def http_waits() -> Iterator[Waits]:
    """Counts while it is entered. A failed request without a limit counts for ever."""
    waits, request, pause = Waits(), HTTPConnectionPool._make_request, time.sleep

    def counted(pool: HTTPConnectionPool, *arguments: Any, **more: Any) -> Any:
        timeout: Timeout = more["timeout"]
        try:
            return request(pool, *arguments, **more)
        except (ConnectTimeoutError, NewConnectionError):
            waits.seconds += _limit(timeout.connect_timeout)
            raise
        except (HTTPError, OSError):
            waits.seconds += _limit(timeout.read_timeout)
            raise

    def paused(seconds: float) -> None:
        waits.seconds += seconds
        pause(seconds)

    with patch.object(HTTPConnectionPool, "_make_request", counted), patch.object(time, "sleep", paused):
        yield waits


def _limit(seconds: object) -> float:
    return float(seconds) if isinstance(seconds, int | float) else float("inf")
