"""Problems of terms that take a long message: an unknown state, an unknown function, a label where none is read.

Not here: which term has them (`term_reader`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...foundation import Diagnostic, Span, spelling_remedy
from ...syntax import nodes as ex
from ..schema import FUNCTIONS, nodes, reference_names
from .context import LABEL_KINDS, OBSERVED_KINDS, At, Context, a, listed


def unknown_state(
    context: Context, state: str, at: At, states: Sequence[str], variable: str | None = None
) -> Diagnostic:
    """The error for `state`, which is none of `states`. `variable`: the variable with these states; None if it is the
    statement itself.
    """
    shown = listed(states, "or") if len(states) <= 12 else f"one of its {len(states)} states"
    entry = context.named(variable) if variable else None
    what = f"a state of `{variable}`" if variable else "one of the declared states"
    remedy = spelling_remedy(context.guesses.near(state, states), f"expected {shown}")
    there = [(entry.place, "its states are declared here")] if entry else []
    message = f"`{state}` is not {what}"
    return context.complaint("unknown-state", message, at, "no such state", remedy, there)


def unknown_function(context: Context, name: str, at: Span) -> Iterator[Diagnostic]:
    """The error for an unknown function; nothing if an unreadable statement or the user may have declared it."""
    entry = context.named(name)
    if entry is not None:
        message = f"`{name}` is {a(entry.kind)}, not a function"
        declared = [(entry.place, f"declared as {a(entry.kind)} here")]
        remedy = f"an offset is written `{name}[-1]`" if entry.kind in (*OBSERVED_KINDS, *LABEL_KINDS) else None
        yield context.complaint("unknown-function", message, at, "not a function", remedy, declared)
    elif context.functions_known and not context.may_be_lost(name):
        guess = FUNCTIONS.suggest(name) or context.guesses.near(name, [*context.registered, *context.names("lexicon")])
        remedy = f"a function of your own is loaded with `--features FILE.py`; built in are {listed(FUNCTIONS)}"
        message = f"`{name}` is not a feature function"
        if guess:
            remedy = f"did you mean `{guess}`? A function of your own is loaded with `--features FILE.py`"
        yield context.complaint("unknown-function", message, at, "unknown function", remedy)


def label_as_argument(context: Context, subject: ex.Reference | ex.Apply, call: ex.Apply | None = None) -> Diagnostic:
    """The error for a function of a label (`call`), or for a label that is looked up in a lexicon."""
    name = next(reference_names(nodes(subject)), "")
    entry = context.named(name)
    kind = "label" if entry is None else entry.kind
    message = f"the {kind} `{name}` is looked up in a lexicon, and lexicons are of what is observed"
    remedy = f"list the states, as in `{name} in {{A, B}}`"
    if call is not None:
        message = f"`{call.function}` is a function of the {kind} `{name}`, and functions read what is observed here"
    if call is not None and kind == "label":
        more = ", …" if len(call.arguments) > 1 else ""
        remedy = f"declare `view NAME = {call.function}({name}{more})` and test the view"
    return context.complaint("label-as-argument", message, subject, a(kind), remedy)
