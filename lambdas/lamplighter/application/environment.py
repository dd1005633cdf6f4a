"""The environment variables of every function, which the stacks set.

The first use of a variable that a function does not have raises an error with its name.
"""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lamplighter.adapters.aws.ledger.ledger import Ledger
    from lamplighter.domain.schedules.schedule import WorkflowArns
    from lamplighter.lab.model import Lab


@dataclass(frozen=True)
class Environment:
    """The variables as they are set; each property is one of them."""

    @property
    def lab_file(self) -> Path:
        """The normalised lab in the code asset, relative to the task root."""
        root = Path(os.environ.get("LAMBDA_TASK_ROOT", "."))
        return root / _of("LAB_FILE")

    @property
    def ledger_table(self) -> str:
        return _of("LEDGER_TABLE")

    @property
    def cluster_name(self) -> str:
        return _of("CLUSTER_NAME")

    @property
    def schedule_group(self) -> str:
        return _of("SCHEDULE_GROUP")

    @property
    def swept_topic(self) -> str:
        return _of("SWEPT_TOPIC_ARN")

    @property
    def failsafe_role(self) -> str:
        return _of("FAILSAFE_ROLE_ARN")

    @property
    def failsafe_dead_letters(self) -> str:
        return _of("FAILSAFE_DLQ_ARN")

    @property
    def failsafe_machine(self) -> str | None:
        """The failsafe's state machine; None in a lab without NodePools."""
        return os.environ.get("FAILSAFE_MACHINE_ARN")

    @property
    def dead_letters(self) -> str:
        return _of("DEAD_LETTERS_ARN")

    @property
    def dead_letters_url(self) -> str:
        """The same queue, where the guard counts (function `guard`)."""
        return _of("DEAD_LETTERS_URL")

    @property
    def window_role(self) -> str:
        return _of("WINDOW_ROLE_ARN")

    @property
    def open_lab(self) -> str:
        return _of("OPEN_LAB_ARN")

    @property
    def close_lab(self) -> str:
        return _of("CLOSE_LAB_ARN")

    @property
    def extend_lease(self) -> str:
        """The workflow by which leases follow their windows' ends (function `planner`)."""
        return _of("EXTEND_LEASE_ARN")

    @property
    def change_lab(self) -> str:
        """The workflow that decides on people's changes without a deploy (function `slack`)."""
        return _of("CHANGE_LAB_ARN")

    @property
    def planner(self) -> str:
        """The function that corrects schedules (function `guard`)."""
        return _of("PLANNER_FUNCTION_ARN")

    @property
    def notices_function(self) -> str:
        """The target of schedules that warn (functions `leases` and `planner`)."""
        return _of("NOTICES_FUNCTION_ARN")

    @property
    def pages_bucket(self) -> str:
        """The bucket of pages (functions `pages`, `slack` and `board`)."""
        return _of("PAGES_BUCKET")

    @property
    def experiment_workflow(self) -> str:
        """The workflow that undoes an experiment (functions `experiments` and `guard`)."""
        return _of("EXPERIMENT_ARN")

    @property
    def restore_role(self) -> str:
        """The role of an experiment's schedules (function `experiments`)."""
        return _of("RESTORE_ROLE_ARN")

    @property
    def experiments_function(self) -> str:
        """The function that undoes an experiment before its lease ends (function `leases`)."""
        return _of("EXPERIMENTS_FUNCTION_ARN")

    @property
    def diagnosis_function(self) -> str:
        """The function that names the cause of a symptom (function `experiments`)."""
        return _of("DIAGNOSIS_FUNCTION_ARN")

    @property
    def cluster_function(self) -> str:
        """The function that sees the pods on the nodes (function `notices`)."""
        return _of("CLUSTER_FUNCTION_ARN")

    @property
    def notices_topic(self) -> str:
        return _of("NOTICES_TOPIC_ARN")

    @property
    def pages_topic(self) -> str:
        return _of("PAGES_TOPIC_ARN")

    @property
    def event_bus(self) -> str:
        """The name of the lab's bus (functions `events` and `lifecycle`)."""
        return _of("EVENT_BUS")

    @property
    def lifecycle_function(self) -> str:
        """The function that tells the lab's events (functions `events` and `board`)."""
        return _of("LIFECYCLE_FUNCTION_ARN")

    @property
    def slack_secret(self) -> str:
        """The secret with the Slack app's signing secret and bot token (functions `slack` and `board`)."""
        return _of("SLACK_SECRET_ARN")

    @property
    def workflow_arns(self) -> "WorkflowArns":
        """The targets of window schedules, and how long before an end the lab warns."""
        from lamplighter.domain.schedules.schedule import WorkflowArns  # noqa: PLC0415 -- only two functions need it

        guard = lab().guard
        doctor = _of("DOCTOR_FUNCTION_ARN") if guard.look_again else ""
        return WorkflowArns(
            self.open_lab,
            self.close_lab,
            self.notices_function,
            tuple(guard.warnings),
            doctor,
            tuple(guard.look_again),
        )


ENVIRONMENT = Environment()


@cache
def lab() -> "Lab":
    """The lab that this code was deployed with."""
    from lamplighter.lab.model import Lab  # noqa: PLC0415 -- pydantic is paid for only where the lab is needed

    return Lab.from_json(ENVIRONMENT.lab_file.read_text("utf-8"))


def as_kept(deployed: "Lab", ledger: "Ledger") -> "Lab":
    """The lab with the values of adopted pools as the planner last read them, for functions that may not call EKS."""
    if not any(pool.unstated for pool in deployed.pools.values()):
        return deployed
    kept = ledger.document()
    found = deployed.from_json(kept).pools if kept else {}
    pools = {name: found.get(name, pool) if pool.unstated else pool for name, pool in deployed.pools.items()}
    return deployed.model_copy(update={"pools": pools})


def _of(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise KeyError(f"the environment variable {name} is not set for this function")
    return value
