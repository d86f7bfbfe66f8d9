"""What a model has learned, by names: its weights, the rounds of boosting, its graph of a sentence.

Got as `model.explanations`. Not here: why a position has its label (`explanation`), what a feature's text is
(`features`), drawings (`graph`), how rows are printed (`cli.show_command`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np

from ..data import Corpus
from ..foundation import (
    CORPUS,
    DcrfError,
    data_error,
    dataclass,
    did_you_mean,
    quoted_names,
    require_kind,
    require_whole,
    spelling_remedy,
)
from ..graph import GraphDrawing, assignment_states
from ..optimizers import BoostingRound
from .predicting_model import PredictingModel
from .reporting import Told, sentence_graph

if TYPE_CHECKING:
    from ..criteria import TemplateWeights

Row = tuple[str, str, tuple[str, ...], float]  # clique, feature, states of the clique's sites, weight


@dataclass(frozen=True, eq=False)
class ModelExplanations:
    """What a model has learned, by names. Got as `model.explanations`.

    model: which is looked into.
    """

    model: PredictingModel

    def iter_weights(self) -> Iterator[Row]:
        """Yields a row for every weight: (clique, feature, states of its sites, weight).

        It takes no argument. The feature of the bias is called `bias`. A positive weight makes the states likelier.

        >>> next(model.explanations.iter_weights())[:3]
        ('part', 'bias', ('B-STREET',))
        """
        text = functools.cache(self._feature_text)
        for weight, clique, feature, assignment in self.model.parameters.walk():
            yield self._row(weight, clique, text(clique, feature), assignment)

    def strongest_weights(self, top: int, clique: str | None = None, feature: str | None = None) -> list[Row]:
        """The weights of largest magnitude, as rows of `iter_weights`; ties in the model's order.

        top: how many, at least 1.
        clique: only cliques of this name; `*` and `?` match.
        feature: only features whose text contains this.

        Raises DcrfError if there is no such clique.

        >>> len(model.explanations.strongest_weights(5, feature="lower"))
        5
        """
        require_whole(top, "top")
        text = functools.cache(self._feature_text)
        cliques, features, assignments = self.model.parameters.origins()
        names = [template.name for template in self.model.graph.templates[: len(self.model.parameters.cliques)]]
        matches = [clique is None or clique == name or fnmatchcase(name, clique) for name in names]
        if clique is not None and not any(matches):
            listed = ", ".join(quoted_names(tuple(dict.fromkeys(names))))
            remedy = spelling_remedy(did_you_mean(clique, names), f"the cliques are {listed}")
            raise data_error("unknown-clique", f"the model has no clique `{clique}`", help=remedy)
        chosen = np.flatnonzero(np.array(matches, bool)[cliques]) if len(names) else np.zeros(0, np.int64)
        strongest: list[Row] = []
        for weight in chosen[np.argsort(-np.abs(self.model.weights[chosen]), kind="stable")].tolist():
            if len(strongest) == top:
                break
            number = int(cliques[weight])
            described = text(number, int(features[weight]))
            if feature is None or feature in described:
                strongest.append(self._row(weight, number, described, int(assignments[weight])))
        return strongest

    def weights_by_template(self) -> list[TemplateWeights]:
        """Every feature template of every clique: its name, its number of weights, and how many of them are not 0.

        It takes no argument. A template is a feature of a list, each offset by itself; the biases of a clique come
        first. It says what priors that make weights zero, as `group_lasso`, have left of a model.

        >>> model.explanations.weights_by_template()[0]
        TemplateWeights(clique='part', template='bias', weights=5, used=5)
        """
        from ..criteria import weights_by_template  # here, as few programs ask

        return weights_by_template(self.model.graph, self.model.parameters, self.model.extractor, self.model.weights)

    def boosting_path(self) -> Iterator[tuple[BoostingRound, str, str, tuple[str, ...]]]:
        """Yields each round of boosting with clique, feature and states of the weight that moved, empty if all moved.

        It takes no argument, and yields nothing for a model that was not boosted.

        >>> list(model.explanations.boosting_path())
        []
        """
        origins = self.model.parameters.origins()
        for done in self.model.record.path:
            if done.weight < 0:
                yield done, "", "", ()
                continue
            clique, feature, assignment = (int(part[done.weight]) for part in origins)
            yield done, *self._row(done.weight, clique, self._feature_text(clique, feature), assignment)[:3]

    def unrolled(self, corpus: Corpus, sentence: int = 0) -> GraphDrawing:
        """The factor graph of a sentence, which notebooks show as a picture. Its circles say the predicted labels.

        corpus: the sentences; columns of labels may be absent.
        sentence: the number of one, from 0.

        `dcrfdsl unroll` writes such pictures to files. Raises DcrfError where there is no such sentence.

        >>> model.explanations.unrolled(corpus, 2).words
        ('Bath', ',', '3', 'Oxford', 'Road')
        """
        require_kind(corpus, Corpus, "corpus", CORPUS)
        require_whole(sentence, "sentence", least=0)
        if not 0 <= sentence < corpus.num_sentences:
            raise missing_sentence(corpus, sentence)
        prediction = self.model.predict(corpus.slice(sentence, sentence + 1), threads=1)

        def told(name: str, position: int) -> tuple[str, tuple[str, ...], str]:
            if name not in prediction.codes:
                return "", (), ""
            state = prediction.states[name][int(prediction.codes[name][position])]
            return state, (f"labelled {state}",), ""

        return sentence_drawing(self.model, corpus, sentence, told)

    def _feature_text(self, clique: int, feature: int) -> str:
        number = self.model.graph.templates[clique].feature_set
        return "bias" if feature < 0 else self.model.extractor.describe(number, feature)

    def _row(self, weight: int, clique: int, text: str, assignment: int) -> Row:
        template = self.model.graph.templates[clique]
        states = assignment_states(template, assignment, list(self.model.states.values()))
        return template.name, text, states, float(self.model.weights[weight])


def sentence_drawing(model: PredictingModel, corpus: Corpus, number: int, told: Told) -> GraphDrawing:
    """The graph of a sentence, counted from 0.   told: `shown`, `details` and `kind` of a variable, by its name and
    position.
    """
    sentence = corpus.slice(number, number + 1)
    rows, relations = model.structure.features(sentence)
    pairs = [relations[model.graph.templates[n].clique].local(0, sentence.sentence_off) for n in model.graph.relational]
    drawing = sentence_graph(model.graph, sentence, 0, model.extractor, rows, pairs, told)
    return replace(drawing, title=f"sentence {number + 1} of {corpus.file}")


def missing_sentence(corpus: Corpus, number: int) -> DcrfError:
    """The error of a number that no sentence has. They count from 0, in Python; commands count from 1."""
    count = f"`{corpus.file}` has {corpus.num_sentences:,} sentence{'s' * (corpus.num_sentences != 1)}"
    return data_error("no-such-sentence", f"{count}, there is no number {number:,}", help="numbers count from 0")
