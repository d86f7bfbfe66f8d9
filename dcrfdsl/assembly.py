"""What a specification and training data determine before any weight: states, gold, features, graph.

    data -> states, gold labels -> features (alphabet locks) -> templates, graph -> what is known of every variable

Training, the cost table and the drawing of graphs begin here. Not here: weights (`graph.parameters`), inference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .data.corpus import Corpus
from .data.labels import check_gold, encode_labels, learn_states, raise_if_any, variable_states
from .errors import Diagnostic
from .features.extract import FeatureExtractor
from .features.lexicons import Lexicons, load_lexicons
from .features.registered import RegisteredFeature
from .features.relations import Pairs
from .features.rows import FeatureRows
from .given import gold_of
from .graph import ModelGraph, Parameters, learn_parameters
from .graph.gold import Gold
from .graph.parameters import broken_instances
from .spec.model import ModelSpec

__all__ = ["Assembly", "assemble"]


@dataclass(frozen=True, eq=False)
class Assembly:
    """states: of every variable.   rows: one a feature set, those of the cliques first, then the codes that hard
    constraints read.   relations: pairs of each relational clique, by its number.
    """

    spec: ModelSpec
    corpus: Corpus
    states: Mapping[str, tuple[str, ...]]
    lexicons: Lexicons
    extractor: FeatureExtractor
    rows: tuple[FeatureRows, ...]
    relations: Mapping[int, Pairs]
    graph: ModelGraph
    gold: Gold

    def learn_parameters(self) -> tuple[Parameters, NDArray[np.float64]]:
        """The weights that the data calls for, and their counts in sentences that are wholly known."""
        num_features = [own.num_features for own in self.extractor.sets]
        return learn_parameters(
            self.spec.cliques, self.graph, self.rows, num_features, self.gold, self.corpus.sentence_off, self.relations
        )


def assemble(
    spec: ModelSpec, corpus: Corpus, directories: Mapping[str, Path], registered: Mapping[str, RegisteredFeature]
) -> Assembly:
    """Raises DcrfError where the data does not fit the model: gold that is no state or breaks a constraint."""
    states = variable_states(spec, learn_states(spec, corpus, directories), directories)
    labels = encode_labels(spec, states, corpus)
    raise_if_any(check_gold(spec, states, corpus, labels))
    lexicons = load_lexicons(spec, directories)
    extractor, rows = FeatureExtractor.learn(spec, corpus, resources=lexicons, registered=registered)
    graph = ModelGraph.of(spec, states, extractor.set_of_clique, extractor.bias_of_clique)
    rows = (*rows, *extractor.code_rows(corpus, [template.observed for template in graph.coded]))
    gold = gold_of(spec, states, extractor, corpus, labels)
    raise_if_any(_broken_constraints(graph, corpus, gold, rows))
    return Assembly(spec, corpus, states, lexicons, extractor, rows, extractor.relations(corpus), graph, gold)


def _broken_constraints(graph: ModelGraph, corpus: Corpus, gold: Gold, rows: Sequence[FeatureRows]) -> list[Diagnostic]:
    """Gold instances that a `forbid` or `require` gives probability zero."""
    found = []
    for template in graph.templates:
        tokens = broken_instances(template, gold, corpus.sentence_off, rows)
        if len(tokens):
            lines = ", ".join(str(corpus.token_line[n]) for n in tokens[:5])
            more = f" and {len(tokens) - 5} more" if len(tokens) > 5 else ""
            sites = ", ".join(graph.variables[v] for v in dict.fromkeys(template.variables))
            found.append(
                Diagnostic(
                    "broken-constraint",
                    f"the gold labels of {sites} break a constraint at "
                    f"line{'s' if len(tokens) > 1 else ''} {lines}{more}",
                    location=f"{corpus.file}:{corpus.token_line[tokens[0]]}",
                    help="correct the data, or relax the `forbid` or `require` that rules these labels out",
                )
            )
    return found
