"""The weights of a model with the names of their cliques, features and states, and the rounds of boosting with them.

Not here: how they are printed (`cli.show_command`), what a feature's text is (`features`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np

from ..features import FeatureExtractor
from ..foundation import DcrfError, Diagnostic, Floats, did_you_mean, quoted_names
from ..graph import ModelGraph, Parameters, assignment_states
from ..optimizers import BoostingRound

Row = tuple[str, str, tuple[str, ...], float]


class NamedWeights(NamedTuple):
    """Weights [W] and their names. A row is (clique, feature, states of the clique's sites, weight).

    states: of each variable. The feature of a bias weight is called `bias`.
    """

    graph: ModelGraph
    parameters: Parameters
    extractor: FeatureExtractor
    states: Mapping[str, tuple[str, ...]]
    weights: Floats

    def rows(self) -> Iterator[Row]:
        """A row for every weight, in the model's order."""
        text = functools.cache(self._feature_text)
        for weight, clique, feature, assignment in self.parameters.walk():
            yield self._row(weight, clique, text(clique, feature), assignment)

    def strongest(self, top: int, clique: str | None, feature: str | None) -> list[Row]:
        """The `top` weights of largest magnitude; ties in the model's order.

        clique: only cliques of this name, `*` and `?` match; DcrfError if no clique has it.   feature: only features
        whose text contains this.
        """
        text = functools.cache(self._feature_text)
        cliques, features, assignments = self.parameters.origins()
        names = [template.name for template in self.graph.templates[: len(self.parameters.cliques)]]
        if clique is not None and not any(clique == name or fnmatchcase(name, clique) for name in names):
            raise _no_clique(clique, names)
        wanted = np.array([clique is None or clique == name or fnmatchcase(name, clique) for name in names], bool)
        chosen = np.flatnonzero(wanted[cliques]) if len(names) else np.zeros(0, np.int64)
        strongest: list[Row] = []
        for weight in chosen[np.argsort(-np.abs(self.weights[chosen]), kind="stable")].tolist():
            if len(strongest) == top:
                break
            number = int(cliques[weight])
            described = text(number, int(features[weight]))
            if feature is None or feature in described:
                strongest.append(self._row(weight, number, described, int(assignments[weight])))
        return strongest

    def of_rounds(self, path: Iterable[BoostingRound]) -> Iterator[tuple[BoostingRound, str, str, tuple[str, ...]]]:
        """Each round of boosting with clique, feature and states of the weight that moved; empty if all moved."""
        origins = self.parameters.origins()
        for done in path:
            if done.weight < 0:
                yield done, "", "", ()
                continue
            clique, feature, assignment = (int(part[done.weight]) for part in origins)
            yield done, *self._row(done.weight, clique, self._feature_text(clique, feature), assignment)[:3]

    def _feature_text(self, clique: int, feature: int) -> str:
        return "bias" if feature < 0 else self.extractor.describe(self.graph.templates[clique].feature_set, feature)

    def _row(self, weight: int, clique: int, text: str, assignment: int) -> Row:
        template = self.graph.templates[clique]
        states = assignment_states(template, assignment, list(self.states.values()))
        return template.name, text, states, float(self.weights[weight])


def _no_clique(clique: str, names: Sequence[str]) -> DcrfError:
    guess = did_you_mean(clique, names)
    listed = ", ".join(quoted_names(tuple(dict.fromkeys(names))))
    remedy = f"did you mean `{guess}`?" if guess else f"the cliques are {listed}"
    return DcrfError(Diagnostic("unknown-clique", f"the model has no clique `{clique}`", help=remedy))
