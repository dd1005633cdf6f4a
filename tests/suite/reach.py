"""The tracked files that tests can reach: what their modules import, and the modules, files and folders that they name.

A file that nothing reaches belongs to every part of the suite, unless NOBODYS excuses it. tests/suite/opened.py
compares the files that a part really opens with these.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import PurePosixPath as Path

from tests.quick.graph import Graph

#: Read by every part: the locks, and the settings of pytest and of the tools.
EVERYBODYS = ("pyproject.toml", "Makefile", "requirements/", "lambdas/requirements")
#: Files that need not be in every key although no test reaches them, with the reason.
NOBODYS = {
    "LICENSE": "nothing but people reads it",
    "SECURITY.md": "nothing but people reads it",
    "CHANGELOG.md": "nothing but people reads it",
    "tests/machines/": "only the part machines reads the rest of it, and its key has every file of code",
    ".github/": "only the host of the repository reads it",
    ".pre-commit-config.yaml": "only Git reads it, at a commit",
    ".editorconfig": "only editors read it",
}
_PRODUCT = ("lambdas/", "cli/", "local/", "stacks/", "app.py")
#: What modules of a folder read; other files they name in words for people. A deployed function has no other folder.
_KNOWN = {
    "lambdas/": ("lambdas/",),
    **dict.fromkeys(_PRODUCT[1:], (*_PRODUCT, "examples/", "requirements/", "cdk.json", "lab.yaml")),
}
_STRING = re.compile(
    r"""^\ *\"{3}.*?\"{3}          # a docstring
      | \#[^\n]*                   # a comment
      | \"{3}(?P<text>.*?)\"{3}    # a text, for example a program
      | "(?P<string>(?:\\.|[^"\\\n])*)"
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
_JOINED = re.compile(r'"\s*/\s*f?"')
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_MODULE = re.compile(r"[a-z]\w*(?:\.[\w*]+)+")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")
_FILES = re.compile(r"[\w*/-]+/[\w*-]+\.\w+")
_ROOT = re.compile(r"\b(?:ROOT|CHECKOUT)\b|__file__\).*\.parent[s.]")
_OWN_PATH = re.compile(r"Path\((?:\w+\.)*__file__")
#: Names that say little alone: a module has to name the folder, too.
_COMMON = re.compile(r"[\w-]+(?:\.md)?")
_OWN_FOLDER = re.compile(r"__file__\)(?:\.resolve\(\))?\.parent(?![\w.]| /)")
_PACKAGE_FILES = re.compile(r'files\("([\w.]+)"\)')


