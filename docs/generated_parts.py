"""The generated parts of written pages: each stands between two marks that name it."""

import re
from collections.abc import Iterable, Mapping

_MARKED = re.compile(
    r"(?P<begin><!-- generated: (?P<name>[a-z]+) -->\n).*?(?P<end><!-- /generated -->)", re.DOTALL
)


def filled(written: str, parts: Mapping[str, Iterable[str]]) -> str:
    """The written page with today's lines of each part. Raises KeyError with the name that has none."""
    texts = {name: "\n".join(lines) for name, lines in parts.items()}
    return _MARKED.sub(lambda mark: f"{mark['begin']}\n{texts[mark['name']]}\n\n{mark['end']}", written)
