"""From template files to one `ModelSpec`: reading, `use`, merging, `--set`.

    load_template("chunker.dcrf", overrides=["train.prior=none"]).require()

Every problem is collected and resolving goes on after each. Not here: whether the model makes sense (`checks.checker`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import PATHS, DcrfError, Diagnostic, Label, Span, require_kind, require_list
from ...files import read_template
from ...syntax import ast, parse_partial
from ..checks import check
from ..schema import LocatedSpec, ModelSpec, SpanTable, check_constants
from .declarations import Declarer
from .draft import Draft
from .overrides import apply_override, read_override

__all__ = ["Resolved", "load_template", "load_text", "resolve"]

DEEPEST_USE = 64  # files that use each other in turn; each is read inside the one before it


@dataclass(frozen=True)
class Resolved(LocatedSpec):
    """A specification as its files, or whoever built it, gave it. `require` asks the checker."""

    def require(self, stage: str | None = None, *, unchecked: bool = False) -> ModelSpec:
        """The specification; `DcrfError` with every problem that the checker finds if there is an error.

        `stage`: the training stage that is to run, as in `check`. A function that is not built in may be the user's:
        whoever is told of those asks again. `unchecked`: only what could not be read or resolved is an error.
        """
        found = self.diagnostics if unchecked else check(self, stage=stage, registered=None)
        if any(diagnostic.severity == "error" for diagnostic in found):
            raise DcrfError(found)
        return self.spec


def load_template(path: str | Path, overrides: Sequence[str] = (), stage: str | None = None) -> Resolved:
    """Read and resolve a template file. `DcrfError` only if the file itself cannot be read."""
    require_kind(path, PATHS, "path", "the path of a template file")
    text = read_template(path)
    return load_text(text, str(path), overrides, stage, directory=Path(path).parent, path=Path(path))


def load_text(
    text: str,
    name: str = "<text>",
    overrides: Sequence[str] = (),
    stage: str | None = None,
    *,
    directory: Path = Path("."),
    path: Path | None = None,
) -> Resolved:
    """Resolve a template given as text; `name` stands in messages, `directory` is where its paths start.

    `path` is the file that it was read from, if any: a file that uses itself is then found out.
    """
    require_kind(text, str, "text", "the text of a template")
    template, problems = parse_partial(text, name)
    resolved = resolve(template, directory=directory, overrides=overrides, stage=stage, path=path)
    if not problems:
        return resolved
    found = tuple(_in_order([*problems, *resolved.diagnostics]))
    return Resolved(resolved.spec, resolved.spans, found, resolved.directories, complete=False)


def resolve(
    template: ast.Template,
    *,
    directory: Path,
    overrides: Sequence[str] = (),
    stage: str | None = None,
    path: Path | None = None,
) -> Resolved:
    """Resolve a parsed template; `stage` is the stage that `train.KEY` in `overrides` means (None: the last)."""
    require_list(overrides, "overrides", "texts such as `train.seed=7`")
    draft = Draft(doc=template.doc)
    reader = _Reader(draft)
    main = None if path is None else path.resolve()
    reader.read(template, directory, opened=() if main is None else (main,))
    for text in overrides:
        require_kind(text, str, "overrides", "texts such as `train.seed=7`")
        override = read_override(text)
        if isinstance(override, Diagnostic):
            draft.problems.append(override)
        else:
            apply_override(draft, override, stage)
    spec = draft.finish()
    spans = SpanTable(draft.spans)
    draft.problems.extend(check_constants(spec, spans))
    return Resolved(spec, spans, tuple(_in_order(draft.problems)), draft.directories, reader.complete)


class _Reader:
    """Puts a file and the files that it uses into the draft, the used ones first."""

    def __init__(self, draft: Draft):
        self.draft = draft
        self.complete = True
        self._done: set[Path] = set()

    def read(self, template: ast.Template, directory: Path, opened: tuple[Path, ...]) -> None:
        """`opened` are the files that are being read, outermost first; those already read are not read again."""
        here = self.draft.file
        uses = [statement for statement in template.statements if isinstance(statement, ast.Use)]
        for n, use in enumerate(uses):
            self.draft.file = (*here, n)
            self._use(use, directory, opened)
        self.draft.file = here
        declarer = Declarer(self.draft, directory)
        for statement in template.statements:
            if not isinstance(statement, ast.Use):
                declarer.declare(statement)

    def _use(self, statement: ast.Use, directory: Path, opened: tuple[Path, ...]) -> None:
        path = directory / str(statement.path.value)
        try:
            real = path.resolve()
        except (OSError, RuntimeError, ValueError):  # a link to itself, an impossible name: opening it tells which
            real = path
        if real in opened:
            chain = " → ".join(f"`{file.name}`" for file in (*opened[opened.index(real) :], real))
            self._complain("use-cycle", f"`{real.name}` uses itself: {chain}", statement.path.span, "closes the circle")
            return
        if len(opened) > DEEPEST_USE:
            chain = f"`{opened[0].name}` → … → `{opened[-1].name}` → `{real.name}`"
            message = f"files use each other more than {DEEPEST_USE} deep: {chain}"
            remedy = "let one file use the others, side by side"
            self._complain("use-too-deep", message, statement.path.span, f"level {DEEPEST_USE + 1}", remedy)
            return
        if real in self._done:
            return
        self._done.add(real)
        try:
            text = read_template(path)
        except DcrfError as error:
            for problem in error.diagnostics:
                where = f" (at {problem.location})" if problem.slug == "no-text" else ""
                self._complain(problem.slug, problem.message + where, statement.path.span, "used here", problem.help)
            return
        template, problems = parse_partial(text, str(path))
        self.draft.problems.extend(problems)
        self.complete = self.complete and not problems
        self.read(template, path.parent, (*opened, real))

    def _complain(self, slug: str, message: str, span: Span, words: str, help: str | None = None) -> None:
        self.draft.problems.append(Diagnostic(slug, message, Label(span, words), help=help))


def _in_order(problems: Sequence[Diagnostic]) -> list[Diagnostic]:
    """By file, in the order in which files first appear, and by place in the file; what has no place comes last."""
    files: dict[str, int] = {}
    for problem in problems:
        if problem.primary is not None:
            files.setdefault(problem.primary.span.source.name, len(files))

    def key(problem: Diagnostic) -> tuple[int, int]:
        if problem.primary is None:
            return len(files), 0
        return files[problem.primary.span.source.name], problem.primary.span.start

    return sorted(problems, key=key)
