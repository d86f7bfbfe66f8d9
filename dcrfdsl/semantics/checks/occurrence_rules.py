"""Rules on states and the data that teaches them: declared states that never occur, labels with one state.

A value that does not occur has no example: the model never predicts it, and nothing else reports it. Not here: values
that are not states, which training refuses (`data.labels`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from ...foundation import Diagnostic, LazyModule, did_you_mean, quoted_names
from ..schema import InSet, Is, Label, Learned, Path, Reference, Scheme, StatesOf, learn_types, read_cell, scheme_states
from .context import Context, Rule, listed
from .walk import constraint_nodes

if TYPE_CHECKING:
    import numpy as np
else:
    np = LazyModule("numpy")

SHOWN = 5  # states that a message lists before it counts the others


def unseen_states(context: Context) -> Iterator[Diagnostic]:
    """States, and types of segments, that a label declares and the training data lacks."""
    for n, label in enumerate(context.spec.labels):
        states, occurring = context.states(label.name), _occurring(context, label)
        if states is None or occurring is None or isinstance(label.domain, StatesOf):
            continue
        known = frozenset(states)
        have = {text if text in known or label.others is None else label.others for text in occurring}
        types = label.domain.types if isinstance(label.domain, Scheme) else ()
        wanted = types or tuple(state for state in states if state != label.missing)
        absent = [one for one in wanted if have.isdisjoint(_states_of(label, one))]
        if absent:
            yield _unseen(context, n, label, absent, wanted, occurring)


def _states_of(label: Label, one: str) -> Collection[str]:
    """The states of a type of segments; of a state, the state itself."""
    if not isinstance(label.domain, Scheme):
        return (one,)
    return [state for state in scheme_states(label.domain.name, (one,)) if state != "O"]


def _unseen(
    context: Context, n: int, label: Label, absent: Sequence[str], wanted: Sequence[str], occurring: Sequence[str]
) -> Diagnostic:
    assert context.data is not None
    what = "type" if isinstance(label.domain, Scheme) else "state"
    few = ", ".join(f"`{one}`" for one in absent[:SHOWN])
    shown = listed(absent) if len(absent) <= SHOWN else f"{few} and {len(absent) - SHOWN} more"
    of = f"of `{label.name}` never {'occurs' if len(absent) == 1 else 'occur'} in `{context.data.file}`"
    message = f"the {what}{'' if len(absent) == 1 else 's'} {shown} {of}"
    others = label.others
    if others is not None and others not in absent and set(absent) >= set(wanted) - {others}:
        where = f"`{context.data.file}`"
        message = f"no value of `{label.name}` in {where} is one that it lists: all are read as `{others}`"
    strange = {*occurring} - {*wanted, others}
    values = [value for value in occurring if value in strange]
    guess = next((near for one in absent[:SHOWN] if (near := did_you_mean(one, values))), None)
    remedy = f"did you mean `{guess}`?" if guess else "remove what the data does not have: it is never predicted"
    types = learn_types("bioes", occurring)[0]
    if not isinstance(label.domain, Scheme) and not set(types).isdisjoint(absent):
        remedy = f"the data has segments of these types: write `label {label.name} in bio({', '.join(types)})`"
    at = ("labels", n, "domain")
    return context.complaint("unseen-state", message, at, "not in the data", help=remedy, severity="warning")


def one_state(context: Context) -> Iterator[Diagnostic]:
    """A label with a single state: everything is right, and nothing is learned."""
    for n, label in enumerate(context.spec.labels):
        states, occurring = context.states(label.name), _occurring(context, label)
        source = "declares"
        if states is None and occurring is not None:
            states, source = _learned(label, occurring), "learns"
        if states is None or len(states) != 1 or context.mentioned_in_lost(label.name):
            continue
        message = f"label `{label.name}` {source} a single state, `{states[0]}`: there is nothing to predict"
        remedy = f"declare the others, as in `label {label.name} in {{A, B}}`"
        if source == "learns" and context.data is not None:
            remedy = f"train on data that has others; `{context.data.file}` may have its values in another column"
        at = ("labels", n, "domain" if source == "declares" else "name")
        yield context.complaint("one-state", message, at, "a single state", help=remedy, severity="warning")


def unseen_in_constraints(context: Context) -> Iterator[Diagnostic]:
    """States in a constraint that the data does not teach their label; declared states are checked by name."""
    learned: dict[str, tuple[str, ...]] = {}
    for label in context.spec.labels:
        occurring = _occurring(context, label)
        if context.states(label.name) is None and occurring is not None:
            learned[label.name] = _learned(label, occurring) or ()
    told: set[tuple[str, str]] = set()
    for n, constraint in enumerate(context.spec.constraints if learned else ()):
        for path, node in constraint_nodes(constraint, ("constraints", n)):
            if not isinstance(node, Is | InSet) or not isinstance(node.term, Reference):
                continue
            known, named = learned.get(node.term.name), (node.state,) if isinstance(node, Is) else node.states
            for state in named if known is not None else ():
                if known and state not in known and (node.term.name, state) not in told:
                    told.add((node.term.name, state))
                    yield _not_learned(context, node.term.name, state, known, path)


def _not_learned(context: Context, label: str, state: str, known: Sequence[str], path: Path) -> Diagnostic:
    assert context.data is not None
    message = f"`{label}` is never `{state}` in `{context.data.file}`, so it does not have this state"
    guess = did_you_mean(state, known)
    remedy = f"did you mean `{guess}`?" if guess else f"its states are {', '.join(quoted_names(known, SHOWN))}"
    return context.complaint("unseen-state", message, path, "not in the data", help=remedy, severity="warning")


def _learned(label: Label, occurring: Sequence[str]) -> tuple[str, ...] | None:
    """The states that the data teaches a label without declared states."""
    states: Sequence[str] = ()
    if isinstance(label.domain, Scheme):
        states = scheme_states(label.domain.name, learn_types(label.domain.name, occurring)[0])
    elif isinstance(label.domain, Learned):
        states = occurring
    return tuple(dict.fromkeys((*states, *([] if label.others is None else [label.others])))) or None


def _occurring(context: Context, label: Label) -> Sequence[str] | None:
    """The texts of a label in the data, members of sets included; None without data or a text column."""
    column = None if context.data is None else context.data.columns.get(label.name)
    if column is None or isinstance(column.values, np.ndarray):
        return None
    states = frozenset(context.states(label.name) or ())
    readings = (read_cell(label, value, states, (label.missing,)) for value in column.values)
    return tuple(dict.fromkeys(text for reading in readings for text in reading))


RULES: tuple[Rule, ...] = (one_state, unseen_states, unseen_in_constraints)
