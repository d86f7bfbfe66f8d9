"""Graphs of wrong labellings: those in which these get a higher score, and the one of all of them.

* **Costs of states.** Each label that the loss looks at gets a factor that adds a cost to the score of every state that
  contradicts the gold label (`label_factors.restricted_graph` with the rows of `known_label_rows`). Unknown labels cost
  nothing; a label known to be one of several states costs outside of them. Source: margin rescaling, Taskar, Guestrin &
  Koller 2003.
* **Costs of segments.** Segments that are missed or false cost something:

      cost(y) = m |s* ∖ s| + f |s ∖ s*|          s, s*: the segments of y and of the gold labels, by place and type

  A segment is right if it begins and ends where a gold segment of its type does, which no pair of states can tell. So
  each label y that the loss looks at is followed by a variable R with two states: whether the segment at this position
  has begun with a gold segment, and is right so far:

      R_t = a segment of type k begins in y and in the gold labels at t
            or R_{t-1}, and both segments go on from t-1 to t

  These are hard constraints. A segment adds f where it begins in y and m where it begins in the gold labels, and takes
  m + f where it ends in both while R. Source: margin rescaling, Tsochantaridis et al. 2005; the counts are those of F
  in Suzuki 2006 §4 before smoothing: FN = |s*| − TP, FP = |s| − TP.
* **All wrong labellings.** Each label variable that the loss looks at is followed by a variable D with two states, the
  disjunction of all differences so far:

      D_v = D_{v-1} or (y_v ∉ Y*_v),    and D = 1 at the end

  These are hard constraints with a code at each position for the set Y*_v: the known state, one of several, or any.
  Sums and maxima over this graph run over all labellings that contradict the known values somewhere, and no difference
  of large numbers is taken. If everything is known the set is Y \\ {y*}; variables without a known value, such as
  latent ones, cannot be wrong. Source: the pairs (a, b) of agreement and disagreement are the two states of D.

Sums and maxima over these graphs are exact if the method is. Not here: decoding, criteria.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..features import FeatureRows
from ..foundation import Floats, Ints, Mask
from .known_labels import Gold
from .label_factors import code_rows
from .templates import LAST, CliqueTemplate
from .unroll import ModelGraph


class SegmentMoves(NamedTuple):
    """How the states of a label mark segments. kind [K]: the number of the type, -1 outside; starts [K+1, K]: whether a
    segment starts, by the state before (row K: none) and the one here; goes_on [K, K]: whether it goes on.
    """

    kind: Ints
    starts: Mask
    goes_on: Mask


def segment_cost_graph(
    graph: ModelGraph, moves: Mapping[int, SegmentMoves], missed: float, false: float, first_set: int
) -> ModelGraph:
    """`graph` with these variables and factors.   missed, false: what such a segment adds.

    Its feature sets have the rows of `segment_cost_rows` and are numbered from `first_set` on, two for each label in
    the order of `moves`; its new variables come last.
    """
    templates = []
    for n, (variable, of_label) in enumerate(moves.items()):
        card, right, name = graph.cards[variable], len(graph.cards) + n, f"segments of {graph.variables[variable]}"
        begins, ends = first_set + 2 * n, first_set + 2 * n + 1
        first, later = _tables(of_label, missed, false)
        templates += [
            CliqueTemplate(
                name=f"{name} at first", clique=-1, variables=(variable, right), offsets=(0, 0), cards=(card, 2),
                feature_set=begins, coded=first, position=0,
            ),
            CliqueTemplate(
                name=name, clique=-1, variables=(variable, right, variable, right), offsets=(-1, -1, 0, 0),
                cards=(card, 2, card, 2), feature_set=begins, coded=later,
            ),
            CliqueTemplate(
                name=f"{name} at last", clique=-1, variables=(right,), offsets=(0,), cards=(2,), feature_set=ends,
                coded=np.array([[0.0, 0.0], [0.0, -missed - false]]), position=LAST,
            ),
        ]  # fmt: skip
    return _followed(graph, "right", list(moves), templates)


def _followed(graph: ModelGraph, name: str, labels: Sequence[int], templates: Sequence[CliqueTemplate]) -> ModelGraph:
    """`graph` with a variable of two states for each of these labels, and with these templates."""
    return replace(
        graph,
        variables=(*graph.variables, *(f"{name}.{graph.variables[label]}" for label in labels)),
        cards=(*graph.cards, *(2 for _ in labels)),
        templates=(*graph.templates, *templates),
    )


def _tables(moves: SegmentMoves, missed: float, false: float) -> tuple[Floats, Floats]:
    """Log potentials of y and R at the first position, [codes, K, 2], and at two in a row, [codes, K, 2, K, 2].

    A code is 2 (1 + the type of the gold segment that begins here, or 0) + whether one ended just before.
    """
    card = len(moves.kind)
    kinds = int(moves.kind.max(initial=-1)) + 1
    first, later = np.empty((2 * (kinds + 1), card, 2)), np.empty((2 * (kinds + 1), card, 2, card, 2))
    starts, goes_on = moves.starts[:card, None, :], moves.goes_on[:, None, :]  # [K, 1, K], beside R before
    was_right = np.array([False, True])[None, :, None]
    for begun in range(kinds + 1):
        is_kind = (moves.kind == begun - 1) & (begun > 0)
        here_missed = missed * (begun > 0)
        for ended in (False, True):
            code = 2 * begun + ended
            here = moves.starts[card]
            first[code] = _with(here & is_kind, false * here + here_missed)
            is_right = (starts & is_kind) | (was_right & goes_on & (not ended) & (begun == 0))
            found = was_right & ~goes_on & ended
            later[code] = _with(is_right, false * starts + here_missed - (missed + false) * found)
    return first, later


def _with(value: Mask, cost: Floats) -> Floats:
    """[..., 2]: the cost where R is `value`, and impossible where it is not."""
    return np.stack([np.where(value, -np.inf, cost), np.where(value, cost, -np.inf)], axis=-1)


def segment_cost_rows(codes: Ints, moves: SegmentMoves, sentence_off: Ints) -> tuple[FeatureRows, FeatureRows]:
    """The rows of the two feature sets of a label: of its gold `codes` [N], all known."""
    card = len(moves.kind)
    is_first = np.zeros(len(codes) + 1, np.bool_)
    is_first[sentence_off] = True
    before = np.where(is_first[:-1], card, np.concatenate([codes[:1], codes[:-1]]))
    begins = np.where(moves.starts[before, codes], 1 + moves.kind[codes], 0)
    inside = np.append(moves.kind, -1)[before] >= 0
    goes_on = np.concatenate([moves.goes_on, np.zeros((1, card), np.bool_)])[before, codes]
    return code_rows(2 * begins + (inside & ~goes_on)), code_rows((moves.kind[codes] >= 0).astype(np.int32))


def graph_excluding_gold(graph: ModelGraph, gold: Gold, loss_labels: Sequence[int], first_set: int) -> ModelGraph:
    """`graph` without the labellings that agree with the known values of all label variables `loss_labels`.

    Its feature sets are numbered from `first_set` on, one per variable in that order; its new variables come last.
    """
    before = range(len(graph.cards), len(graph.cards) + len(loss_labels))
    templates = []
    for n, variable in enumerate(loss_labels):
        card, feature_set = graph.cards[variable], first_set + n
        name = f"differs in {graph.variables[variable]}"
        differs = ~gold.allowed(variable, card)
        if n == 0:
            templates.append(
                CliqueTemplate(
                    name=f"{name} at first", clique=-1, variables=(variable, before[0]), offsets=(0, 0),
                    cards=(card, 2), feature_set=feature_set, coded=_is(differs), position=0,
                )
            )  # fmt: skip
        templates.append(
            CliqueTemplate(
                name=name, clique=-1, variables=(before[n - 1], variable, before[n]),
                offsets=(-1 if n == 0 else 0, 0, 0), cards=(2, card, 2), feature_set=feature_set,
                coded=np.stack([_is(differs), _is(np.ones_like(differs))], axis=1),
            )
        )  # fmt: skip
    templates.append(
        CliqueTemplate(
            name="differs", clique=-1, variables=(before[-1],), offsets=(0,), cards=(2,),
            allowed=np.array([False, True]), position=LAST,
        )
    )  # fmt: skip
    return _followed(graph, "differs", loss_labels, templates)


def _is(value: Mask) -> Mask:
    """[..., 2]: whether D is `value`."""
    return np.stack([~value, value], axis=-1)


def known_label_rows(graph: ModelGraph, gold: Gold, loss_labels: Sequence[int]) -> tuple[FeatureRows, ...]:
    """The rows of the new feature sets: the known value of each label at each token, as a run of `Gold.choices`."""
    return tuple(code_rows(gold.runs(variable, graph.cards[variable])) for variable in loss_labels)
