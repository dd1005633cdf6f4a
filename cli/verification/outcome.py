"""How a step of `lamplighter verify` ends early: AWS is otherwise, or the step does not fit this account."""


class Differs(Exception):
    """AWS does not behave as the product needs it to; the message is the evidence."""


class Unfit(Exception):
    """The step cannot be played here, and says why."""
