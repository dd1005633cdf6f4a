"""The files that are generated from the lab's model: lab.yaml, its JSON Schema, and the reference page.

`make docs` writes them together with the other generated pages.
"""

import json
from pathlib import Path

from cli.reference.example import example
from cli.reference.page import page
from lamplighter.labfile.schema import schema


def generated() -> dict[Path, str]:
    """Every generated file, by its path in the checkout."""
    return {
        Path("lab.yaml"): example(),
        Path("docs/reference/lab.md"): page(),
        Path("docs/reference/lab.schema.json"): json.dumps(schema(), indent=2, ensure_ascii=False) + "\n",
    }
