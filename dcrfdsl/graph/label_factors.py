"""The same graph with one more factor on each label: for known values, for constraints, for potentials to be perturbed.

Each factor reads a code, or a feature, at every position. It has a single variable, so it adds no loop, and kernels
need not know.

* **Clamped.** log Z of the clamped graph sums the scores of all labellings that agree with the known values, so that
  log p(known | x) = log Z clamped − log Z holds for latent, missing and ambiguous labels alike, and its expectations
  are conditional on the known values.
* **Weighed.** Without weights, and with the logs of given probabilities, the graph is the product of the distributions
  that labels have, without the labellings that hard constraints forbid. Its expectations are the counts that soft
  labels stand for.
* **Constrained.** A code says which states a label may have at a position.
* **Perturbed.** The response of expectations to a small change of the potential of each known label is the derivative
  of marginals by parameters, under any method of inference.

* **Counted.** A weight for each assignment that an expected share counts, over as many labels as its condition reads;
  the expected counts of these weights are p(C_t | x) (Mann & McCallum 2008, §3).

Not here: criteria, decoding (`inference.decoding`), by how much potentials change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..features import FeatureRows
from ..foundation import Floats, Integers, Mask
from ..semantics import GivenScores, ShareTable
from .known_labels import Gold
from .parameters import CliqueWeights, Parameters
from .templates import CliqueTemplate
from .unroll import ModelGraph

FREE = 0  # the code of an unknown variable


def clamped_graph(graph: ModelGraph, gold: Gold, first_set: int) -> ModelGraph:
    """`graph` with a factor on each label for its known values. Their feature sets are numbered from `first_set` on.

    Memories follow from the labels, and latents are never known: neither is clamped. Codes: 0 free, 1 + s known to be
    in state s, 1 + card + k in one of the states sets[variable][k].
    """
    allowed = {}
    for variable in range(graph.num_labels):
        card = graph.cards[variable]
        table = gold.allowed(variable, card)
        # `choices` has the states, then all of them together, then the sets; code 0 means all of them
        allowed[variable] = table[[card, *range(card), *range(card + 1, len(table))]]
    return restricted_graph(graph, allowed, first_set, "given")


def restricted_graph(graph: ModelGraph, coded: Mapping[int, Mask | Floats], first_set: int, name: str) -> ModelGraph:
    """`graph` with a factor on some variables that reads a code at each position.

    coded: by variable, which states each code allows, or what it adds to their scores, [codes, card].   first_set:
    number of the first new feature set; they follow the order of `coded`.   name: of the factors, before that of the
    variable.
    """
    factors = [
        CliqueTemplate(
            f"{name} {graph.variables[variable]}", -1, (variable,), (0,), (graph.cards[variable],),
            feature_set=first_set + n, coded=table,
        )
        for n, (variable, table) in enumerate(coded.items())
    ]  # fmt: skip
    return replace(graph, templates=(*graph.templates, *factors))


def clamp_rows(graph: ModelGraph, gold: Gold) -> tuple[FeatureRows, ...]:
    """The rows of the clamps' feature sets: the code of the known value at each token."""
    labels = zip(gold.codes, graph.cards[: graph.num_labels], strict=False)
    return tuple(
        code_rows(np.where(codes >= 0, codes + 1, np.where(codes == -1, FREE, card - 1 - codes)))
        for codes, card in labels
    )


def code_rows(codes: Integers) -> FeatureRows:
    """The rows of a feature set that has one code at each token, [N]."""
    return FeatureRows(np.arange(len(codes) + 1, dtype=np.int64), codes.astype(np.int32), np.zeros(0))


def scored_graph(graph: ModelGraph, first_set: int, name: str) -> ModelGraph:
    """`graph` with a given score of each state of each label, whose feature sets are numbered from `first_set` on."""
    given = [
        CliqueTemplate(
            f"{name} {graph.variables[variable]}", -1, (variable,), (0,), (graph.cards[variable],),
            feature_set=first_set + variable, given=GivenScores((), ()),
        )
        for variable in range(graph.num_labels)
    ]  # fmt: skip
    return replace(graph, templates=(*graph.templates, *given))


