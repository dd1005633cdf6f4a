"""A whole number that others write: an annotation, a label, a limit of a container."""

MOST_DIGITS = 15
"""Python refuses to convert more than 4,300 digits, and nothing that we count comes near this."""


def whole_number(written: object) -> int | None:
    """The number; None for anything that is none, has a sign or a unit, or is longer than `MOST_DIGITS`."""
    text = str(written)
    return int(text) if len(text) <= MOST_DIGITS and text.isdecimal() else None
