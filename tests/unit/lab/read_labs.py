"""Lab files of these tests: the lab of one that is good, and the problems of one that is not."""

from lamplighter.lab.model import Lab
from lamplighter.labfile.file import parse


def problems(text: str) -> list[str]:
    """The problems of a lab with the name x and these keys, each by its key; none if the lab is good."""
    found = parse(f"name: x\n{text}")
    return [] if isinstance(found, Lab) else [f"{one.key}: {one.text}" for one in found]


def lab(text: str) -> Lab:
    """The good lab with the name x and these keys."""
    found = parse(f"name: x\n{text}")
    assert isinstance(found, Lab), found
    return found
