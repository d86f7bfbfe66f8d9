"""What each source of labels annotates: the option `covers` of a label.

Where a source writes the state that marks nothing, the label may be of any type that the source does not cover: the
cell is a set, over which training sums (Bellare & McCallum 2007). Not here: the cells (`data.label_columns`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...syntax import Label, Scheme
from .segment_schemes import OUTSIDE, split_state


def covered(label: Label) -> dict[str, tuple[str, ...] | None]:
    """The types, or states of a label without a scheme, that each source annotates; None for all of them.

    ValueError, whose text is that of the option, where one is not written `SOURCE: TYPE …` or comes twice.
    """
    found: dict[str, tuple[str, ...] | None] = {}
    for text in label.covers:
        source, _, types = (part.strip() for part in text.rpartition(":"))
        if not source or not types or source in found:
            raise ValueError(text)
        found[source] = None if types == "all" else tuple(types.split())
    return found


def unmarked(label: Label) -> str | None:
    """The state by which a source says that it annotates nothing here; None where nothing tells it."""
    return OUTSIDE if isinstance(label.domain, Scheme) else label.others


def hidden_states(label: Label, states: Sequence[str], types: tuple[str, ...] | None) -> tuple[str, ...]:
    """The states that a source of these types does not mark; the unmarked one alone, if it annotates all."""
    nothing, scheme = unmarked(label), label.domain.name if isinstance(label.domain, Scheme) else None
    split = {state: split_state(scheme, state) if scheme else None for state in states}
    type_of = {state: state if parts is None else parts[1] for state, parts in split.items()}
    return tuple(one for one in states if one == nothing or (types is not None and type_of[one] not in types))
