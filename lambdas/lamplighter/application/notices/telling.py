"""How functions send notices: on a topic, or later through the notices function where the topic does not take it.

Lambda tries an event three times within minutes. Then it is a dead letter, and an alarm watches the dead letters.
"""

from collections.abc import Mapping

from lamplighter.adapters.aws.functions import Functions
from lamplighter.adapters.aws.notices import Notices
from lamplighter.application.environment import ENVIRONMENT

PATIENCE_SECONDS = 4
"""The time for handing a notice over: a workflow may be waiting."""


def notices() -> Notices:
    """The topic for what happens."""
    return Notices(ENVIRONMENT.notices_topic, again=_again)


def pages() -> Notices:
    """The topic for what needs a person."""
    return Notices(ENVIRONMENT.pages_topic, again=_again)


def _again(run: Mapping[str, object]) -> None:

    Functions(patience_seconds=PATIENCE_SECONDS).start(
        ENVIRONMENT.notices_function, {"step": "Tell", "run": run}
    )
