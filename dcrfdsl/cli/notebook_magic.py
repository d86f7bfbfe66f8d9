"""`%load_ext dcrfdsl`: the cell magic `%%dcrf`, and what templates cost beside them in notebooks.

    %%dcrf NAME [--stage NAME] [--set PATH=VALUE]… [--data FILE]

checks the template in the cell as `dcrfdsl check` does, shows its messages and its costs, and keeps it as NAME. Where
it has errors the cell fails, so that a notebook does not go on, and NAME is taken away: an earlier template of that
name would be taken for this one. IPython is not imported; it hands itself over. Not here: costs (`cost_table`).
"""

from __future__ import annotations

import keyword
import shlex
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import click

from ..foundation import Block, DcrfError, Diagnostic, Paragraph, dataclass, notebook_html, printable_lines, render_all
from ..semantics import (
    ModelSpec,
    Resolved,
    check,
    load_text,
    message_blocks,
    resolved_from_spec,
    template_blocks,
    to_text,
)
from .cost_table import CostTable, declared_costs, trained_costs

MAGIC = "dcrf"


class Shell(Protocol):
    """What is used of IPython's `InteractiveShell`."""

    user_ns: MutableMapping[str, Any]
    display_formatter: Any
    magics_manager: Any

    def register_magic_function(self, func: Callable[..., Any], magic_kind: str, magic_name: str) -> None: ...


class TemplateErrors(DcrfError):
    """A cell's template has errors. IPython shows the messages alone: a traceback would lead into this package."""

    def _render_traceback_(self) -> list[str]:
        count = sum(one.severity == "error" for one in self.diagnostics)
        return [*render_all(self.diagnostics).split("\n"), "", f"{count} error{'s' * (count != 1)} in the template"]


class LineError(ValueError):
    """The line of a magic cannot be read. IPython shows the message alone."""

    def _render_traceback_(self) -> list[str]:
        return str(self).split("\n")


@dataclass(frozen=True, repr=False)
class CheckedCell:
    """The template of a cell, which has no errors.   name: under which it is kept; empty if it is not."""

    name: str
    resolved: Resolved
    diagnostics: tuple[Diagnostic, ...]
    costs: CostTable

    def __repr__(self) -> str:
        return "\n\n".join(filter(None, [render_all(self.diagnostics), self._kept(), str(self.costs)]))

    def _repr_html_(self) -> str:
        """For notebooks: messages and costs. The template itself stands in the cell."""
        blocks = [*message_blocks(self.diagnostics), Paragraph(self._kept()), *self.costs.blocks()]
        return notebook_html(blocks)

    def _kept(self) -> str:
        return f"The template is kept as `{self.name}`." if self.name else "The template has no errors."


# the magic ----------------------------------------------------------------------------------------------------------


class _Asked(NamedTuple):
    name: str
    stage: str | None
    set: Sequence[str]
    data: Path | None


_LINE = click.Command(
    f"%%{MAGIC}",
    params=[
        click.Argument(["name"], default=""),
        click.Option(["--stage"]),
        click.Option(["--set"], multiple=True, metavar="PATH=VALUE"),
        click.Option(["--data"], type=click.Path(path_type=Path)),
    ],
    add_help_option=False,
)


def _asked(line: str) -> _Asked:
    """What a line asks for. LineError where it cannot be read."""
    usage = f"write `%%{MAGIC} NAME`, with --stage NAME, --set PATH=VALUE or --data FILE where you need them"
    try:
        with _LINE.make_context(_LINE.name, shlex.split(line)) as context:
            asked = _Asked(**context.params)
    except (click.ClickException, ValueError) as error:
        words = error.format_message() if isinstance(error, click.ClickException) else str(error)
        raise LineError(printable_lines(f"`%%{MAGIC} {line}`: {words}\n{usage}")) from None
    if asked.name and (not asked.name.isidentifier() or keyword.iskeyword(asked.name)):
        raise LineError(printable_lines(f"`{asked.name}` is no name of Python\n{usage}"))
    return asked


def checked_cell(shell: Shell, line: str, cell: str) -> CheckedCell:
    """Checks the template of a cell, and keeps it in the namespace of the user. TemplateErrors if it has errors."""
    asked = _asked(line)
    if isinstance(shell.user_ns.get(asked.name), Resolved):
        del shell.user_ns[asked.name]
    try:
        found = _checked(asked, cell, shell.user_ns)
    except DcrfError as error:
        raise TemplateErrors(error.diagnostics) from None
    if asked.name:
        shell.user_ns[asked.name] = found.resolved
    return found


def _checked(asked: _Asked, cell: str, namespace: Mapping[str, object]) -> CheckedCell:
    """An empty line stands for that of the magic, so that messages count lines as the cell does."""
    from ..features import registered_features

    resolved = load_text("\n" + cell, f"%%{MAGIC} {asked.name}".strip(), asked.set, asked.stage)
    public = {name: value for name, value in namespace.items() if not name.startswith("_")}
    registered = registered_features(public, origin="the notebook")
    corpus = None
    if asked.data is not None and resolved.spec.data is not None:
        from ..data import read_corpus

        corpus = read_corpus(asked.data, resolved.spec.data, optional=[label.name for label in resolved.spec.labels])
    diagnostics = check(resolved, stage=asked.stage, corpus=corpus, registered=tuple(registered))
    if any(one.severity == "error" for one in diagnostics):
        raise TemplateErrors(diagnostics)
    if corpus is None:
        return CheckedCell(asked.name, resolved, diagnostics, declared_costs(resolved, asked.stage))
    costs, remarks, _ = trained_costs(resolved, corpus, registered, asked.stage)
    return CheckedCell(asked.name, resolved, (*diagnostics, *remarks), costs)


# what templates cost ------------------------------------------------------------------------------------------------


def with_costs(resolved: Resolved) -> str:
    """A template with what it costs, as the output of a notebook; without that where it has errors."""
    diagnostics = check(resolved, stage=None, registered=None)
    blocks: list[Block] = [*message_blocks(diagnostics), *template_blocks(to_text(resolved.spec))]
    if not any(one.severity == "error" for one in diagnostics):
        try:
            blocks += declared_costs(resolved, None).blocks()
        except DcrfError as error:  # such as a file of states that is not there
            blocks += message_blocks(error.diagnostics)
    return notebook_html(blocks)


# By module and name: IPython looks a class up when an object of it is shown, so none is loaded for this.
_SHOWN: Mapping[tuple[str, str], Callable[[Any], str]] = {
    (Resolved.__module__, Resolved.__name__): with_costs,
    (ModelSpec.__module__, ModelSpec.__name__): lambda spec: with_costs(resolved_from_spec(spec)),
    ("dcrfdsl.template.template_builder", "Template"): lambda model: with_costs(model.resolved()),
}


def load_magic(shell: Shell) -> None:
    """Tells IPython of the magic, and how to show templates."""

    def dcrf(line: str, cell: str) -> CheckedCell:
        """%%dcrf NAME [--stage NAME] [--set PATH=VALUE]… [--data FILE]: checks a template and keeps it as NAME."""
        return checked_cell(shell, line, cell)

    shell.register_magic_function(dcrf, "cell", MAGIC)
    for (module, name), shown in _SHOWN.items():
        shell.display_formatter.formatters["text/html"].for_type_by_name(module, name, shown)


def unload_magic(shell: Shell) -> None:
    """Takes back what `load_magic` did."""
    shell.magics_manager.magics["cell"].pop(MAGIC, None)
    for module, name in _SHOWN:
        shell.display_formatter.formatters["text/html"].pop(f"{module}.{name}", None)
