"""The message of a usage error, in one line. A mistyped option or value is answered with the nearest known one.

typer writes these errors and names the verb that is nearest to a mistyped one. Only typer's own words are read here.
"""

import re

from typer.exceptions import TyperException

from cli.nearest import did_you_mean

_CHOICE = re.compile(
    r"Invalid value for '(?P<name>.+)': (?:Value error, )?'(?P<value>.*)' is not one of (?P<choices>'.+')\.?"
)


def message(error: TyperException) -> str:
    """What is wrong, and what would be right."""
    words = error.format_message() if hasattr(error, "format_message") else str(error)
    line = " ".join(words.split())
    option = getattr(error, "option_name", None)
    if option is not None and hasattr(error, "possibilities"):
        nearest = did_you_mean(option, error.possibilities or ())
        return f"there is no option {' '.join(option.split())}, --help lists the options{nearest}"
    if option is not None:
        # Its value is missing, or it takes none.
        return f"{line.rstrip('.')}, --help lists the options"
    if line.startswith("Got unexpected extra argument"):
        return f"{line.rstrip('.')}, --help lists the options"
    choice = _CHOICE.fullmatch(line)
    if choice is None:
        return line
    choices = choice["choices"].strip("'").split("', '")
    value = choice["value"]
    return (
        f"{choice['name']}: '{value[:80]}' is not one of {', '.join(choices)}{did_you_mean(value, choices)}"
    )
