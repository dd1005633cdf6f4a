"""The document of `simulate` in a file."""

import json
from pathlib import Path

from cli import files, printing


def write_document(document: object, out: str) -> None:
    """The document as JSON, to a file or, for `-`, to stdout."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    if out == "-":
        printing.json_text(text)
    else:
        files.write("--json", Path(out), f"{text}\n")
