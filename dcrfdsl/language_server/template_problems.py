"""The problems of a template, sorted to the files that they stand in: what `dcrfdsl check` finds, and nothing else.

Not here: remedies as edits (`code_actions`), their form in the protocol (`lsp_server`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..foundation import DcrfError, Diagnostic, data_error, dataclass, read_template
from ..semantics import EXPLANATIONS, Resolved, check, load_text
from .template_index import Workspace, absolute


@dataclass(frozen=True)
class Problem:
    """A diagnostic; `start` to `end` is its place in the file that it is shown in."""

    diagnostic: Diagnostic
    start: int
    end: int

    @property
    def message(self) -> str:
        """Message, the words beside the carets, and the remedy."""
        one = self.diagnostic
        label = f" ({one.primary.text})" if one.primary is not None and one.primary.text else ""
        remedy = f"\n{one.help}" if one.help else ""
        where = f"\n{one.location}" if one.primary is None and one.location else ""
        return f"{one.message}{label}{where}{remedy}"


@dataclass(frozen=True)
class Analysis:
    """What was found in one text of a template. problems: by file.   texts: of the files that were used.
    resolved: the model, for changes that need it.
    """

    text: str
    problems: Mapping[Path, Sequence[Problem]]
    texts: Mapping[Path, str]
    resolved: Resolved

    @property
    def has_errors(self) -> bool:
        return any(one.diagnostic.severity == "error" for found in self.problems.values() for one in found)


def problems_of(path: Path, text: str, workspace: Workspace) -> Analysis:
    """The problems by file. The template itself is always among them; a problem without a place is at its beginning.

    text: of the template, without a byte order mark.
    """
    name, texts = str(path), {absolute(path): text}

    def reading(used: Path) -> str:
        if used.exists() and not (used.is_file() or used.is_dir()):  # a pipe would be waited for
            raise data_error("no-file", f"`{used}` is no file", file=str(used))
        found = workspace.read(absolute(used))
        texts[absolute(used)] = read_template(used) if found is None else found  # the reader says what is the matter
        return texts[absolute(used)]

    resolved = load_text(text, name, directory=path.parent, path=path, reading=reading)
    problems: dict[Path, list[Problem]] = {absolute(path): []}
    for diagnostic in check(resolved, registered=workspace.registered):
        if diagnostic.primary is None:
            problems[absolute(path)].append(Problem(diagnostic, 0, 0))
            continue
        span = diagnostic.primary.span
        file = absolute(path if span.source.name == name else Path(span.source.name))
        problems.setdefault(file, []).append(Problem(diagnostic, span.start, span.end))
    return Analysis(text, problems, texts, resolved)


def explained(slug: str) -> str:
    """The page of a kind of problem: what it means and what to do."""
    page = EXPLANATIONS.get(slug)
    return "" if page is None else f"{page.meaning}\n\nRemedy: {page.remedy}"


def readable(path: Path) -> str | None:
    """The text of a file on the disk, or None."""
    try:
        return read_template(path) if path.is_file() else None
    except (DcrfError, OSError, ValueError):
        return None
