"""How functions speak: on a topic, and where it does not take a notice, through the notices function a little later.

Lambda tries an event three times within minutes, then it is a dead letter, and the dead letters are alarmed.
"""

from collections.abc import Mapping

from lamplighter.adapters.aws.functions import Functions
from lamplighter.adapters.aws.notices import Notices
from lamplighter.application.environment import ENVIRONMENT

PATIENCE_SECONDS = 4
"""For handing a notice over: a workflow may be waiting."""


def notices() -> Notices:
    """For what happens."""
    return Notices(ENVIRONMENT.notices_topic, again=_again)


def pages() -> Notices:
    """For what needs a person."""
    return Notices(ENVIRONMENT.pages_topic, again=_again)


def _again(run: Mapping[str, object]) -> None:

    Functions(patience_seconds=PATIENCE_SECONDS).start(
        ENVIRONMENT.notices_function, {"step": "Tell", "run": run}
    )
