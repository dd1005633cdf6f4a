"""The catalogue of texts: complete in every language, used where it is written, and never the reason for a failure."""

import ast
import json
import logging
import re
import string
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from lamplighter.data import texts
from lamplighter.data.texts import ENGLISH, CatalogueEntry, Texts, area, catalogue, languages

ROOT = Path(__file__).resolve().parents[3]
OTHERS = [language for language in languages() if language != "en"]
AREAS = {f"{key.partition('.')[0]}." for key in catalogue("en")}
KEY = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)+")


def forms(entry: CatalogueEntry) -> dict[str, str]:
    return {"text": entry} if isinstance(entry, str) else {k: v for k, v in entry.items() if k != "by"}


def named(entry: CatalogueEntry) -> set[str]:
    """The values that any form of a text shows."""
    return {
        name for form in forms(entry).values() for _, name, _, _ in string.Formatter().parse(form) if name
    }


def given(entry: CatalogueEntry) -> set[str]:
    """What whoever says it gives: what it shows, and the number that it is chosen by."""
    return named(entry) | (set() if isinstance(entry, str) else {entry["by"]})


@pytest.mark.parametrize("language", OTHERS)
def test_every_language_has_every_text_and_no_other(language: str) -> None:
    assert list(catalogue(language)) == list(catalogue("en")), "the same keys in the same order"


@pytest.mark.parametrize("language", OTHERS)
def test_every_text_names_what_the_english_one_names(language: str) -> None:
    for key, english in catalogue("en").items():
        entry = catalogue(language)[key]
        assert given(entry) <= given(english), key
        assert named(entry) >= {name for name in named(english) if name != counts(english)}, key


def counts(entry: CatalogueEntry) -> str | None:
    """A number that a language without plural forms may leave out."""
    return None if isinstance(entry, str) else entry["by"]


@pytest.mark.parametrize("language", languages())
def test_no_text_is_empty_and_plurals_have_both_forms(language: str) -> None:
    for key, entry in catalogue(language).items():
        assert all(form.strip() or form == " " for form in forms(entry).values()), key
        if not isinstance(entry, str):
            assert set(entry) == {"by", "one", "other"}, key
            assert entry["by"] in named(catalogue("en")[key]) | {"count"}, key


@pytest.mark.parametrize("language", languages())
def test_no_key_stands_twice_in_a_file(language: str) -> None:
    def pairs(found: list[tuple[str, object]]) -> dict[str, object]:
        names = [name for name, _ in found]
        assert len(names) == len(set(names)), [name for name in names if names.count(name) > 1]
        return dict(found)

    for file in (texts.FOLDER / language).glob("*.json"):
        json.loads(file.read_text("utf-8"), object_pairs_hook=pairs)


@pytest.mark.parametrize("language", languages())
def test_every_key_is_in_the_file_of_its_area(language: str) -> None:
    wrong = {
        key for name in texts.areas() for key in texts.area(language, name) if key.partition(".")[0] != name
    }
    assert wrong == set()


@cache
def nodes() -> tuple[ast.expr, ...]:
    """Every text and every call of the product."""
    folders = [ROOT / "lambdas", ROOT / "cli", ROOT / "stacks", ROOT / "local"]
    return tuple(
        node
        for folder in folders
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant | ast.JoinedStr | ast.Call)
    )


def constants() -> set[str]:
    """Every string of the product, and the beginning of every one that is put together."""
    return {node.value for node in nodes() if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def put_together() -> Iterator[str]:
    for node in nodes():
        if isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[0], ast.Constant):
            yield str(node.values[0].value)


def endings() -> Iterator[str]:
    """What is put behind a key, such as the `.advice` of an obstacle's reason."""
    for node in nodes():
        if isinstance(node, ast.JoinedStr) and len(node.values) == 2:
            first, last = node.values
            if isinstance(first, ast.FormattedValue) and isinstance(last, ast.Constant):
                yield str(last.value)


