"""Coarse to fine by training stages: the marginals of an earlier stage say which labels pruned inference looks at.

The guide is the model at the weights of its stage, under that stage's inference. Cliques on several labels that its
stage gave no weight have potential 1, so they are left out: a stage that trains single labels alone costs no more than
these. Where constraints on several labels could leave no labelling of what survives, the guide's best one does survive.
Lists are made once for each data set, in parts that depend on the data alone.

Not here: pruning itself (`methods.pruned_method`), which stage guides (`semantics.implied_settings`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from ..foundation import Floats, Ints, Ints32, data_error, dataclass
from ..graph import ModelGraph, Parameters
from ..kernels.lattice import Pruning, list_labels
from ..semantics import MethodSettings, ModelSpec, PrunedSettings, guiding_stage, stage_inference
from .base import Decoded, Expectations
from .bound import BoundData
from .methods import METHODS, PrunedMethod, choose_method

NOTHING = np.zeros(0)
MOST_MARGINALS = 2**22  # of a part of the data: 32 MB


@dataclass(frozen=True, eq=False)
class StageGuide:
    """A stage that prunes. graph: of the cliques that have weights there.   weights [W]: those of the stage.

    method, settings: its inference.   pruning: what survives by its marginals.   guide: that which prunes there.
    """

    graph: ModelGraph
    weights: Floats
    method: str
    settings: MethodSettings
    pruning: Pruning
    guide: StageGuide | None

    @property
    def programs(self) -> bool:
        """Whether its data needs contraction programs."""
        return METHODS[self.method].programs

    @property
    def bound_graph(self) -> ModelGraph:
        return METHODS[self.method].graph(self.graph)

    @property
    def constrains_moves(self) -> bool:
        """Whether some hard constraint is on several labels."""
        return any(
            len(template.offsets) > 1 and (template.allowed is not None or template.num_codes)
            for template in self.graph.templates
        )


def stage_guide(
    spec: ModelSpec, graph: ModelGraph, parameters: Parameters, settings: MethodSettings,
    weights: Mapping[str, Floats],
) -> StageGuide | None:  # fmt: skip
    """The guide that `settings` name; None if they name no stage. weights [W]: of stages that have been trained.

    Raises DcrfError `cannot-prune` where the weights of a stage are missing, and what `choose_method` raises.
    """
    stage = guiding_stage(spec, settings)
    if stage is None:
        return None
    assert isinstance(settings, PrunedSettings)
    own = stage_inference(spec, stage)
    if stage not in weights or guiding_stage(spec, own) == stage:
        message = f"`pruned(by = {stage})` needs the weights of the stage `{stage}`, which has not been trained before"
        raise data_error("cannot-prune", message, help=f"train it first: `after {stage}`, and `infer = exact` there")
    part = _with_weights(graph, parameters, weights[stage])
    method, chosen = choose_method(part, parameters, own)
    pruning = Pruning(settings.threshold, settings.keep, settings.states or 0.0)
    return StageGuide(part, weights[stage], method, chosen, pruning, stage_guide(spec, graph, parameters, own, weights))


def _with_weights(graph: ModelGraph, parameters: Parameters, weights: Floats) -> ModelGraph:
    """The graph without cliques on several labels whose weights are all 0."""
    kept = tuple(
        template
        for template in graph.templates
        if len(template.offsets) == 1
        or template.clique < 0
        or template.allowed is not None
        or weights[parameters.of_clique(template.clique)].any()
    )
    return graph if len(kept) == len(graph.templates) else replace(graph, templates=kept, unary_only=False)


class GuideLists:
    """The labels that survive by a guide on one data set. Threads may share it.

    bind: returns the data set bound to the graph of a guide: this one, or one that prunes it.
    """

    def __init__(self, bind: Callable[[StageGuide], BoundData], guide: StageGuide):
        self.data = data = bind(guide)
        self.guide, self.within = guide, None if guide.guide is None else GuideLists(bind, guide.guide)
        tokens = data.rows.token_off
        parts = max(1, int(tokens[-1]) * data.graph.cards[0] // MOST_MARGINALS, min(16, data.num_sequences))
        self._cuts = [0, *(end for _, end in data.chunks(parts))] if data.num_sequences else [0]
        self._locks = [threading.Lock() for _ in self._cuts]
        self._parts: dict[int, tuple[Ints, Ints32]] = {}
        self._potentials = data.potentials(guide.weights)

    def lists(self, first: int, last: int) -> tuple[Ints, Ints32]:
        """The labels at each position of sequences `first` to `last` - 1: offsets [P+1], and labels, ascending."""
        tokens = self.data.rows.token_off
        offs, labels, start = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)], 0
        begin = max(0, int(np.searchsorted(self._cuts, first, side="right")) - 1)
        while begin + 1 < len(self._cuts) and self._cuts[begin] < last:
            low, high = max(first, self._cuts[begin]), min(last, self._cuts[begin + 1])
            off, label = self._part(begin)
            base = tokens[self._cuts[begin]]
            own = off[tokens[low] - base : tokens[high] - base + 1]
            offs.append(own[1:] - own[0] + start)
            labels.append(label[own[0] : own[-1]])
            start += len(labels[-1])
            begin += 1
        return np.concatenate(offs), np.concatenate(labels)

    def _part(self, number: int) -> tuple[Ints, Ints32]:
        with self._locks[number]:
            if number not in self._parts:
                self._parts[number] = self._list(self._cuts[number], self._cuts[number + 1])
            return self._parts[number]

    def _list(self, first: int, last: int) -> tuple[Ints, Ints32]:
        data = self.data.only(np.arange(first, last))
        method = METHODS[self.guide.method].build(data, self.guide.settings)
        if isinstance(method, PrunedMethod) and self.within is not None:
            of_guide = self.within.lists
            method.lists = lambda low, high: of_guide(first + low, first + high)
        best = Decoded.empty(data, approximate=method.approximate, labelling=np.zeros(0, np.int32))
        if self.guide.constrains_moves:
            best = Decoded.empty(data, approximate=method.approximate)
            method.decode(self._potentials, 0, data.num_sequences, best)
        out = Expectations.empty(data, marginals=True, approximate=method.approximate)
        method.expectations(self._potentials, 0, data.num_sequences, out, NOTHING, np.zeros(len(data.hard)))
        (beliefs,) = data.by_variable(out.marginals)
        off, label = list_labels(
            data.rows.token_off, data.graph.cards[0], beliefs.ravel(), best.labelling, self.guide.pruning
        )
        return off, label
