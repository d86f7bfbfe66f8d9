"""Views map the states of their label to other states: `view coarse = prefix(pos, 1)` maps NN and NNS to N.

A view is evaluated once per state, by the code that evaluates features on distinct values. A test gives the states
`yes` and `no`; a name that is neither a label nor a constant stands for itself. What a function of the user's gives is
written into the view, so that nothing needs the function again. Not here: cliques over views (`graph`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...data import Corpus, InternedColumn
from ...foundation import Ints, data_error
from ...semantics import FUNCTIONS, ModelSpec, plain, value_if_nodes
from ...syntax import Apply, Condition, Reference, View
from ..plan import condition_text, fixed_condition, leaves
from .distinct_values import CorpusValues
from .lexicons import Lexicons
from .user_functions import RegisteredFeature
from .value_kinds import Texts, Truths

TRUE, FALSE = "yes", "no"


class ViewMap(NamedTuple):
    """The states of a view, and the index of the one that each state of its label maps to, [K]."""

    label: str
    states: tuple[str, ...]
    of: Ints
    name: str


def view_label(spec: ModelSpec, view: View) -> str:
    """The label that a view reads; DcrfError if it reads none, several, or another position."""
    labels = {label.name for label in spec.labels}
    read: set[tuple[str, int]] = set()
    for part in (view.value.value, view.value.condition, view.value.otherwise):
        if part is not None:
            found = leaves(spec, fixed_condition(spec, part))
            read |= {(leaf.name, at) for leaf, at in found if isinstance(leaf, Reference)}
    names = {name for name, _ in read}
    if len(names) != 1 or not names <= labels:
        reads = f"reads {', '.join(f'`{name}`' for name in sorted(names))}" if names else "reads no label"
        message = f"view `{view.name}` {reads}; a view maps the states of one label"
        raise data_error("bad-view", message, help="name one label in it")
    if any(offset for _, offset in read):
        message = f"view `{view.name}` reads another position"
        raise data_error("bad-view", message, help="shift the view where a clique uses it")
    return names.pop()


def own_functions(spec: ModelSpec, view: View) -> list[str]:
    """The functions of the user's that a view calls."""
    known = {*FUNCTIONS, *(lexicon.name for lexicon in spec.lexicons)}
    calls = (node.function for node in value_if_nodes(view.value) if isinstance(node, Apply))
    return [name for name in calls if name not in known]


def with_mapped_views(
    spec: ModelSpec, states: Mapping[str, Sequence[str]], registered: Mapping[str, RegisteredFeature]
) -> ModelSpec:
    """The specification with what the user's functions give on states in its views.

    states: of every label. DcrfError if a function fails, or gives a state no text.
    """
    views = []
    for view in spec.views:
        if own_functions(spec, view):
            listed = states[view_label(spec, view)]
            found = view_map(spec, view, listed, registered)
            texts = [found.states[of] for of in found.of.tolist()]
            if "" in texts:
                message = f"view `{view.name}` gives no text for the state `{listed[texts.index('')]}`"
                raise data_error("bad-view", message, help="return a text for each state")
            view = view.model_copy(update={"mapped": tuple(zip(listed, texts, strict=True))})
        views.append(view)
    return spec.model_copy(update={"views": tuple(views)}) if any(view.mapped for view in views) else spec


def view_map(
    spec: ModelSpec, view: View, states: Sequence[str], registered: Mapping[str, RegisteredFeature] | None = None
) -> ViewMap:
    """Evaluates a view on the states of its label.   registered: functions of the user's; None: by `View.mapped`."""
    label = view_label(spec, view)
    if view.mapped and registered is None:
        known = dict(view.mapped)
        return _as_map(label, view, [known[state] for state in states])
    # the states are the distinct values of a column with the label's name
    column, lines = InternedColumn(np.arange(len(states), dtype=np.int32), tuple(states)), np.arange(1, len(states) + 1)
    corpus = Corpus(f"states of `{label}`", np.array([0, len(states)], np.int64), {label: column}, lines)
    values = CorpusValues(spec, corpus, Lexicons(), registered or {}, {})
    texts = _texts(spec, view.value.value, values, states)
    if view.value.condition is not None and view.value.otherwise is not None:
        others = _texts(spec, view.value.otherwise, values, states)
        _, held = values.evaluate(fixed_condition(spec, view.value.condition))
        if not isinstance(held, Truths):
            message = f"`{condition_text(view.value.condition)}` is no test"
            raise data_error("bad-view", message, help="compare it, as in `pos is NN`")
        texts = [one if true else other for one, other, true in zip(texts, others, held.of, strict=True)]
    return _as_map(label, view, texts)


def _as_map(label: str, view: View, texts: Sequence[str]) -> ViewMap:
    names = tuple(dict.fromkeys(texts))
    return ViewMap(label, names, np.array([names.index(text) for text in texts], np.int64), view.name)


def _texts(spec: ModelSpec, part: Condition, values: CorpusValues, states: Sequence[str]) -> list[str]:
    """One text per state of the label."""
    if isinstance(part, Reference) and not list(leaves(spec, part)):
        settled = plain(spec.settled(part))
        return [part.name if settled is None else str(settled)] * len(states)
    _, evaluated = values.evaluate(fixed_condition(spec, part))
    if isinstance(evaluated, Truths):
        return [TRUE if true else FALSE for true in evaluated.of]
    if isinstance(evaluated, Texts) and isinstance(part, Reference | Apply):
        return [" ".join(several) for several in evaluated.of]
    raise data_error("bad-view", f"`{condition_text(part)}` gives no text for a state")
