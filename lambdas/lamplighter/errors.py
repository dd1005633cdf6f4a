"""The few ways in which something does not work out, named for what the caller can do about it.

Step Functions retries by class name, so these names are part of the workflows.
"""

from lamplighter.reasons.reason import Said


class LamplighterError(Exception):
    """Base of every error of ours; it carries a reason that a person can act on.

    Its text is that reason in English, for logs. Who shows it to a person draws `said`.
    """

    def __init__(self, said: Said = "") -> None:
        super().__init__(said)
        self.said = said

    def __str__(self) -> str:
        return str(self.said)


class BadInput(LamplighterError):
    """What was asked cannot be meant: say where, what is wrong and what would be right; never retried."""


class Refused(LamplighterError):
    """Understood, and the answer is no, with the reason; never retried."""


class Stale(LamplighterError):
    """A command that is too old, replayed, or fenced off by a newer generation; never retried."""


class TryLater(LamplighterError):
    """Not yet: asking again later is safe and expected. The workflows poll with it."""


class OutsideFailed(LamplighterError):
    """The outside world failed; says which call, on what, and what was tried.

    `call` is the call's name alone, such as `dynamodb:GetItem`, for those who may not see the `subject`.
    """

    answered = False
    """It answered: with a refusal, or with something that nobody can read. Asking again will not help."""

    def __init__(self, said: Said = "", call: str = "", subject: str = "") -> None:
        super().__init__(said)
        self.call, self.subject = call, subject
