"""Hooks for the site's builder: the pages, their order, and the files that they link to.

A page is in the navigation because its file is in the folder. A link to a file of the checkout leads to a copy.
"""

import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
SECTIONS = {
    "Tutorial": "tutorial",
    "How-to": "how-to",
    "Reference": "reference",
    "Explanation": "explanation",
    "Decisions": "decisions",
}
#: Folders inside a section, by their title.
SUBSECTIONS = {
    "set-up": "Set up",
    "plan": "Plan",
    "run": "Run",
    "trouble": "Trouble",
    "gpus": "GPUs",
    "operation": "Operation",
    "slack": "Slack",
    "events": "Events",
}
FIRST = {
    "tutorial": ["first-lab.md", "on-aws.md"],
    "decisions": ["README.md"],
    "reference": ["lab.md"],
    "reference/events": ["README.md"],
}
#: Where the site keeps what its pages link to outside docs/.
COPIES = "checkout"
DEPTH = 4
_ITEM = re.compile(r"(?:[-*]|\d+\.) ")
_OUTSIDE = re.compile(r"\]\((?P<up>(?:\.\./)+)(?P<path>[\w./-]+)(?P<anchor>#[\w-]+)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The navigation, from the folders."""
    docs = Path(config.docs_dir)
    config.nav = [{"Lamplighter": "index.md"}]
    config.nav += [{title: pages(docs, folder)} for title, folder in SECTIONS.items()]
    return config


def pages(docs: Path, folder: str) -> list[dict[str, Any]]:
    """The pages of a folder: the pages of FIRST, then the others by title, then the subfolders."""
    first = FIRST.get(folder, [])
    titled = {f"{folder}/{page.name}": title(page) for page in (docs / folder).glob("*.md")}
    order = {f"{folder}/{name}": at for at, name in enumerate(first)}
    own = sorted(titled, key=lambda page: (order.get(page, len(first)), titled[page].lower()))
    below = sorted(
        path.name for path in (docs / folder).iterdir() if path.is_dir() and any(path.glob("*.md"))
    )
    return [
        *({titled[page]: page} for page in own),
        *({SUBSECTIONS[name]: pages(docs, f"{folder}/{name}")} for name in below),
    ]


def title(page: Path) -> str:
    """A page's first heading, without its marks."""
    heading = page.read_text("utf-8").lstrip().splitlines()[0]
    return heading.removeprefix("# ").replace("`", "")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a copy of every file of the checkout that a page links to."""
    for page in list(files.documentation_pages()):
        for link in _OUTSIDE.finditer(page.content_string):
            path = outside(page.src_uri, link["up"] + link["path"])
            if path is not None and files.get_file_from_path(copy_of(path)) is None:
                source = (ROOT / path).read_text("utf-8")
                files.append(File.generated(config, copy_of(path), content=source))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Change links to files outside docs/ into links to the copies."""

    def led(link: re.Match[str]) -> str:
        path = outside(page.file.src_uri, link["up"] + link["path"])
        if path is None:
            return link[0]
        up = "../" * page.file.src_uri.count("/")
        return f"]({up}{copy_of(path)})"

    return _OUTSIDE.sub(led, indented(markdown))


def indented(markdown: str) -> str:
    """Indents the content of list items as the site's Markdown needs it. GitHub's Markdown needs less."""
    lines: list[str] = []
    item: re.Match[str] | None = None
    more = 0
    fenced = False
    for line in markdown.splitlines():
        begins = None if fenced else _ITEM.match(line)
        depth = len(line) - len(line.lstrip())
        if begins:
            item, more = begins, 0
        elif line.strip() and depth == 0 and not fenced:
            item = None
        elif item and line.strip() and more == 0 and not fenced:
            more = max(0, DEPTH - depth)
        fenced ^= line.lstrip().startswith("```")
        lines.append(" " * more + line if item and not begins and line.strip() else line)
    return "\n".join(lines) + "\n"


def copy_of(path: PurePosixPath) -> str:
    """The path of a file's copy. It is a text file, so a browser shows it."""
    return f"{COPIES}/{path}.txt"


def outside(page: str, link: str) -> PurePosixPath | None:
    """The file of the checkout that a link leads to, if it is outside docs/."""
    steps: list[str] = ["docs", *PurePosixPath(page).parent.parts]
    for step in PurePosixPath(link).parts:
        if step == "..":
            if not steps:
                return None
            steps.pop()
        else:
            steps.append(step)
    found = PurePosixPath(*steps)
    return found if steps[:1] != ["docs"] and (ROOT / found).is_file() else None
