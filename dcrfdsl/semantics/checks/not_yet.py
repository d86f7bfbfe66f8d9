"""Constructs of the language that this version does not run: one honest error per statement.

`NOT_YET` is the only list of them; a version that runs more shortens it. A row yields the parts of a template that need
a missing construct; rows for the same statement become one message. Not here: mistakes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ...foundation import Diagnostic
from ..schema import FUNCTIONS, Apply, Path, value_if_nodes
from .context import Context, Rule


class Missing(NamedTuple):
    """A statement that needs a missing construct: its path and words, the place of the need, and the construct."""

    statement: Path
    shown: str
    place: Path
    what: str


def own_functions(context: Context) -> Iterator[Missing]:
    """The user's functions of labels, in views."""
    own = {*context.registered} - {*FUNCTIONS, *context.names("lexicon")}
    for n, view in enumerate(context.spec.views):
        for at, node in value_if_nodes(view.value, ("views", n, "value")):
            if isinstance(node, Apply) and node.function in own:
                yield Missing(("views", n), f"view {view.name}", (*at, "function"), "your own functions of labels")


NOT_YET: tuple[Callable[[Context], Iterable[Missing]], ...] = (own_functions,)


def not_yet(context: Context) -> Iterator[Diagnostic]:
    """One error per statement, at the first part that needs a missing construct."""
    by_statement: dict[Path, list[Missing]] = {}
    for find in NOT_YET:
        for missing in find(context):
            by_statement.setdefault(missing.statement, []).append(missing)
    for missing_parts in by_statement.values():
        whats = list(dict.fromkeys(missing.what for missing in missing_parts))
        joined = whats[0] if len(whats) == 1 else f"{', '.join(whats[:-1])} and {whats[-1]}"
        message = f"`{missing_parts[0].shown}` needs what this version does not run yet: {joined}"
        others = [(missing.place, "and this") for missing in missing_parts[1:]]
        yield context.complaint("not-yet", message, missing_parts[0].place, "not run yet", others=others)


RULES: tuple[Rule, ...] = (not_yet,)
