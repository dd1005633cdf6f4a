"""What the Slack function logs: never a body, a header, a secret or an address to answer at.

The logger is loaded with the first line: a cold answer that says nothing there does not wait for it.
"""

import traceback

from lamplighter.errors import LamplighterError


def answered(word: str, by: str, request: str) -> None:
    """That somebody's request to change something was answered, by their Slack id and the request's key."""
    from lamplighter.application.logs import logger  # noqa: PLC0415 -- with the first line

    logger().info("answered", extra={"word": word, "by": by, "request": request})


def failed(error: BaseException) -> None:
    """Our own errors with their sentence; of others the kind and the place, since their text may quote anything."""
    from lamplighter.application.logs import logger  # noqa: PLC0415 -- with the first line

    if isinstance(error, LamplighterError):
        logger().warning("Slack's door: %s: %s", type(error).__name__, error)
        return
    places = [
        f"{frame.name} ({frame.filename.rsplit('/', 1)[-1]}:{frame.lineno})" for frame in _frames(error)
    ]
    logger().error("Slack's door: %s in %s", type(error).__name__, ", ".join(places))


def _frames(error: BaseException) -> list[traceback.FrameSummary]:
    return list(traceback.extract_tb(error.__traceback__))[-4:]
