"""The problems of windows without the name that each of them says: where a rule is asked, not who is named."""

import re


def unnamed(text: str) -> str:
    """A problem's text without its window."""
    return re.sub(r" \(window [\w-]+\)$", "", text)
