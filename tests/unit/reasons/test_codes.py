"""Every code that the product writes is in the catalogue, with the values that its text names, in every language."""

import ast
import re
import string
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from lamplighter.data.texts import CatalogueEntry, Texts, catalogue, languages
from lamplighter.reasons.reason import Reason, draw

ROOT = Path(__file__).resolve().parents[3]


def named(entry: CatalogueEntry) -> set[str]:
    """The values that a text shows, and the number that it is chosen by."""
    forms = [entry] if isinstance(entry, str) else [form for key, form in entry.items() if key != "by"]
    chosen = set() if isinstance(entry, str) else {entry["by"]}
    return chosen | {name for form in forms for _, name, _, _ in string.Formatter().parse(form) if name}


@cache
def made() -> tuple[tuple[str, str, frozenset[str] | None], ...]:
    """Where a reason is made: place, code, and its values' names (None where they are not written out)."""
    return tuple(_made())


def _made() -> Iterator[tuple[str, str, frozenset[str] | None]]:
    for folder in ("lambdas", "cli", "stacks", "local"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
                    continue
                if node.func.id == "obstacle":
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", *_advice(node)
                    continue
                first = node.args[0]
                if node.func.id not in {"reason", "because"} or not isinstance(first, ast.Constant):
                    continue
                names = None
                if node.func.id == "because":
                    names = frozenset({"said"})
                elif all(keyword.arg for keyword in node.keywords):
                    names = frozenset(str(keyword.arg) for keyword in node.keywords)
                yield f"{path.relative_to(ROOT)}:{node.lineno}", str(first.value), names


def _advice(obstacle: ast.Call) -> tuple[str, frozenset[str]]:
    """The code of an obstacle's advice, which the reason's own code gives, and its values' names."""
    said = obstacle.args[1]
    assert isinstance(said, ast.Call)
    assert isinstance(said.args[0], ast.Constant)
    code = str(said.args[0].value)
    return f"{code}.advice", frozenset(str(one.arg) for one in obstacle.keywords) - {"blocks"}


def test_every_code_has_its_text_and_gives_it_what_it_names() -> None:
    texts = catalogue("en")
    unknown = [(place, code) for place, code, _ in made() if code not in texts]
    lacking = [
        (place, code, sorted(names ^ named(texts[code])))
        for place, code, names in made()
        if code in texts and names is not None and names != named(texts[code])
    ]

    assert unknown == []
    assert lacking == []


@pytest.mark.parametrize("language", languages())
def test_every_code_and_every_key_of_english_is_drawn_in_every_language(language: str) -> None:
    for code in sorted({*catalogue("en"), *(code for _, code, _ in made())}):
        entry = catalogue(language).get(code)
        assert entry is not None, f"{language} has no text for {code}"
        number = None if isinstance(entry, str) else entry["by"]
        values = {name: 2 if name == number else f"<{name}>" for name in named(catalogue("en")[code])}
        told = draw(Reason(code, values), Texts(language), lambda at: f"{at:%H:%M}")

        assert told != code, f"{code} in {language} has no text"
        assert not re.search(r"\{[a-z_]+\}", told), told


def test_a_reason_names_an_instant_by_the_readers_clock() -> None:
    at = datetime(2026, 11, 20, 11, tzinfo=UTC)
    assert draw(Reason("words.detail", {"detail": at}), Texts("en"), lambda at: f"{at:%H:%M}") == "11:00"
