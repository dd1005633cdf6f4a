"""Which module reads which file: by imports, by module names in strings, and by names of files and folders.

Verbs of the command line, handlers and files of data are loaded by name, without an import.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import grimp

from tests.checkout import ROOT

PACKAGES = ("lamplighter", "handlers", "cli", "local", "stacks", "docs", "tests")
_IN_LAMBDAS = ("lamplighter", "handlers")
_NAMED_MODULE = re.compile(r"""["']([a-z_]\w*(?:\.\w+)+)["']""")


class Graph:
    """Our modules, and which of them read which."""

    def __init__(self) -> None:
        # Its cache does not see that a file was moved, and saves nothing that anybody would notice.
        self._imports = grimp.build_graph(*PACKAGES, cache_dir=None)
        self.files: Mapping[Path, str] = {_file(module): module for module in self._imports.modules}
        self.sources = {module: (ROOT / file).read_text("utf-8") for file, module in self.files.items()}
        self._naming: dict[str, set[str]] = {}
        for module, source in self.sources.items():
            for named in _NAMED_MODULE.findall(source):
                self._naming.setdefault(named, set()).add(module)

    def imported_by(self, module: str) -> Iterator[str]:
        """The modules that a module imports, and the packages that are imported with it."""
        for imported in (module, *self._imports.find_modules_directly_imported_by(module)):
            parts = imported.split(".")
            yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))

    def distances(self, changed: Iterable[Path]) -> Mapping[str, int]:
        """Every module that a change reaches, with its distance in steps."""
        distances = {self.files[file]: 0 for file in changed if file in self.files}
        for file in changed:
            if file not in self.files:
                for module, steps in self._readers_of_file(file):
                    distances[module] = min(steps, distances.get(module, steps))
        reached = list(distances)
        while reached:
            nearest = sorted(reached, key=lambda module: distances[module])
            reached = []
            for module in nearest:
                for reader in self._readers(module):
                    if distances.get(reader, len(self.sources)) > distances[module] + 1:
                        distances[reader] = distances[module] + 1
                        reached.append(reader)
        return distances

    def _readers(self, module: str) -> Iterator[str]:
        if module in self._imports.modules:
            yield from self._imports.find_modules_that_directly_import(module)
        yield from self._naming.get(module, ())
        folder, _, name = module.rpartition(".")
        if name == "conftest":  # pytest gives its fixtures to all modules below
            yield from (other for other in self.sources if other.startswith(f"{folder}."))

    def _readers_of_file(self, file: Path) -> Iterator[tuple[str, int]]:
        """The modules that name the file or a folder above it; each folder further up is one step more."""
        names = [rf"[\"'/]{re.escape(file.name)}[\"']"]
        names += [rf"[\"'/.]{re.escape(folder)}[\"'/]" for folder in reversed(file.parts[:-1])]
        found: dict[str, int] = {}
        for steps, name in enumerate(names):
            pattern = re.compile(name)
            for module, source in self.sources.items():
                if pattern.search(source):
                    found.setdefault(module, max(steps, 1))
        yield from found.items()


def _file(module: str) -> Path:
    path = Path(*module.split("."))
    if path.parts[0] in _IN_LAMBDAS:
        path = "lambdas" / path
    package = path / "__init__.py"
    return package if (ROOT / package).exists() else path.with_suffix(".py")
