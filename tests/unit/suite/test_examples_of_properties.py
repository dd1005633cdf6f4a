"""The examples of a property are those of its seed, whatever was loaded before."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def examples() -> list[int]:
    drawn: list[int] = []

    @settings(max_examples=300, derandomize=True)
    @given(st.integers())
    def draw(number: int) -> None:
        drawn.append(number)

    draw()
    return drawn


def test_a_module_that_is_loaded_changes_no_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = examples()
    source = tmp_path / "loaded_meanwhile.py"
    source.write_text(f"NUMBERS = {[10**9 + number for number in range(1000)]}")
    found = spec_from_file_location(source.stem, source)
    assert found is not None
    monkeypatch.setitem(sys.modules, source.stem, module_from_spec(found))

    assert examples() == before
