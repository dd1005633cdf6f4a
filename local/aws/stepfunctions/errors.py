"""How an execution fails: an error with its name and cause, or a stop from outside."""


class StatesError(Exception):
    """The error that Retry and Catch see; ErrorEquals compares `error`, its name."""

    def __init__(self, error: str, cause: str = "") -> None:
        super().__init__(f"{error}: {cause}")
        self.error = error
        self.cause = cause

    def matches(self, names: list[str]) -> bool:
        """Whether an ErrorEquals list names it.

        States.Runtime always fails the execution, and States.ALL leaves out States.DataLimitExceeded
        (https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html).
        """
        if self.error == "States.Runtime":
            return False
        if self.error in names:
            return True
        if self.error == "States.HeartbeatTimeout" and "States.Timeout" in names:
            return True
        if "States.ALL" in names:
            return self.error != "States.DataLimitExceeded"
        failed = not self.error.startswith("States.") or self.error == "States.TaskFailed"
        return "States.TaskFailed" in names and failed


class Stopped(Exception):
    """The execution, or the branch, ends for a reason outside of it."""
