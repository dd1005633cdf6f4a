"""The cloud assembly of a lab. app.py synthesises it as for AWS; it is kept until one of its sources changes."""

import fcntl
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lamplighter.errors import BadInput, OutsideFailed
from lamplighter.lab.model import Lab
from lamplighter.labfile import file as labfile
from local.cache_folder import cache_folder
from local.stack_template import StackTemplate
from local.synthesis.synthesiser import CHECKOUT, Synthesiser

#: The sources of an assembly, beside the lab.
SOURCES = ("app.py", "cdk.json", "stacks", "lambdas", "requirements/run.txt")
#: How many assemblies are kept; one is about 150 MB.
KEPT = 3


@dataclass(frozen=True)
class Assembly:
    """A folder that `cdk deploy` would take."""

    folder: Path

    def stacks(self) -> list[StackTemplate]:
        """Its stacks, each after the stacks that it depends on."""
        artifacts = json.loads((self.folder / "manifest.json").read_text("utf-8"))["artifacts"]
        stacks = {n: a for n, a in artifacts.items() if a["type"] == "aws:cloudformation:stack"}
        ordered: list[str] = []
        while len(ordered) < len(stacks):
            for name, artifact in stacks.items():
                needs = [other for other in artifact.get("dependencies", []) if other in stacks]
                if name not in ordered and all(other in ordered for other in needs):
                    ordered.append(name)
        return [self._stack(name, stacks[name]["properties"]) for name in ordered]

    def _stack(self, name: str, properties: Mapping[str, object]) -> StackTemplate:
        tags = properties.get("tags") or {}
        assert isinstance(tags, dict)  # noqa: S101 (the schema of cloud assemblies)
        text = (self.folder / str(properties["templateFile"])).read_text("utf-8")
        return StackTemplate(str(properties.get("stackName", name)), text, tags)


def synthesise(
    lab: Path,
    started: Callable[[Callable[[], None]], object] = lambda _: None,
    *,
    slack: str | None = None,
) -> Assembly:
    """The assembly of a lab file, from the cache if nothing changed.

    `slack` is the channel for a lab that has no Slack of its own and gets one. `started` is called with a function that
    stops the synthesis. Raises BadInput with the lab's problems, a line each; OutsideFailed for any other failure.
    """
    code = _code()
    folder = cache_folder() / "assemblies" / _digest(lab, code, slack)
    if _hold(folder):
        folder.touch()
        return Assembly(folder)
    folder.parent.mkdir(exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix="draft-"))
    _hold(draft)
    try:
        _run(lab, draft, code, started, slack)
        with suppress(OSError):  # another process was first
            draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    if not _hold(folder):
        raise OutsideFailed(f"the assembly {folder} was removed as soon as it was made")
    _forget_old(folder.parent)
    return Assembly(folder)


def _run(
    lab: Path, out: Path, code: str, started: Callable[[Callable[[], None]], object], slack: str | None
) -> None:
    arguments = ["--lab", str(lab.resolve()), "--out", str(out), *(["--slack", slack] if slack else [])]
    status, errors = Synthesiser.run(arguments, code, out.parent, started)
    if status == 2:  # noqa: PLR2004 (app.py's exit code for a lab with problems)
        raise BadInput(errors.strip())
    if status:
        raise OutsideFailed(f"synthesis of {lab} failed:\n{errors[-4000:]}")


def _digest(lab: Path, code: str, slack: str | None = None) -> str:
    """A digest of all sources of an assembly: the lab, and a digest of the others."""
    digest = hashlib.sha256(f"{code} {slack}".encode() + lab.read_bytes())
    found = labfile.read(lab)
    # The calendar files beside a lab are part of it.
    if isinstance(found, Lab) and found.calendars:
        digest.update(found.to_json().encode())
    return digest.hexdigest()[:20]


def _code() -> str:
    """A digest of all sources beside the lab: names and contents, and the Python that runs them."""
    digest = hashlib.sha256(f"{sys.version_info}".encode())
    for path in _sources():
        digest.update(f"\0{path}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _sources() -> Iterator[Path]:
    for name in SOURCES:
        root = CHECKOUT / name
        files = sorted(root.rglob("*")) if root.is_dir() else [root]
        yield from (path for path in files if path.is_file() and "__pycache__" not in path.parts)


def _hold(folder: Path) -> bool:
    """Protects a folder from deletion while this process lives. Returns whether it holds a whole assembly."""
    try:
        held = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return False
    fcntl.flock(held, fcntl.LOCK_SH)
    return (folder / "manifest.json").exists()


def _forget_old(folder: Path) -> None:
    """Deletes the assemblies that were used longest ago, and incomplete ones of killed processes."""
    found = sorted(_used(folder), reverse=True)
    drafts = [path for _, path in found if path.name.startswith("draft-")]
    for old in drafts + [path for _, path in found if path not in drafts][KEPT:]:
        with suppress(FileNotFoundError):
            _forget(old)


def _used(folder: Path) -> Iterator[tuple[float, Path]]:
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # another process deletes it, too
            yield path.stat().st_mtime, path


def _forget(folder: Path) -> None:
    held = os.open(folder, os.O_RDONLY)
    try:
        with suppress(BlockingIOError):  # functions of another process run from it
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(held)
