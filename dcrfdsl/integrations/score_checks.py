"""Whether what a network hands to a template fits it: scores, lengths and codes of any library that has arrays.

What does not fit is a ValueError that says what was found and what was expected. `shape` is that of the batch, (B, T).
Not here: types of arrays, which each library checks by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..foundation import Floats, Ints, Mask
from .scored_batches import ScoredTemplate


def check_states(template: ScoredTemplate, states: Mapping[str, Sequence[str]] | Sequence[str] | None) -> None:
    """That labels have these states, in this order; by label, or of the only one."""
    if states is None:
        return
    if isinstance(states, Mapping) and all(isinstance(number, int) for number in states):  # as `id2label`
        states = [str(states[number]) for number in sorted(states)]
    if not isinstance(states, Mapping):
        if len(template.labels) > 1:
            raise ValueError(f"`states` are by label: the labels are {', '.join(template.labels)}")
        states = {template.labels[0]: states}
    for label, given in states.items():
        if label not in template.labels:
            raise ValueError(
                f"`states` names {label!r}, which is no label: the labels are {', '.join(template.labels)}"
            )
        own = list(template.states[label])
        if list(given) == own:
            continue
        if sorted(given) == sorted(own):
            at = next(n for n, (one, other) in enumerate(zip(given, own, strict=True)) if one != other)
            raise ValueError(
                f"the states of `{label}` are in another order: {at} is {given[at]!r} for you, and {own[at]!r} in the "
                f"template; reorder the outputs of the net, or declare `label {label} in {{{', '.join(given)}}}`, "
                "which has no rules of a scheme such as `bio`"
            )
        raise ValueError(f"`{label}` has the states {', '.join(own)} in the template, and {', '.join(given)} for you")


def check_origin(template: ScoredTemplate, origin: Mapping[str, Any]) -> None:
    """That saved weights are of these states and cliques.   origin: {"states": by variable, "weights": by clique}."""
    saved, own = {one: tuple(names) for one, names in origin["states"].items()}, template.states
    for name in dict.fromkeys((*own, *saved)):
        if saved.get(name) != own.get(name):
            theirs, ours = (", ".join(states.get(name, ())) or "no states" for states in (saved, own))
            raise ValueError(f"the saved weights are for `{name}` with {theirs}, and the template has {ours}")
    if origin["weights"] != template.weights_by_clique:
        theirs, ours = (
            ", ".join(f"{count} of `{name}`" for name, count in counts.items()) or "none"
            for counts in (origin["weights"], template.weights_by_clique)
        )
        raise ValueError(f"the saved weights are {theirs}, and those of the template {ours}")


def scores_by_column(template: ScoredTemplate, scores: Any) -> dict[str, Any]:
    """Scores by column, [B, T, K1, …] each, from those of the only column or of all by name."""
    inputs = template.inputs
    if not isinstance(scores, Mapping):
        if len(inputs) != 1:
            names = ", ".join(f"{name!r}: scores" for name in inputs)
            raise ValueError(f"the template has {len(inputs)} columns of scores: give {{{names}}}")
        scores = {next(iter(inputs)): scores}
    if {*scores} != {*inputs}:
        raise ValueError(f"scores of {', '.join(scores) or 'nothing'} are given, expected {', '.join(inputs)}")
    found: dict[tuple[int, ...], str] = {}
    for name, one in inputs.items():
        shape = tuple(np.shape(scores[name]))
        if len(shape) < 3 or shape[2:] != one.shape:
            of = " and ".join(f"`{variable}`" for variable in one.variables)
            wanted = " × ".join(map(str, one.shape))
            message = f"scores of `{name}` have the shape {shape}, expected [B, T, {wanted}]"
            raise ValueError(f"{message}: one for each state of {of}")
        found.setdefault(shape[:2], name)
    if len(found) > 1:
        (shape, name), (other_shape, other), *_ = found.items()
        raise ValueError(f"`{name}` has {shape} sentences and tokens, and `{other}` {other_shape}")
    return {name: scores[name] for name in inputs}


def check_scores(name: str, table: Floats, kept: Mask) -> None:
    """That scores [N, K] of the positions that are there are numbers or -inf.   kept: these positions, [B, T]."""
    if not table.size or table.max() < np.inf:  # which NaN is not either
        return
    token, place = np.argwhere(~(table < np.inf))[0]
    sentence, position = np.argwhere(kept)[token]
    found = f"`{name}` has the score {float(table[token, place])} in sentence {sentence}, token {position}"
    raise ValueError(f"{found} (from 0): a score is a number, or -inf where it is impossible")


def check_weights(weights: Floats) -> None:
    """That weights [W] are numbers or -inf."""
    if weights.size and not weights.max() < np.inf:  # which NaN is not either
        wrong = np.flatnonzero(~(weights < np.inf))[0]
        raise ValueError(f"weight {wrong} of the layer is {weights[wrong]}: a step was too large, or not finite itself")


def kept_positions(lengths: Ints | None, shape: tuple[int, int]) -> Mask:
    """Which positions there are, [B, T].   lengths: of the sentences [B]; None if they have T tokens each."""
    batch, time = shape
    if lengths is None:
        return np.ones(shape, np.bool_)
    if (lengths.size and lengths.dtype.kind not in "iu") or lengths.shape != (batch,):
        raise ValueError(f"`lengths` are {batch} whole numbers; found {lengths.dtype} of shape {lengths.shape}")
    if batch and (lengths.min() < 0 or lengths.max() > time):
        wrong = lengths[(lengths < 0) | (lengths > time)]
        raise ValueError(f"`lengths` are from 0 to T = {time}; found {wrong[0]}")
    kept: Mask = np.arange(time) < lengths[:, None]
    return kept


def codes_by_label(template: ScoredTemplate, tags: Any, shape: tuple[int, int]) -> dict[str, Any]:
    """Codes by label, [B, T] each, from those of the only label or of some by name."""
    labels = template.labels
    if not isinstance(tags, Mapping):
        if len(labels) > 1:
            raise ValueError(f"`tags` are by label, as in {{{', '.join(f'{one!r}: codes' for one in labels)}}}")
        tags = {labels[0]: tags}
    for label, given in tags.items():
        if label not in labels:
            raise ValueError(f"`tags` has {label!r}, which is no label: the labels are {', '.join(labels)}")
        if tuple(np.shape(given)) != shape:
            raise ValueError(f"codes of `{label}` have the shape {tuple(np.shape(given))}, expected {shape}")
    return {label: tags[label] for label in labels if label in tags}


def check_codes(template: ScoredTemplate, label: str, codes: Ints) -> None:
    """That codes, of any shape, are those of states, or -1."""
    count = len(template.states[label])
    if codes.size and (codes.min() < -1 or codes.max() >= count):
        wrong = codes[(codes < -1) | (codes >= count)]
        meant = ", for which -1 stands here" if wrong[0] == -100 else ""
        raise ValueError(f"`{label}` has the codes 0 to {count - 1}, and -1 for unknown: found {wrong[0]}{meant}")


def check_possible(log_p: Floats) -> None:
    """That no sentence has labels of probability 0, [B]."""
    for number in np.flatnonzero(log_p == -np.inf):
        raise ValueError(f"the labels of sentence {number} (from 0) are impossible by the template or its scores")
