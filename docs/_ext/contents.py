"""The tree of pages, made of the lists that readers see: a page source has no directive for it, and reads as Markdown.

A comment `<!-- contents -->` in a page puts the pages that its list items begin with, `* [Title](page.md): …` or
`1. [Title](page.md)`, below it in the tree, in that order. `<!-- contents: groups -->` does so by sections: each
section of the page becomes a page of its own, `groups/NAME.md`, with the pages of its list below it; those of a list
above the comment stand before the groups. So the sidebar has groups that unfold, and all pages stand in one list.
The pages of groups are not kept in the repository. Not here: the pages of the reference that are made
(`reference_pages`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

COMMENT = re.compile(r"^<!-- contents(: groups)? -->$", re.MULTILINE)
ITEM = re.compile(r"^(?:\*|\d+\.) \[[^\]]+\]\((?!(?:\.\./)+[\w-]+/)([^)#\s]+)\.md\)", re.MULTILINE)
SECTION = re.compile(r"^## (.+)\n((?:(?!## ).*\n?)*)", re.MULTILINE)
_TREES: dict[tuple[object, ...], str] = {}
LINK = re.compile(r"\]\((?!\w+:)([^)\s]+)\)")


def with_contents(text: str) -> str:
    """The page with a hidden tree in the place of its comment."""
    found = COMMENT.search(text)
    if found is None:
        return text
    names = ITEM.findall(text[: found.start()] if found[1] else text)
    if found[1]:
        names += [f"groups/{name}" for name, _ in group_pages(text)]
    tree = "\n".join(names)
    return f"{text[: found.start()]}```{{toctree}}\n:hidden:\n\n{tree}\n```{text[found.end() :]}"


def group_pages(text: str) -> Iterator[tuple[str, str]]:
    """The page of each section: its name, and its text. Links are as seen from the folder `groups`."""
    for title, body in SECTION.findall(text):
        name = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        moved = LINK.sub(lambda link: f"]({'../index.md' if link[1][0] == '#' else '../'}{link[1]})", body)
        yield name, f"# {title}\n{moved}\n<!-- contents -->\n"


def _write(app: Sphinx) -> None:
    """Writes the pages of groups that have changed, and removes those of sections that are no more."""
    for index in Path(app.srcdir).glob("*/index.md"):
        text = index.read_text(encoding="utf-8")
        found = COMMENT.search(text)
        folder = index.parent / "groups"
        pages = {folder / f"{name}.md": page for name, page in group_pages(text)} if found and found[1] else {}
        for path in set(folder.glob("*.md")) - pages.keys():
            path.unlink()
        for path, page in pages.items():
            folder.mkdir(exist_ok=True)
            if not path.exists() or path.read_text(encoding="utf-8") != page:
                path.write_text(page, encoding="utf-8")


def _rewrite(app: Sphinx, document: str, source: list[str]) -> None:
    source[0] = with_contents(source[0])


def _share(app: Sphinx, page: str, template: str, context: dict[str, Any], document: nodes.document | None) -> None:
    """Pages outside the tree, as those of messages, see it the same way in each folder: it is made once for them.

    For each page anew it would take half of the time of a build.
    """
    if "orphan" in app.env.metadata.get(page, {}) and "toctree" in context:
        make, folder = context["toctree"], page.rpartition("/")[0]

        def tree(**how: Any) -> str:
            key = (folder, *sorted(how.items()))
            if key not in _TREES:
                _TREES[key] = make(**how)
            return _TREES[key]

        context["toctree"] = tree


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", lambda app, config: _write(app))
    app.connect("source-read", _rewrite)
    app.connect("html-page-context", _share, priority=400)  # before the theme asks for the tree
    return {"parallel_read_safe": True, "parallel_write_safe": True}
