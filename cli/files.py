"""Files that a verb writes for its caller: checked before any work, and written whole or not at all."""

import json
import os
from pathlib import Path

from cli import printing
from lamplighter.errors import BadInput


def may_be_written(option: str, file: Path) -> None:
    """BadInput where a file cannot be written there."""
    folder = file.absolute().parent
    if file.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise BadInput(f"{option}: '{file}' cannot be written, name a file in a folder that exists")


def write(option: str, file: Path, text: str) -> None:
    """Write the whole text or nothing: if that fails, the file stays as it was. BadInput names the option."""
    try:
        if file.exists() and not file.is_file():
            # A device or a pipe cannot be put in place by renaming; a folder is refused by the system.
            file.write_text(text, "utf-8")
            return
        file = file.resolve()
        draft = draft_of(file)
        try:
            draft.write_text(text, "utf-8")
            draft.replace(file)
        finally:
            draft.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadInput(
            f"{option}: {file} cannot be written ({why}), name a file in a folder that can"
        ) from None


def draft_of(file: Path) -> Path:
    """The file beside it that is written first, and then renamed."""
    return file.with_name(f".{file.name}.{os.getpid()}")


def write_document(document: object, out: str) -> None:
    """The document as JSON, to a file or, for `-`, to stdout."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    if out == "-":
        printing.json_text(text)
    else:
        write("--json", Path(out), f"{text}\n")
