"""How a sentence counts things: `1 node`, `2 nodes`."""


def counted(number: int, what: str) -> str:
    """The number with its word, which takes an s for all but one."""
    return f"{number} {what}{'' if number == 1 else 's'}"
