"""What the language has and this version does not run: one honest error a statement.

`NOT_YET` is the one place that lists it; a version that runs more shortens the list. A row gives the parts of a
template that need what is missing; rows that meet in one statement become one message. Of training stages only those
that run are looked at. Not here: mistakes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from ...errors import Diagnostic
from ...registry import Table
from ..convert import as_call
from ..expressions import Apply, InLexicon, Reference
from ..model import Constraint, StatesOf
from ..settings import CRITERIA, INFERENCE, OPTIMIZERS, PRIORS, MethodSettings
from ..spans import Path
from .context import COLUMN, Context, Rule, listed
from .data import FORMATS
from .stages import running_stages
from .terms import LABEL_KINDS
from .walk import nodes

__all__ = ["NOT_YET", "RULES", "Missing"]


class Missing(NamedTuple):
    """A statement needs what is missing: its path and its words, where it needs it, what that is."""

    statement: Path
    shown: str
    place: Path
    what: str


def data_formats(context: Context) -> Iterator[Missing]:
    data = context.spec.data
    if data is not None and data.format in FORMATS and not FORMATS[data.format].runs:
        yield Missing(("data",), f"data {data.format}(…)", ("data", "format"), f"the data format `{data.format}`")


def vector_columns(context: Context) -> Iterator[Missing]:
    data = context.spec.data
    for n, column in enumerate(data.columns if data else ()):
        if column.type.name == "vector":
            yield Missing(("data",), f"data {data.format}(…)", ("data", "columns", n), "vector columns")  # type: ignore[union-attr]


def partial_labels(context: Context) -> Iterator[Missing]:
    for n, label in enumerate(context.spec.labels):
        for option in ("missing", "ambiguous"):
            if getattr(label, option) is not None:
                yield Missing(("labels", n), f"label {label.name}", ("labels", n, option), f"{option} labels")


def borrowed_states(context: Context) -> Iterator[Missing]:
    for n, label in enumerate(context.spec.labels):
        if isinstance(label.domain, StatesOf):
            yield Missing(("labels", n), f"label {label.name}", ("labels", n, "domain"), "states of another variable")


def latents(context: Context) -> Iterator[Missing]:
    for n, latent in enumerate(context.spec.latents):
        yield Missing(("latents", n), f"latent {latent.name}", ("latents", n, "name"), "latent variables")


def memories(context: Context) -> Iterator[Missing]:
    for n, memory in enumerate(context.spec.memories):
        yield Missing(("memories", n), f"memory {memory.name}", ("memories", n, "name"), "memories")


def pieces(context: Context) -> Iterator[Missing]:
    for n, piece in enumerate(context.spec.pieces):
        yield Missing(("pieces", n), f"piece {piece.name}", ("pieces", n, "name"), "pieces")


def constraints(context: Context) -> Iterator[Missing]:
    """Conditions that mix labels with what is observed."""
    for n, constraint in enumerate(context.spec.constraints):
        statement: Path = ("constraints", n)
        shown = f"{constraint.action} … as {constraint.name}" if constraint.name else constraint.action
        observed = _first_observed(context, constraint, statement)
        if observed is not None:
            yield Missing(statement, shown, observed, "constraints that read what is observed")
        view = _first_view(context, constraint, statement)
        if view is not None:
            yield Missing(statement, shown, view, "constraints that read views")


def _first_observed(context: Context, constraint: Constraint, path: Path) -> Path | None:
    """Where a constraint on labels reads a column or a lexicon; None if it reads labels alone, or none at all."""
    observed: list[Path] = []
    labelled = False
    for part, condition in (("condition", constraint.condition), ("when", constraint.when)):
        for at, node in nodes(condition, (*path, part)) if condition is not None else ():
            kinds = {entry.kind for entry in context.declared.get(getattr(node, "name", ""), ())}
            labelled = labelled or not kinds.isdisjoint(LABEL_KINDS)
            if isinstance(node, Apply | InLexicon) or kinds == {COLUMN}:
                observed.append(at)
    return observed[0] if labelled and observed else None


def _first_view(context: Context, constraint: Constraint, path: Path) -> Path | None:
    """Where a constraint reads a view; None if it reads none."""
    views = {view.name for view in context.spec.views}
    for part, condition in (("condition", constraint.condition), ("when", constraint.when)):
        for at, node in nodes(condition, (*path, part)) if condition is not None else ():
            if isinstance(node, Reference) and node.name in views:
                return at
    return None


def inference(context: Context) -> Iterator[Missing]:
    call = context.spec.infer
    if _missing(INFERENCE, call.name):
        yield Missing(("infer",), f"infer {call.name}", ("infer", "name"), f"the {INFERENCE.kind} `{call.name}`")


def local_decoding(context: Context) -> Iterator[Missing]:
    if context.spec.decode.name == "local":
        yield Missing(("decode",), "decode local", ("decode",), "local decoding")


# The settings of a stage that name a method, and the tables that these stand in.
_METHODS: Mapping[str, Table[type[MethodSettings]]] = {"prior": PRIORS, "optimizer": OPTIMIZERS, "infer": INFERENCE}


def stages(context: Context) -> Iterator[Missing]:
    """Criteria, priors, optimizers and methods of the stages that run."""
    for n in running_stages(context):
        for stage in context.spec.stages[n : n + 1]:
            call, at = stage.criterion, ("stages", n, "criterion")
            shown = f"train {call.name}" + (f" as {stage.name}" if stage.name else "")
            if _missing(CRITERIA, call.name):
                yield Missing(("stages", n), shown, (*at, "name"), f"the {CRITERIA.kind} `{call.name}`")
            for s, setting in enumerate(call.settings):
                where: Path = (*at, "settings", s, "value")
                method = as_call(context.spec.settled(setting.value))
                table = _METHODS.get(setting.key[0])
                if method is not None and table is not None and _missing(table, method.name):
                    yield Missing(("stages", n), shown, where, f"the {table.kind} `{method.name}`")
                elif method is not None and setting.key == ("decode",) and method.name == "local":
                    yield Missing(("stages", n), shown, where, "local decoding")


def _missing(table: Table[type[MethodSettings]], name: str) -> bool:
    return name in table and not table[name].runs


NOT_YET: tuple[Callable[[Context], Iterable[Missing]], ...] = (
    data_formats,
    vector_columns,
    partial_labels,
    borrowed_states,
    latents,
    memories,
    pieces,
    constraints,
    inference,
    local_decoding,
    stages,
)


def not_yet(context: Context) -> Iterator[Diagnostic]:
    """One error a statement, at the first part of it that needs what is missing."""
    by_statement: dict[Path, list[Missing]] = {}
    for find in NOT_YET:
        for missing in find(context):
            by_statement.setdefault(missing.statement, []).append(missing)
    for found in by_statement.values():
        whats = list(dict.fromkeys(missing.what for missing in found))
        joined = whats[0] if len(whats) == 1 else f"{', '.join(whats[:-1])} and {whats[-1]}"
        message = f"`{found[0].shown}` needs what this version does not run yet: {joined}"
        others = [(missing.place, "and this") for missing in found[1:]]
        yield context.complaint("not-yet", message, found[0].place, "not run yet", help=_remedy(found), others=others)


def _remedy(found: list[Missing]) -> str | None:
    """What runs instead, where a method was named."""
    tables = [
        table
        for table in (CRITERIA, INFERENCE, OPTIMIZERS, PRIORS)
        if any(missing.what.startswith(f"the {table.kind} ") for missing in found)
    ]
    run = [listed(name for name, entry in table.items() if entry.runs) for table in tables]
    return "\n".join(f"this version runs {names}" for names in run) or None


RULES: tuple[Rule, ...] = (not_yet,)
