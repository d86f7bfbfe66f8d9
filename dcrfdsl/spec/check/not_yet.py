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
from ..expressions import Apply, ValueIf
from ..functions import FUNCTIONS
from ..settings import CASES, CRITERIA, INFERENCE, OPTIMIZERS, PRIORS, MethodSettings
from ..spans import Path
from .context import Context, Rule, listed
from .data import FORMATS
from .stages import running_stages
from .walk import nodes, value_if_nodes

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


def own_functions(context: Context) -> Iterator[Missing]:
    """Functions of the user in conditions on labels, which are read outside the feature lists."""
    built_in = {*FUNCTIONS, *context.names("lexicon")}
    for part, shown in _CONDITIONS.items():
        for n, item in enumerate(getattr(context.spec, part)):
            for field in ("condition", "when", "value"):
                node = getattr(item, field, None)
                path: Path = (part, n, field)
                found = value_if_nodes(node, path) if isinstance(node, ValueIf) else nodes(node, path) if node else ()
                for at, inner in found:
                    if isinstance(inner, Apply) and inner.function in {*context.registered} - built_in:
                        statement = f"{shown} {item.name}" if item.name else getattr(item, "action", shown)
                        what = "your own functions in conditions on labels"
                        yield Missing((part, n), statement, (*at, "function"), what)


_CONDITIONS: Mapping[str, str] = {"constraints": "constraint", "memories": "memory", "views": "view"}


def inference(context: Context) -> Iterator[Missing]:
    call = context.spec.infer
    if _missing(INFERENCE, call.name):
        yield Missing(("infer",), f"infer {call.name}", ("infer", "name"), f"the {INFERENCE.kind} `{call.name}`")


# The settings of a stage that name a method, and the tables that these stand in.
_METHODS: Mapping[str, Table[type[MethodSettings]]] = {
    "prior": PRIORS,
    "optimizer": OPTIMIZERS,
    "infer": INFERENCE,
    "nota": CASES,
}


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


def _missing(table: Table[type[MethodSettings]], name: str) -> bool:
    return name in table and not table[name].runs


NOT_YET: tuple[Callable[[Context], Iterable[Missing]], ...] = (
    data_formats,
    own_functions,
    inference,
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
        for table in (CRITERIA, INFERENCE, OPTIMIZERS, PRIORS, CASES)
        if any(missing.what.startswith(f"the {table.kind} ") for missing in found)
    ]
    run = [listed(name for name, entry in table.items() if entry.runs) for table in tables]
    return "\n".join(f"this version runs {names}" for names in run) or None


RULES: tuple[Rule, ...] = (not_yet,)
