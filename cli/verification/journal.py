"""The journal of a `lamplighter verify`: a file with the results so far, and with what is still to be undone.

It is written before each change, so that `--resume` can undo and go on after the program, or its machine, died.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cli import files
from cli.verification.step import StepResult, StepVerdict
from cli.verification.undo import Undo
from lamplighter.domain.money.money import Money
from lamplighter.errors import BadInput


class Journal:
    """One run in one account and region."""

    def __init__(self, path: Path, whose: str) -> None:
        self.path = path
        self._whose = whose
        self.results: list[StepResult] = []
        self.open: list[Undo] = []
        self.begun: tuple[str, Money] | None = None
        """The step that is at work, and the most that it can cost."""
        self._lost: list[Money] = []
        """What steps can have cost in which a run was interrupted."""

    @contextmanager
    def alone(self) -> Iterator[None]:
        """BadInput where a run is at work in this folder: another one would undo what that one uses."""
        # The system releases the lock when its holder dies.
        folder = os.open(self.path.absolute().parent, os.O_RDONLY)
        try:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BadInput(f"{self.path}: a run is at work in this folder, wait for its end") from None
            yield
        finally:
            os.close(folder)

    def read(self) -> None:
        """Go on with what the file says. Raises BadInput where it is no journal of this account, or there is none."""
        try:
            document = json.loads(self.path.read_text("utf-8"))
            self._take(document)
        except FileNotFoundError:
            raise BadInput(f"--resume: there is no unfinished run here, {self.path} does not exist") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{self.path}: this is no journal of a run ({error})") from error
        if document["of"] != self._whose:
            raise BadInput(f"{self.path}: it belongs to a run in {document['of']}, and this is {self._whose}")

    def _take(self, document: Mapping[str, Any]) -> None:
        self.results = [
            StepResult(
                one["step"],
                StepVerdict(one["verdict"]),
                one["evidence"],
                one["seconds"],
                Money.from_json(one["cost"]),
            )
            for one in document["steps"]
        ]
        self.open = [Undo.from_json(one) for one in document["open"]]
        begun = document["begun"]
        self._lost = [Money.from_json(one) for one in document.get("lost", [])]
        if begun:
            self._lost.append(Money.from_json(begun["most"]))

    def spent(self, currency: str) -> Money:
        """What the run has cost at most. How far an interrupted step came is not known: all of its money counts."""
        return sum([*(result.cost for result in self.results), *self._lost], Money.zero(currency))

    def begin(self, step: str, most: Money) -> None:
        """A step begins."""
        self.begun = step, most
        self._write()

    def promise(self, undo: Undo) -> None:
        """Something will be made that is to be undone."""
        if undo not in self.open:
            self.open.append(undo)
            self._write()

    def undone(self, undo: Undo) -> None:
        """It is undone."""
        self.open.remove(undo)
        self._write()

    def end(self, result: StepResult) -> None:
        """A step has its result."""
        self.results.append(result)
        self.begun = None
        self._write()

    def finish(self) -> None:
        """The run is over, and nothing is left: no later run goes on with it."""
        self.path.unlink(missing_ok=True)

    def _write(self) -> None:
        document = {
            "of": self._whose,
            "steps": [result.to_json() for result in self.results],
            "open": [undo.to_json() for undo in self.open],
            "lost": [one.to_json() for one in self._lost],
            "begun": {"step": self.begun[0], "most": self.begun[1].to_json()} if self.begun else None,
        }
        files.write("lamplighter verify", self.path, json.dumps(document, indent=2) + "\n")
