"""The steps, in the order of what stops a deploy and what costs money if it is wrong."""

from collections.abc import Mapping

from cli.verification.step import Step
from cli.verification.steps import (
    again,
    bus,
    failsafe,
    first_deploy,
    foreign_starts,
    rails,
    schedules,
    slack,
    unleased,
    zones,
)

CATALOGUE: Mapping[str, Step] = {
    step.name: step
    for step in (
        zones.STEP,
        first_deploy.STEP,
        again.STEP,
        bus.STEP,
        schedules.STEP,
        slack.STEP,
        foreign_starts.STEP,
        unleased.STEP,
        failsafe.STEP,
        rails.STEP,
    )
}
