"""A statement that was parsed before, at another place, is what parsing it where it stands gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT

from dcrfdsl.foundation import Span
from dcrfdsl.syntax import Node, Template, format_template, parse_partial, parser as parser_module

TEXTS = sorted([*(ROOT / "templates").glob("*.dcrf"), *(ROOT / "tests" / "language" / "good").rglob("*.dcrf")])
COMMENTED = (
    "label y in {A, B}\nclique y: # one\n\n    word, # two\n    # three\n\n    pos\n  # four\n# five\nlet a = 3\n"
)


def parts(node: Any) -> Iterator[Any]:
    """Everything in a tree, what does not count in comparisons included."""
    if isinstance(node, Span):
        yield node.start, node.end, node.source.name, node.text
    elif isinstance(node, tuple):
        for one in node:
            yield from parts(one)
    elif isinstance(node, Mapping):
        for name, one in node.items():
            yield name
            yield from parts(one)
    elif isinstance(node, Node):
        yield type(node).__name__
        yield from parts(vars(node))
    else:
        yield node


def both(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Template, Template]:
    """The tree from kept statements, and the one without."""
    parse_partial("\n# above\n" + text, "other")
    kept = parse_partial(text, "here")[0]
    with monkeypatch.context() as patch:
        patch.setattr(parser_module, "_kept_statement", lambda text: None)
        return kept, parse_partial(text, "here")[0]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_trees_are_the_same_with_all_their_places(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = path.read_text(encoding="utf-8")
    kept, anew = both(text, monkeypatch)
    assert list(parts(kept)) == list(parts(anew))


@pytest.mark.parametrize("text", [COMMENTED, COMMENTED.replace("\n", "\r\n"), "# é\n" + COMMENTED])
def test_comments_stay_in_their_places(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, anew = both(text, monkeypatch)
    assert list(parts(kept)) == list(parts(anew))
    assert format_template(kept) == format_template(anew)
    assert format_template(parse_partial("let a = 1\n" + text, places=False)[0]) == format_template(
        parse_partial("let a = 1\n" + text)[0]
    )
