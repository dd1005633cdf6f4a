"""The keys of the model by path: the type at each path, and the known key nearest to a wrong one."""

import difflib
import types
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Annotated, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from lamplighter.data import other_words
from lamplighter.lab.model import Lab
from lamplighter.lab.types import Part

Path = tuple[str | int, ...]
SIMILAR, VERY_SIMILAR = 0.6, 0.8
"""How alike two words must be, from 0 to 1."""


def bare(kind: object) -> object:
    """A type without its constraints, and without None."""
    origin = get_origin(kind)
    if origin is Annotated:
        return bare(get_args(kind)[0])
    if origin in (Union, types.UnionType):
        kinds = [choice for choice in get_args(kind) if choice is not type(None)]
        return bare(kinds[0]) if len(kinds) == 1 else kind
    return kind


def fields(part: type[Part]) -> dict[str, FieldInfo]:
    """The keys of a part as lab.yaml writes them."""
    return {field.alias or name: field for name, field in part.model_fields.items()}


def kind_at(path: Path) -> object:
    """The type of the value at a path; None if the model has no such path."""
    kind: object = Lab
    for step in path:
        kind = bare(kind)
        if isinstance(kind, type) and issubclass(kind, Part):
            field = fields(kind).get(str(step))
            kind = field.annotation if field else None
        elif get_origin(kind) is list and isinstance(step, int):
            kind = get_args(kind)[0]
        elif get_origin(kind) is dict and isinstance(step, str):
            kind = get_args(kind)[1]
        else:
            return None
    return bare(kind)


def part_at(path: Path) -> type[Part] | None:
    """The part at a path, or None."""
    kind = kind_at(path)
    return kind if isinstance(kind, type) and issubclass(kind, Part) else None


def field_at(path: Path) -> FieldInfo | None:
    """The field of the model that a path names; for an item of a list, the field of the list."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    part = part_at(path[:-1]) if path else None
    return fields(part).get(str(path[-1])) if part else None


def nearest(word: str, known: Iterable[str], similar: float = SIMILAR) -> str | None:
    """The known word that is most similar to a wrong one; None where none is similar."""
    return _nearest(word, tuple(known), similar)


def hint(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """`; the nearest is gpu`, the end of a problem with a wrong word, or other advice where none is similar."""
    similar = nearest(word, known)
    return f"; the nearest is {similar}" if similar else otherwise


@lru_cache(maxsize=1000)
def _nearest(word: str, known: tuple[str, ...], least: float) -> str | None:
    matcher = difflib.SequenceMatcher(None)
    matcher.set_seq2(word[:80].lower())
    best, similar = -1.0, None
    for name in known:
        matcher.set_seq1(name.lower())
        # The quick ratios are upper bounds. For most names they are enough.
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and matcher.ratio() > best:
            best, similar = matcher.ratio(), name
    return similar if best >= least else None


def nearest_key(path: Path) -> str | None:
    """The known key that an unknown one means.

    A typo is likelier than a key in the wrong place, and that is likelier than another tool's word.
    """
    known = list(fields(part_at(path[:-1]) or Lab))
    wrong = str(path[-1])
    meant = other_words.key_for(wrong)
    return (
        nearest(wrong, known, VERY_SIMILAR)
        or next((place for place in _places(Lab) if place.rpartition(".")[2] == wrong), None)
        or (meant if meant in known else None)
        or (None if meant or other_words.advice_for(wrong) else nearest(wrong, known))
        or next((place for place in _places(Lab) if meant and f".{place}".endswith(f".{meant}")), None)
    )


def _places(part: type[Part], above: str = "") -> Iterator[str]:
    for key, field in fields(part).items():
        yield f"{above}{key}"
        kind = bare(field.annotation)
        inner, between = (kind, "") if get_origin(kind) is None else (bare(get_args(kind)[-1]), "*.")
        if isinstance(inner, type) and issubclass(inner, Part):
            yield from _places(inner, f"{above}{key}.{between}")
