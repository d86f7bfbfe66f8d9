"""From template files to one `ModelSpec`: reading, `use`, merging, `--set`.

    load_template("chunker.dcrf", overrides=["train.prior=none"]).require()

All problems are collected, and resolving continues after each. Not here: whether the model is meaningful (`checks`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ...foundation import (
    PATHS,
    DcrfError,
    Diagnostic,
    Label,
    Span,
    dataclass,
    is_pipe,
    read_template,
    require_kind,
    require_list,
)
from ...syntax import Template, Use, parse_partial
from ..checks import LocatedSpec, check, in_order
from ..schema import ModelSpec, to_text
from .draft import Draft
from .fragments import apply_override, read_override

DEEPEST_USE = 64  # files that use each other in a chain; each is read inside the previous one


@dataclass(frozen=True, repr=False)
class Resolved(LocatedSpec):
    """A template that was read: its specification, whose parts know their places. `require` runs the checker.

    spec: the `ModelSpec`.
    diagnostics: the problems found so far, a `Diagnostic` each.
    directories: to which the paths of lexicons and state files are relative, by name.
    complete: False if a statement could not be read.
    main_file: the name of its text; None if it is empty.
    used: the files that it uses, and those that they use.

    >>> load_template("address.dcrf").spec.labels[0].name
    'part'
    """

    used: tuple[Path, ...] = ()

    def __repr__(self) -> str:
        problems = f", {len(self.diagnostics):,} problems" if self.diagnostics else ""
        return f"<{type(self).__name__}: {self.spec!r}{problems}>"

    def _repr_html_(self) -> str:
        """For notebooks: what the checker says, and the canonical template."""
        from ..schema import template_html  # here, as it loads the highlighter

        return template_html(to_text(self.spec), check(self, stage=None, registered=None))

    def require(self, stage: str | None = None, *, unchecked: bool = False) -> ModelSpec:
        """The specification. Raises DcrfError with every problem that the checker finds, if one is an error.

        stage: the training stage that runs; by default the last one.
        unchecked: leaves out the checker: only problems of reading are errors.

        An unknown function may be one of yours, and is no error here; `check` and `fit` take yours as `registered`.

        >>> spec = load_template("address.dcrf").require()
        """
        diagnostics = self.diagnostics if unchecked else check(self, stage=stage, registered=None)
        if any(diagnostic.severity == "error" for diagnostic in diagnostics):
            raise DcrfError(diagnostics)
        return self.spec


def load_template(path: str | Path, overrides: Sequence[str] = (), stage: str | None = None) -> Resolved:
    """Reads a template file, with the files that it uses. Returns a `Resolved`.

    path: of the file.
    overrides: changes of settings, such as `"train.seed=7"`, as `--set` takes them.
    stage: the training stage that `train.KEY` in `overrides` refers to; by default the last one.

    Raises DcrfError only if the file itself cannot be read. Problems of the template are kept, for `require`, `check`
    or `fit` to report all together.

    >>> spec = load_template("address.dcrf", overrides=["train.prior=none"]).require()
    """
    require_kind(path, PATHS, "path", "the path of a template file")
    text = read_template(path)
    return load_text(text, str(path), overrides, stage, directory=Path(path).parent, path=Path(path))


def load_text(
    text: str,
    name: str = "<text>",
    overrides: Sequence[str] = (),
    stage: str | None = None,
    *,
    directory: str | Path = ".",
    path: Path | None = None,
    reading: Callable[[Path], str] = read_template,
) -> Resolved:
    """Reads a template given as text. Returns a `Resolved`.

    text: of the template.
    name: stands in messages for the name of a file.
    overrides: changes of settings, such as `"train.seed=7"`, as `--set` takes them.
    stage: the training stage that `train.KEY` in `overrides` refers to; by default the last one.
    directory: to which the paths in the template are relative.
    path: the file that it was read from, if any, so that a file that uses itself is detected.
    reading: gives the text of a file that is used, or raises DcrfError; editors have texts that are not saved.

    Raises TypeError if it is no text. Problems of the template are kept, for `require`, `check` or `fit` to report.

    >>> load_text("label tag in {A, B}").spec.labels[0].name
    'tag'
    """
    require_kind(text, str, "text", "the text of a template")
    template, problems = parse_partial(text, name)
    own = Path(directory)
    resolved = resolve(template, directory=own, overrides=overrides, stage=stage, path=path, reading=reading)
    if not problems:
        return resolved
    diagnostics = tuple(in_order([*problems, *resolved.diagnostics]))
    return replace(resolved, diagnostics=diagnostics, complete=False)


def resolve(
    template: Template,
    *,
    directory: Path,
    overrides: Sequence[str] = (),
    stage: str | None = None,
    path: Path | None = None,
    reading: Callable[[Path], str] = read_template,
) -> Resolved:
    """Resolves a parsed template; `train.KEY` in `overrides` refers to `stage` (None: the last)."""
    require_list(overrides, "overrides", "texts such as `train.seed=7`")
    draft = Draft(doc=template.doc)
    reader = _Reader(draft, reading)
    main = None if path is None else path.resolve()
    reader.read(template, directory, opened=() if main is None else (main,))
    for text in overrides:
        require_kind(text, str, "overrides", "texts such as `train.seed=7`")
        override = read_override(text)
        if isinstance(override, Diagnostic):
            draft.problems.append(override)
        else:
            apply_override(draft, override, stage)
    spec, name = draft.finish(), template.span.source.name if template.statements else None
    problems = tuple(in_order(draft.problems))
    return Resolved(spec, problems, draft.directories, reader.complete, name, tuple(reader.used))


class _Reader:
    """Reads a file and the files that it uses into the draft, the used ones first."""

    def __init__(self, draft: Draft, reading: Callable[[Path], str]):
        self.draft, self.reading = draft, reading
        self.complete = True
        self.used: list[Path] = []
        self._done: set[Path] = set()

    def read(self, template: Template, directory: Path, opened: tuple[Path, ...]) -> None:
        """`opened` are the files being read, outermost first; a file is read only once."""
        here = self.draft.file
        uses = [statement for statement in template.statements if isinstance(statement, Use)]
        for n, use in enumerate(uses):
            self.draft.file = (*here, n)
            self._use(use, directory, opened)
        self.draft.file = here
        for statement in template.statements:
            if not isinstance(statement, Use):
                self.draft.declare(statement, directory)

    def _use(self, statement: Use, directory: Path, opened: tuple[Path, ...]) -> None:
        place = statement.place_of("path")
        path = directory / statement.path
        try:
            real = path.resolve()
        except (OSError, RuntimeError, ValueError):  # a link to itself or an impossible name: opening it fails later
            real = path
        if real in opened:
            chain = " → ".join(f"`{file.name}`" for file in (*opened[opened.index(real) :], real))
            self._complain("use-cycle", f"`{real.name}` uses itself: {chain}", place, "closes the circle")
            return
        if len(opened) > DEEPEST_USE:
            chain = f"`{opened[0].name}` → … → `{opened[-1].name}` → `{real.name}`"
            message = f"files use each other more than {DEEPEST_USE} deep: {chain}"
            remedy = "let one file use the others, side by side"
            self._complain("use-too-deep", message, place, f"level {DEEPEST_USE + 1}", remedy)
            return
        if real in self._done:
            return
        self._done.add(real)
        if is_pipe(path):
            message = f"`{path}` is a pipe, expected a template file"
            self._complain("no-file", message, place, "used here")
            return
        try:
            text = self.reading(path)
        except DcrfError as error:
            for problem in error.diagnostics:
                where = f" (at {problem.location})" if problem.slug == "no-text" else ""
                self._complain(problem.slug, problem.message + where, place, "used here", problem.help)
            return
        self.used.append(path)
        template, problems = parse_partial(text, str(path))
        self.draft.problems.extend(problems)
        self.complete = self.complete and not problems
        self.read(template, path.parent, (*opened, real))

    def _complain(self, slug: str, message: str, span: Span, words: str, help: str | None = None) -> None:
        self.draft.problems.append(Diagnostic(slug, message, Label(span, words), help=help))
