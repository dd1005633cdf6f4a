"""The order of test files: the changed ones first, then those with the fewest imports to a changed file."""

from collections.abc import Sequence
from pathlib import Path

from tests.quick.graph import Graph

#: Quicker folders come first, between files that are otherwise equal.
FOLDERS = ("unit", "infra", "properties")


def nearest_tests(graph: Graph, changed: Sequence[Path]) -> tuple[Path, ...]:
    """Every test file that the change reaches, nearest first."""
    distances = graph.distances(changed)
    stems = {file.stem.removeprefix("test_") for file in changed}

    def place(file: Path) -> tuple[int, bool, int, str]:
        of_that_name = any(stem in file.stem for stem in stems)
        return distances[graph.files[file]], not of_that_name, FOLDERS.index(file.parts[1]), str(file)

    return tuple(
        sorted(
            (file for file, module in graph.files.items() if module in distances and _test(file)), key=place
        )
    )


def _test(file: Path) -> bool:
    return file.parts[0] == "tests" and file.parts[1] in FOLDERS and file.name.startswith("test_")
