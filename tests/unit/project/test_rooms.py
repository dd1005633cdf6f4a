"""The source tree: no folder has too many files, and no modules import each other in a circle."""

from collections import Counter

import grimp

from tests.checkout import ROOT

MOST = 20
"""The most files in one folder."""
TREES = ("cli", "docs", "lambdas", "local", "stacks", "tests")
PACKAGES = ("lamplighter", "handlers", "cli", "local", "stacks")
MADE = {"__pycache__", "charts", "controlplane"}


def folders() -> Counter[str]:
    """The number of files in each folder."""
    files = [file for tree in TREES for file in (ROOT / tree).rglob("*") if file.is_file()]
    ours = [file for file in files if not MADE & set(file.parts) and file.name != "__init__.py"]
    return Counter(str(file.parent.relative_to(ROOT)) for file in ours)


def test_no_folder_has_more_files_than_a_person_looks_through() -> None:
    assert {folder: count for folder, count in folders().items() if count > MOST} == {}


def test_no_module_needs_one_that_needs_it() -> None:
    """Imports for types only and imports inside functions count too: a reader of one module has to read the other."""
    graph = grimp.build_graph(*PACKAGES)

    circles = {
        (importer, imported)
        for importer in graph.modules
        for imported in graph.find_modules_directly_imported_by(importer)
        if graph.chain_exists(imported, importer)
    }
    assert circles == set()


def test_every_room_says_what_it_is_for() -> None:
    rooms = [file for tree in TREES if tree != "tests" for file in (ROOT / tree).rglob("__init__.py")]

    silent = [
        str(file.parent.relative_to(ROOT)) for file in rooms if not file.read_text("utf-8").startswith('"""')
    ]
    assert silent == []
