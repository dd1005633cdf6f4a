"""The generated example is the default lab, and shows every key."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import jsonschema  # type: ignore[import-untyped]

from lamplighter.data import prices
from lamplighter.lab import names as lab_names
from lamplighter.lab.keys import bare, fields
from lamplighter.lab.model import Lab
from lamplighter.lab.types import Part
from lamplighter.labfile.file import load
from lamplighter.labfile.messages import RIGHT
from lamplighter.labfile.schema import schema
from lamplighter.labfile.yaml import read

ROOT = Path(__file__).resolve().parents[3]


def test_the_example_is_the_default_lab() -> None:
    assert load(ROOT / "lab.yaml") == Lab(name="gpu-lab")


def test_the_example_shows_every_key() -> None:
    text = (ROOT / "lab.yaml").read_text("utf-8")
    shown = set(re.findall(r"^[#\s-]*([A-Za-z_][A-Za-z0-9_]*):(?:\s|$)", text, re.MULTILINE))
    assert {key for part in parts(Lab) for key in fields(part)} <= shown


def test_what_is_commented_out_is_good_too() -> None:
    text = (ROOT / "lab.yaml").read_text("utf-8")
    for key in ("windows", "slack"):
        lines = text.splitlines()
        begin = lines.index(f"# {key}:")
        block = []
        for line in lines[begin:]:
            if not line.startswith("#"):
                break
            block.append(line.removeprefix("# "))
        value = read("\n".join(block)).value
        assert isinstance(value, dict)
        Lab.model_validate({"name": "x", **value})


def test_every_field_says_what_it_is() -> None:
    for part in parts(Lab):
        assert part.__doc__
        for key, field in fields(part).items():
            assert field.description, f"{part.__name__}.{key}"
            assert field.description.endswith("."), f"{part.__name__}.{key}"


def test_the_page_calls_a_time_of_the_day_a_time() -> None:
    """The model keeps it as a minute of the day; whoever writes `1200` is refused."""
    rows = [row for row in (ROOT / "docs/reference/lab.md").read_text("utf-8").splitlines() if "HH:MM" in row]
    assert len(rows) == 4
    assert [row for row in rows if "| time (HH:MM" not in row] == []


def test_every_form_of_a_name_is_said_in_words() -> None:
    forms = {value for name, value in vars(lab_names).items() if name.isupper()}
    assert forms == set(RIGHT)


def test_the_schema_takes_what_the_model_takes() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    window = {"name": "w", "days": "daily", "start": "20:00", "end": "24:00", "nodes": None}
    assert validator.is_valid({"name": "x", "windows": [window], "except": "2026-01-01", "guard": None})
    assert validator.is_valid({"name": "x", "cluster": {"kubernetes_version": 1.35}})
    assert not validator.is_valid({"name": "x", "windows": [{**window, "start": "8:00"}]})
    assert not validator.is_valid({"name": "x", "region_": "us-east-1"})


def test_the_schema_takes_every_example() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    for example in sorted((ROOT / "examples").glob("*.yaml")):
        value = json.loads(json.dumps(read(example.read_text("utf-8")).value, default=float))
        assert list(validator.iter_errors(value)) == [], example.name


def test_a_lab_survives_the_way_to_the_functions() -> None:
    for lab in (Lab(name="x"), load(Path(__file__).parents[3] / "lab.yaml")):
        assert Lab.from_json(lab.to_json()) == lab


def test_the_default_labs_price_is_the_published_one() -> None:
    assert str(Lab(name="x").price("gpu")) == "1.237"
    assert {"ap-northeast-2", "us-east-1", "us-west-2", "eu-west-1"} <= set(prices.known_regions())


def parts(part: type[Part]) -> Iterator[type[Part]]:
    yield part
    for field in fields(part).values():
        kind = bare(field.annotation)
        inner = bare(get_args(kind)[-1]) if get_args(kind) else kind
        if isinstance(inner, type) and issubclass(inner, Part):
            yield from parts(inner)