def asked() -> Iterator[str]:
    """Every key that is written out where a text is asked for."""
    for node in nodes():
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        first = node.args[0]
        choices = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
        for choice in choices:
            if node.func.attr == "say" and isinstance(choice, ast.Constant):
                yield str(choice.value)


def test_every_key_that_is_asked_for_is_in_the_catalogue() -> None:
    keys = {key for key in asked() if KEY.fullmatch(key)}
    assert len(keys) > 50
    assert {key for key in keys if not ({key, f"slack.{key}", f"page.{key}"} & set(catalogue("en")))} == set()


def test_every_text_is_used() -> None:
    written = constants()
    prefixes = tuple(
        {each for each in put_together() if re.fullmatch(r"[a-z-]+\..+|[a-z-]{3,}\.", each)} - AREAS
    )

    behind = {each for each in endings() if re.fullmatch(r"\.[a-z-]{3,}", each)}

    def used(key: str) -> bool:
        before, dot, last = key.rpartition(".")
        return key in written or key.startswith(prefixes) or (f"{dot}{last}" in behind and used(before))

    # What Slack and pages say is asked for without its area.
    unused = {key for key in catalogue("en") if not used(key) and not used(key.partition(".")[2])}
    assert unused == set()


def test_a_number_chooses_its_form() -> None:
    assert ENGLISH.say("notice.warned.subject", pool="gpu", minutes=1) == "Pool gpu closes in 1 minute"
    assert ENGLISH.say("notice.warned.subject", pool="gpu", minutes=15) == "Pool gpu closes in 15 minutes"
    assert Texts("ko").say("notice.warned.subject", pool="gpu", minutes=1) == "gpu 풀이 1분 후에 닫힙니다"


def test_what_a_language_lacks_is_said_in_english_and_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "area", _torn)

    # In a unit test a text that is missing is an error (conftest.py); here it is what is looked at.
    monkeypatch.setattr(Texts, "say", getattr(Texts.say, "__wrapped__"))  # noqa: B009 -- mypy knows no __wrapped__

    with caplog.at_level(logging.WARNING):
        assert Texts("ko").say("notice.closing.subject", pool="gpu") == "Pool gpu is closing"
        assert Texts("ko").say("notice.already-open.subject", pool="gpu") == "Pool gpu is already open"
        assert Texts("ko").say("notice.nowhere", pool="gpu") == "notice.nowhere"
        assert Texts("tlh").say("notice.closing.subject", pool="gpu") == "Pool gpu is closing"
    assert "notice.closing.subject in ko" in caplog.text


def _torn(language: str, name: str) -> Mapping[str, CatalogueEntry]:
    whole = area(language, name)
    if language != "ko":
        return whole
    return {
        key: "{nobody}" if key == "notice.already-open.subject" else entry
        for key, entry in whole.items()
        if key != "notice.closing.subject"
    }


def test_a_value_with_braces_is_said_as_it_is() -> None:
    assert ENGLISH.say("notice.closing.subject", pool="{pool}") == "Pool {pool} is closing"


# 은/는, 이/가, 을/를, 과/와, 으로/로 hang on the last sound of a word that we do not know here; after a bracket or
# before an ending such as 이다 they do not.
PARTICLE = re.compile(r"\{([a-z_]+)\}(은|는|이|가|을|를|과|와|으로|로)(?![가-힣])")
ENDS_IN_A_VOWEL = {"lease"}


def test_no_korean_particle_hangs_on_a_word_that_may_end_in_anything() -> None:
    hanging = {
        (key, found[0])
        for key, entry in catalogue("ko").items()
        for form in forms(entry).values()
        for found in PARTICLE.finditer(form)
        if found[1] not in ENDS_IN_A_VOWEL or found[2] in {"은", "이", "을", "과", "으로"}
    }

    assert hanging == set()


def test_korean_is_polite_to_the_end() -> None:
    blunt = re.compile(r"(한다|된다|이다|있다|없다|하세요|해요|어요|예요)\.?$")

    assert {
        key: form
        for key, entry in catalogue("ko").items()
        for form in forms(entry).values()
        if blunt.search(form)
    } == {}
