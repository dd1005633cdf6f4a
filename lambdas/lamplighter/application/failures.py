"""One pool's trouble is no other's: a failure is logged and noted, and the rest goes on."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from lamplighter.errors import LamplighterError

_logger = logging.getLogger(__name__)


@contextmanager
def going_on(failures: list[str], what: str) -> Iterator[None]:
    """Note any failure, also one of our own code, and go on with the rest. Whoever gives the list raises at the end."""
    try:
        yield
    except Exception as error:
        _logger.exception("failed at %s", what)
        failure = str(error) if isinstance(error, LamplighterError) else repr(error)
        failures.append(f"{what}: {failure}")
