"""A template with a mark at the cursor, and the questions of an editor about it. Not here: the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dcrfdsl.language_server.answers import CodeAction, Edit
from dcrfdsl.language_server.template_index import Names, Template, Workspace

CURSOR = "▌"
BASE = """data conll(word, pos, chunk)
label chunk in bio(NP, VP)
lexicon days = "days.txt"
let extent = 5
## What a word looks like.
features form: word, lower(word)
clique chunk as here: form
"""
PATH = Path("/templates/a.dcrf")


def marked(text: str, path: Path = PATH) -> tuple[Template, int]:
    """The template without the mark, and where it stood."""
    offset = text.index(CURSOR)
    return Template.of(path, text.replace(CURSOR, "", 1)), offset


def workspace(files: Mapping[Path, str] | None = None, registered: Sequence[str] = ()) -> Workspace:
    return Workspace(lambda path: (files or {}).get(path), registered=tuple(registered))


def names_of(template: Template) -> Names:
    return workspace().names(template)


def applied(text: str, edits: Sequence[Edit]) -> str:
    """The text after edits, of which no two overlap."""
    last = len(text) + 1
    for edit in sorted(edits, key=lambda one: (one.start, one.end), reverse=True):
        assert edit.start <= edit.end <= last
        last = edit.start
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def applied_action(template: Template, action: CodeAction) -> str:
    return applied(template.text, action.edits[template.path])
