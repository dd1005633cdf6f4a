"""YAML 1.2 text -> plain values with the line of every key and value, or problems.

Resolves values by YAML's core schema, as written: 20:00 is text, 1.30 keeps its zero. Refuses duplicate keys, tags,
further documents and deep nesting. file.py turns the values into a lab.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
)
from ruamel.yaml.reader import ReaderError

from lamplighter.lab.types import Number, shown

Path = tuple[str | int, ...]
DEEPEST = 40
MOST_ALIASED = 10_000
LONGEST_INTEGER = 40

_NULL = re.compile(r"~|null|Null|NULL|")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]{1,40}|0x[0-9a-fA-F]{1,40}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,9})?")
_ENDLESS = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_NOT_A_NUMBER = re.compile(r"\.nan|\.NaN|\.NAN")


@dataclass(frozen=True, slots=True)
class YamlProblem:
    """A problem of the text, before any key is read."""

    line: int
    path: Path
    text: str


@dataclass(slots=True)
class Document:
    """A parsed text: its value, the line of each path, and its problems."""

    value: object = None
    lines: dict[Path, int] = field(default_factory=dict)
    faults: list[YamlProblem] = field(default_factory=list)

    def line(self, path: Path) -> int:
        """The line of a path, or of the nearest part around it that is in the text."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


class _Broken(Exception):
    """Ends composing; never leaves this module."""

    def __init__(self, line: int, path: Path, text: str) -> None:
        super().__init__(text)
        self.fault = YamlProblem(line, path, text)


def read(text: str) -> Document:
    """The first document of a text. Never raises: problems are among its faults."""
    document = Document()
    try:
        _Composer(text, document).compose()
    except _Broken as broken:
        document.faults.append(broken.fault)
    except MarkedYAMLError as error:
        document.faults.append(_syntax(error))
    except ReaderError as error:
        line = len(re.findall(r"\r\n|\r|\n", text[: error.position])) + 1
        point = error.character if isinstance(error.character, int) else ord(error.character)
        document.faults.append(
            YamlProblem(line, (), f"has the character U+{point:04X}, which YAML does not allow")
        )
    except (YAMLError, ValueError) as error:
        document.faults.append(YamlProblem(1, (), f"is not YAML: {' '.join(str(error).split())[:200]}"))
    return document


def _syntax(error: MarkedYAMLError) -> YamlProblem:
    """The line at which the text stops being YAML; for a bracket that is never closed, the line that opens it."""
    problem = " ".join(str(error.problem or "it cannot be read").split())
    unclosed = "end of stream" in problem or "<stream end>" in problem
    mark = (error.context_mark if unclosed else None) or error.problem_mark or error.context_mark
    if unclosed:
        problem = "the bracket or quote that opens here is never closed, close it"
    elif "'\\t'" in problem:
        problem = "found a tab, indent with spaces"
    column = f" at column {mark.column + 1}" if mark else ""
    return YamlProblem(mark.line + 1 if mark else 1, (), f"is not YAML{column}: {problem}")


class _Composer:
    def __init__(self, text: str, document: Document) -> None:
        self.events: Iterator[Event] = YAML(typ="safe", pure=True).parse(text)
        self.document = document
        self.anchors: dict[str, tuple[object, int]] = {}
        self.nodes = 0
        self.aliased = 0

    def compose(self) -> None:
        documents = 0
        for event in self.events:
            if isinstance(event, DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _Broken(_line(event), (), "begins a second document, keep one in a file")
                first = next(self.events)
                self.document.lines[()] = _line(first)
                self.document.value = self.node(first, ())

    def node(self, event: Event, path: Path) -> object:
        if len(path) > DEEPEST:
            raise _Broken(_line(event), path[:4], f"is nested deeper than {DEEPEST} levels, flatten it")
        self.document.lines.setdefault(path, _line(event))
        if isinstance(event, AliasEvent):
            return self.alias(event, path)
        if not isinstance(event, ScalarEvent | CollectionStartEvent):
            raise TypeError(f"a value cannot begin with {type(event).__name__}")
        self.nodes += 1
        before = self.nodes
        if event.tag is not None:
            self.fault(event, path, f"has the tag {shown(str(event.tag))}, write the value without a tag")
        if isinstance(event, MappingStartEvent):
            value: object = self.mapping(path)
        elif isinstance(event, ScalarEvent):
            value = scalar(event.value, plain=event.style is None)
        else:
            value = self.sequence(path)
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, self.nodes - before + 1)
        return value

    def alias(self, event: AliasEvent, path: Path) -> object:
        value, size = self.anchors.get(event.anchor, (None, -1))
        if size < 0:
            raise _Broken(
                _line(event),
                path,
                f"is the alias *{event.anchor[:80]}, but nothing before it has that anchor",
            )
        self.aliased += size
        self.nodes += size
        if self.aliased > MOST_ALIASED:
            raise _Broken(
                _line(event), path, f"repeats more than {MOST_ALIASED} values by alias, write fewer"
            )
        return value

    def sequence(self, path: Path) -> list[object]:
        items: list[object] = []
        while not isinstance(event := next(self.events), SequenceEndEvent):
            items.append(self.node(event, (*path, len(items))))
        return items

    def mapping(self, path: Path) -> dict[str, object]:
        items: dict[str, object] = {}
        while not isinstance(event := next(self.events), MappingEndEvent):
            if not isinstance(event, ScalarEvent):
                raise _Broken(
                    _line(event), path, "has a key that is not a word, write a word before the colon"
                )
            key, line = str(event.value), _line(event)
            here = (*path, key)
            if event.tag is not None:
                self.fault(event, here, f"has the tag {shown(str(event.tag))}, write the key without a tag")
            if key == "" and event.style is None:
                self.fault(event, path, "has a value without a key, write a word before the colon")
            if key in items:
                self.fault(
                    event, here, f"is written twice, first in line {self.document.lines[here]}; keep one"
                )
                self.node(next(self.events), (*path, f"{key} (again)"))
                continue
            value_event = next(self.events)
            single = isinstance(value_event, ScalarEvent | AliasEvent)
            self.document.lines[here] = _line(value_event) if single else line
            items[key] = self.node(value_event, here)
        return items

    def fault(self, event: Event, path: Path, text: str) -> None:
        self.document.faults.append(YamlProblem(_line(event), path, text))


def scalar(text: str, *, plain: bool) -> object:  # noqa: PLR0911 - one return for each kind of scalar
    """The value of a scalar by the core schema; quoted and block scalars are text."""
    if not plain:
        return text
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text):
        return True
    if _FALSE.fullmatch(text):
        return False
    if _INTEGER.fullmatch(text) and len(text) <= LONGEST_INTEGER:
        return int(text)
    if _BASED.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return Number(text)
    if endless := _ENDLESS.fullmatch(text):
        return Number(text, f"{endless[1]}Infinity")
    return Number(text, "NaN") if _NOT_A_NUMBER.fullmatch(text) else text


def _line(event: Event) -> int:
    return int(event.start_mark.line) + 1
