"""A page for every slug: the meaning of the message, and the remedy. `dcrfdsl check --explain SLUG` prints it.

The pages are prose and stand in `messages.md` beside this file. A test checks that every slug of the package has a
page, and every page a slug.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...foundation import Table, dataclass


@dataclass(frozen=True)
class Explanation:
    """The reason for the problem, in one sentence, and the remedy."""

    meaning: str
    remedy: str


def _pages(text: str) -> Iterator[tuple[str, Explanation]]:
    """The slug and the page of each heading of the second level, in the order of the text."""
    for section in text.split("\n# ")[1:]:
        for page in section.split("\n## ")[1:]:
            slug, *paragraphs = (" ".join(paragraph.split("\n")) for paragraph in page.strip().split("\n\n"))
            yield slug, Explanation(*paragraphs)


PAGES = Path(__file__).with_name("messages.md")
EXPLANATIONS: Table[Explanation] = Table("kind of message", dict(sorted(_pages(PAGES.read_text(encoding="utf-8")))))
