"""A data set clamped to its known labels. Not here: the clamping factors (`graph.label_factors`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...features import FeatureRows, Pairs
from ...foundation import Ints
from ...graph import Gold, ModelGraph, Parameters, clamp_rows, clamped_graph
from .potentials import Binder, BoundData


def bind_clamped(
    graph: ModelGraph,
    parameters: Parameters,
    rows: Sequence[FeatureRows],
    gold: Gold,
    sentence_off: Ints,
    relations: Mapping[int, Pairs],
    *,
    programs: bool,
    latents_first: bool = False,
) -> BoundData:
    """The data set of `rows`, clamped to the known labels; `programs` and `latents_first` as in `Binder`."""
    clamped = clamped_graph(graph, gold, len(rows))
    binder = Binder(clamped, parameters, programs=programs, latents_first=latents_first)
    return binder.bind((*rows, *clamp_rows(graph, gold)), sentence_off, relations)
