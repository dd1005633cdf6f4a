"""Changes that no test can see, each with the reason: by file, the line before and the line after."""

EQUAL: dict[tuple[str, str, str], str] = {}