class Reach:
    """What each tracked file leads to."""

    def __init__(self, tracked: Iterable[str]) -> None:
        self._tracked = frozenset(tracked)
        self._graph = Graph()
        self._files = {module: file.as_posix() for file, module in self._graph.files.items()}
        self._modules = {file: module for module, file in self._files.items()}
        self._named: dict[str, list[str]] = {}
        self._below: dict[str, list[str]] = {}
        for file in sorted(self._tracked):
            self._named.setdefault(Path(file).name, []).append(file)
            for folder in Path(file).parents:
                self._below.setdefault(folder.as_posix(), []).append(file)

    @cache  # noqa: B019  there is one of it
    def of(self, paths: tuple[str, ...], ignored: tuple[str, ...] = ()) -> frozenset[str]:
        """Every file that the tests in these files and folders reach."""
        tests = {file for file in self._tracked if is_in(file, paths) and not is_in(file, ignored)}
        tests = {file for file in tests if Path(file).name.startswith("test_")}
        run, read = set[str](), {file for file in self._tracked if file.startswith(EVERYBODYS)}
        fixtures = {f"{folder}/conftest.py" for test in tests for folder in Path(test).parents}
        leads = tests | fixtures & self._tracked
        while leads:
            run |= leads
            read.update(*(self._read(lead) for lead in leads))
            leads = {file for lead in leads for file in self._run(lead)} - run
        return frozenset(run | read)

    def source(self, file: str) -> str:
        """The text of a module; none of another file."""
        return self._graph.sources[self._modules[file]] if file in self._modules else ""

    @cache  # noqa: B019
    def variables(self, file: str) -> frozenset[str]:
        """The names of environment variables, and of other things that are written alike, in a module."""
        return frozenset(string for string in strings(self.source(file)) if _VARIABLE.fullmatch(string))

    @cache  # noqa: B019
    def _run(self, file: str) -> frozenset[str]:
        """The modules that a module imports or names; code of the product also by the name of its file or folder."""
        module = self._modules.get(file)
        if module is None:
            return frozenset()
        modules = {*self._graph.imported_by(module), *self._modules_named(self._graph.sources[module])}
        read = {each for each in self._read(file) if not each.startswith("tests/")}
        return frozenset({self._files[each] for each in modules} | read) & self._tracked

    @cache  # noqa: B019
    def _read(self, file: str) -> frozenset[str]:
        """The files that a module names, also by a folder above them."""
        module = self._modules.get(file)
        if module is None:
            return frozenset()
        source = self._graph.sources[module]
        folders = _folders(file, source)
        found = {each for string in set(strings(source)) for each in self._files_named(string, folders)}
        if _OWN_FOLDER.search(source):
            found.update(self._below[Path(file).parent.as_posix()])
        for package in self._files.keys() & set(_PACKAGE_FILES.findall(source)):
            folder = Path(self._files[package]).parent.as_posix()
            found |= {each for each in self._below[folder] if not each.endswith(".py")}
        known = next((known for folder, known in _KNOWN.items() if file.startswith(folder)), ("",))
        return frozenset(each for each in found if each.startswith(known))

    def _modules_named(self, source: str) -> Iterator[str]:
        for name in {name for string in strings(source) for name in _MODULE.findall(string)}:
            if name in self._files:
                yield name
            elif "*" in name:
                pattern = name.removesuffix(".handler")
                depth = pattern.count(".")
                yield from (
                    module
                    for module in self._files
                    if module.count(".") == depth and fnmatchcase(module, pattern)
                )
            elif name.rpartition(".")[0] in self._files:  # a name in a module
                yield name.rpartition(".")[0]

    def _files_named(self, string: str, folders: Iterable[str]) -> Iterator[str]:
        folder = string.removeprefix("./").strip("/")
        if folder.strip("."):
            for above in folders:
                yield from self._below.get(f"{above}{folder}", {f"{above}{folder}"} & self._tracked)
        for word in string.split():
            name = word.rpartition("/")[2]
            if _COMMON.fullmatch(word):
                continue
            if "*" not in name:
                end = word.removeprefix("./").strip("/")
                yield from (
                    each for each in self._named.get(name, ()) if each == end or each.endswith(f"/{end}")
                )
            elif _FILES.fullmatch(word):
                yield from (
                    each
                    for each in self._tracked
                    if fnmatchcase(each, word) or fnmatchcase(each, f"*/{word}")
                )


def _folders(file: str, source: str) -> tuple[str, ...]:
    """The folders from which a module may name others: those above it, if it knows its own path, and the root."""
    above = [f"{folder}/" for folder in Path(file).parents if folder.name] if _OWN_PATH.search(source) else []
    return (*above, "") if _ROOT.search(source) else (*above,)


def strings(source: str) -> Iterator[str]:
    """The strings of a module without its docstrings; paths joined with `/` as one, and * for what a string inserts."""
    for found in _STRING.finditer(_JOINED.sub("/", source)):
        if found["text"]:
            yield from strings(found["text"])
            yield _PLACEHOLDER.sub("*", found["text"])
        if found["string"]:
            yield _PLACEHOLDER.sub("*", found["string"])


def is_in(file: str, paths: Sequence[str]) -> bool:
    return any(file == path or file.startswith(f"{path}/") for path in paths)