def weighed_graph(graph: ModelGraph, first_set: int) -> ModelGraph:
    """As `scored_graph`. Of what has no weight only the hard constraints stay: see `weighed_rows` for given scores."""
    hard = [
        replace(one, coded=one.coded > -np.inf) if one.coded is not None and one.coded.dtype != np.bool_ else one
        for one in graph.templates
    ]
    return scored_graph(replace(graph, templates=tuple(hard)), first_set, "weighed")


def weighed_rows(graph: ModelGraph, gold: Gold, rows: Sequence[FeatureRows]) -> tuple[FeatureRows, ...]:
    """The rows of `weighed_graph`: those of `graph`, its given scores 0 or -inf, and the logs of probabilities."""
    kept = list(rows)
    for one in graph.coded:
        if one.given is not None:
            scores = rows[one.feature_set].value
            kept[one.feature_set] = rows[one.feature_set]._replace(value=np.where(scores == -np.inf, scores, 0.0))
    with np.errstate(divide="ignore"):
        for variable, card in enumerate(graph.cards[: graph.num_labels]):
            logs = np.log(gold.probabilities(variable, card))
            off, feature = np.arange(len(logs) + 1, dtype=np.int64) * card, np.tile(np.arange(card), len(logs))
            kept.append(FeatureRows(off, feature.astype(np.int32), logs.ravel()))
    return tuple(kept)


ANY_STATE = 0  # the code that forbids nothing


def only_state(state: Integers) -> Integers:
    """The code that allows one state alone."""
    return 1 + state


def any_but(state: Integers, card: int) -> Integers:
    """The code that allows every state but one."""
    return 1 + card + state


def state_set(number: Integers, card: int) -> Integers:
    """The code that allows a set of states."""
    return 1 + 2 * card + number


def constrained_graph(graph: ModelGraph, sets: Sequence[Mask], first_set: int) -> ModelGraph:
    """`graph` with one factor per label that reads a code. sets[m] [n, card]: sets of states of label m with a code.

    Its feature sets are numbered from `first_set` on, one per label.
    """
    allowed = {}
    for variable, card in enumerate(graph.cards[: graph.num_labels]):
        one = np.eye(card, dtype=np.bool_)
        allowed[variable] = np.concatenate([np.ones((1, card), np.bool_), one, ~one, sets[variable]])
    return restricted_graph(graph, allowed, first_set, "constrained")


def raised_rows(graph: ModelGraph, gold: Gold) -> tuple[FeatureRows, ...]:
    """Rows for `scored_graph`: the known state of each label at each token, or any, with a value to be set."""
    rows = (code_rows(np.maximum(codes, 0)) for codes in gold.codes[: graph.num_labels])
    return tuple(one._replace(value=np.zeros(len(one.feature))) for one in rows)


def counting_graph(graph: ModelGraph, tables: Sequence[ShareTable], num_cliques: int, first_set: int) -> ModelGraph:
    """`graph` with a clique for each table, numbered from `num_cliques` on; their feature sets from `first_set` on."""
    templates = []
    for n, table in enumerate(tables):
        variables, offsets = zip(*((graph.variables.index(name), offset) for name, offset in table.sites), strict=True)
        cards = table.holds.shape[1:]
        templates.append(
            CliqueTemplate(f"share {n + 1}", num_cliques + n, variables, offsets, cards, feature_set=first_set + n)
        )
    return replace(graph, templates=(*graph.templates, *templates))


def counting_parameters(parameters: Parameters, tables: Sequence[ShareTable]) -> Parameters:
    """With a weight for each code and assignment of the tables that counts, after all others."""
    held = [table.holds.reshape(len(table.holds), -1) for table in tables]
    runs = [(np.cumsum([0, *one.sum(axis=1)], dtype=np.int64), np.nonzero(one)[1].astype(np.int32)) for one in held]
    counting = (CliqueWeights(np.zeros(0, np.int32), *run) for run in runs)
    return Parameters((*parameters.cliques, *counting))
