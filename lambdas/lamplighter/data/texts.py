"""The texts for people, by key and language: `texts/<language>/<area>.json`.

The area is the first part of a key: `lease` of `lease.already-open`. Only the areas in use are read. English is
complete; a text that another language lacks is in English. The callers choose the text.
"""

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "texts"
DEFAULT = "en"

CatalogueEntry = str | Mapping[str, str]
"""A text with `{names}` in it; or `by`, the name of a number, with the text for `one` and for `other`."""

_logger = logging.getLogger(__name__)


class Missing(LookupError):
    """A text is missing, or a value that it names."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The catalogue in one language, such as `ko`. A language without texts is English."""

    language: str = DEFAULT

    def say(self, key: str, /, **values: object) -> str:
        """The text of a key with these values in it. Never fails: a missing text is its key."""
        for language in dict.fromkeys((self.language, DEFAULT)):
            try:
                return rendered(language, key, values)
            except Missing as missing:
                _logger.warning("the text %s in %s: %s", key, language, missing)
        return key

    def joined(self, names: Iterable[str]) -> str:
        """Names in a row: `a and b`."""
        return self.say("words.and").join(names)


@cache
def languages() -> tuple[str, ...]:
    """The code of every language that has a folder."""
    return tuple(sorted(path.name for path in FOLDER.iterdir() if path.is_dir()))


def areas() -> tuple[str, ...]:
    """Every area, in alphabetical order: English has them all."""
    return tuple(sorted(path.stem for path in (FOLDER / DEFAULT).glob("*.json")))


@cache
def area(language: str, name: str) -> Mapping[str, CatalogueEntry]:
    """The texts of an area by key; empty where there is no such file."""
    if language not in languages() or not name.isidentifier():
        return {}
    try:
        texts: dict[str, CatalogueEntry] = json.loads((FOLDER / language / f"{name}.json").read_text("utf-8"))
    except FileNotFoundError:
        return {}
    return texts


def catalogue(language: str) -> Mapping[str, CatalogueEntry]:
    """All texts of a language by key."""
    return {key: entry for name in areas() for key, entry in area(language, name).items()}


def rendered(language: str, key: str, values: Mapping[str, object]) -> str:
    """The text in this language; Missing where it, or a value of it, is missing."""
    entry = area(language, key.partition(".")[0]).get(key)
    if entry is None:
        raise Missing("it is not in the catalogue")
    try:
        return _form(entry, values).format_map(values)
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        raise Missing(f"it cannot be filled in ({error})") from error


def _form(entry: CatalogueEntry, values: Mapping[str, object]) -> str:
    if isinstance(entry, str):
        return entry
    return entry["one" if values[entry["by"]] == 1 else "other"]


ENGLISH = Texts()
