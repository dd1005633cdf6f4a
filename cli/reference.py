"""Writes what is generated from the lab's model: lab.yaml, its JSON Schema, and the reference page.

`python -m cli.reference` writes all three into the checkout; a test compares them with the model.
"""

import json
from pathlib import Path

from cli.reference_example import example
from cli.reference_page import page
from lamplighter.lab_schema import schema

ROOT = Path(__file__).resolve().parents[1]


def generated() -> dict[Path, str]:
    """Every generated file, by its path in the checkout."""
    return {
        Path("lab.yaml"): example(),
        Path("docs/reference/lab.md"): page(),
        Path("docs/reference/lab.schema.json"): json.dumps(schema(), indent=2, ensure_ascii=False) + "\n",
    }


def write(root: Path = ROOT) -> None:
    """Writes the generated files below a folder."""
    for path, text in generated().items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")


if __name__ == "__main__":
    write()
