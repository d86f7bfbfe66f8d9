"""The long description of the package for an index: the README, whose links into the tree lead to the repository.

Hatchling runs it whenever it builds; `pyproject.toml` says where the repository lies, and nothing else does. Not here:
the pages themselves.
"""

from __future__ import annotations

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?:|#|mailto:)([^)\s]+)\)")


def with_whole_links(text: str, repository: str, version: str) -> str:
    """The text with links to files of the tree as they were at a version; pictures by their content."""
    tree, content = f"{repository}/tree/v{version}/", f"{repository}/raw/v{version}/"
    return LINK.sub(lambda link: f"{link[1]}{link[2]}({content if link[1] else tree}{link[3]})", text)


class LongDescription(MetadataHookInterface):
    """Makes the field `readme`, which `pyproject.toml` declares as dynamic."""

    def update(self, metadata: dict[str, object]) -> None:
        urls = metadata["urls"]
        assert isinstance(urls, dict)
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = with_whole_links(text, urls["Repository"], str(metadata["version"]))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
