"""Every link and anchor of the site works, the site fetches nothing, and it has the pages that our programs name."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
PROGRAMS = ["cli", "lambdas", "local", "stacks", "app.py", "Makefile", "lab.yaml"]
_NAMED = re.compile(r"docs/[\w./-]+\.(?:md|json|svg|png)")
_FETCHED = re.compile(
    r"<(?:script|img|link|iframe|source)\b[^>]*\b(?:src|href)=\"?(?:https?:)?//[^\" >]*", re.IGNORECASE
)


@pytest.mark.parametrize("where", PROGRAMS)
def test_pages_that_programs_name_are_there(where: str) -> None:
    files = [ROOT / where] if (ROOT / where).is_file() else sorted((ROOT / where).rglob("*.py"))
    for file in files:
        for named in _NAMED.findall(file.read_text("utf-8")):
            assert (ROOT / named).exists(), f"{file.relative_to(ROOT)} names {named}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole documentation. The build fails on a broken link or anchor."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_every_page_is_in_the_site(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        name = "index.html" if page.name in {"README.md", "index.md"} else f"{page.stem}.html"
        assert (site / page.parent.relative_to(DOCS) / name).exists(), page


def test_the_site_fetches_nothing(site: Path) -> None:
    for page in site.rglob("*.html"):
        fetched = [
            found for found in _FETCHED.findall(page.read_text("utf-8")) if 'rel="canonical"' not in found
        ]
        assert fetched == [], f"{page.relative_to(site)} fetches {fetched[0]}"


def test_what_stands_under_a_list_is_no_literal_fence(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert "```" not in page.read_text("utf-8"), (
            f"{page.relative_to(site)} shows the marks of a code block"
        )
