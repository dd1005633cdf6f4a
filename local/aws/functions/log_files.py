"""What functions write: one file for each function, which its workers and the runtime append to."""

import threading
from pathlib import Path


class LogFiles:
    """The files in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._read: dict[str, int] = {}
        self._lock = threading.Lock()

    def path(self, function: str) -> Path:
        return self._folder / f"{function}.log"

    def write(self, function: str, line: str) -> None:
        """Appends a line of the runtime."""
        with self.path(function).open("a", encoding="utf-8") as log:
            log.write(line + "\n")

    def everything(self, function: str) -> str:
        """All lines, oldest first."""
        path = self.path(function)
        return path.read_text("utf-8", errors="replace") if path.exists() else ""

    def fresh(self, function: str) -> list[str]:
        """The complete lines that are new since the last call for this function."""
        path = self.path(function)
        with self._lock:
            first = self._read.get(function, 0)
            if not path.exists() or path.stat().st_size == first:
                return []
            with path.open("rb") as log:
                log.seek(first)
                text = log.read()
            complete = text[: text.rfind(b"\n") + 1]
            self._read[function] = first + len(complete)
        return [line for line in complete.decode(errors="replace").splitlines() if line]
