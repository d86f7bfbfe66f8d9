"""A trained model: tags, scores, explains itself, and goes to a file and back.

The file holds everything that tagging needs (canonical template, states, alphabets, lexicons, weights) and the record
of the training. Not here: training (`training`), the container (`model_file`), measures (`metrics`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .answers import Answers, Engine, Labelled
from .data.corpus import Corpus
from .data.labels import EncodedLabels, encode_labels, stranger_tokens
from .errors import data_error
from .features.extract import FeatureExtractor
from .features.registered import RegisteredFeature
from .features.strings import pack_strings, unpack_strings
from .graph import ModelGraph, Parameters, assignment_states
from .inference import RunStatus, Workers
from .inference.cliques import CliqueMarginal
from .inference.decoding import NBest, Samples
from .metrics import evaluate_predictions, goodness
from .model_file import read_model, write_model
from .optimizers import BoostingRound
from .ranks import RankRisk, rank_risk_of
from .record import TrainingRecord
from .spec.model import ModelSpec
from .spec.unparse import to_text
from .spec.values import inference_settings

__all__ = ["Prediction", "TrainedModel", "TrainingRecord"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Prediction:
    """Labels of a corpus. `codes[label]` [N] int32 are indices into `states[label]`.

    scores [S]: Σ log φ of each sentence's labelling in nats, with latent variables log Σ_h exp Σ log φ; not-a-number
    where it was decoded pointwise or there is none.
    """

    codes: Mapping[str, NDArray[np.int32]]
    states: Mapping[str, tuple[str, ...]]
    status: RunStatus
    scores: Floats

    def texts(self, label: str) -> list[str]:
        """The label's states as texts, one a token."""
        names = self.states[label]
        return [names[code] for code in self.codes[label].tolist()]


class TrainedModel:
    """A model with its weights. Immutable but for caches; safe to use from several threads one call at a time.

    states: of each variable: labels, latents, memories.   known_values: training values of the columns that an OOV
    metric names.
    """

    def __init__(
        self,
        spec: ModelSpec,
        states: Mapping[str, tuple[str, ...]],
        extractor: FeatureExtractor,
        known_values: Mapping[str, frozenset[str]],
        graph: ModelGraph,
        parameters: Parameters,
        weights: Floats,
        record: TrainingRecord,
    ):
        self.spec, self.states, self.extractor, self.known_values = spec, dict(states), extractor, known_values
        self.graph, self.parameters, self.weights, self.record = graph, parameters, weights, record
        self._engine = Engine(spec, self.states, extractor, graph, parameters)

    @property
    def num_weights(self) -> int:
        return self.parameters.num_weights

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels: what is predicted. Latents and memories are not."""
        return tuple(self.states)[: self.graph.num_labels]

    def with_weights(self, weights: Floats, record: TrainingRecord) -> TrainedModel:
        """The same model with other weights [W]."""
        return TrainedModel(
            self.spec, self.states, self.extractor, self.known_values, self.graph, self.parameters, weights, record
        )

    def at_round(self, rounds: int) -> TrainedModel:
        """The model as boosting had it after so many rounds of its last stage. DcrfError where it has no such round."""
        path = self.record.path
        if not 0 <= rounds <= len(path):
            found = f"{len(path)} rounds of boosting" if path else "no rounds of boosting"
            raise data_error("no-such-round", f"the model has {found}, and round {rounds} was asked for")
        if any(done.weight < 0 for done in path):
            message = "all weights moved in every round (`update = parallel`), and only the last ones are kept"
            raise data_error("no-such-round", message, help="train with fewer `rounds`, or `update = sequential`")
        weights, last = self.weights.copy(), path[rounds - 1] if rounds else None
        moved = np.array([done.weight for done in path], np.int64)
        step = np.array([done.step for done in path])
        begun = np.zeros(len(weights))  # before the first round: what an earlier stage left, else exactly 0
        if self.record.before:
            begun = weights - np.bincount(moved, step, len(weights))
        later = np.unique(moved[rounds:])
        weights[later] = (begun + np.bincount(moved[:rounds], step[:rounds], len(weights)))[later]
        record = replace(
            self.record, path=path[:rounds], curve=self.record.curve[:rounds], iterations=rounds,
            objective=last.risk if last is not None else float("nan"), gradient_norm=float("nan"),
            reason=f"cut at round {rounds}",
        )  # fmt: skip
        return self.with_weights(weights, record)

    # tagging ------------------------------------------------------------------------------------------------------

    # Every method that asks about labellings takes `given`: labels known beforehand, to which all answers then keep.

    def on(self, corpus: Corpus, given: EncodedLabels | None = None) -> Answers:
        """A corpus with its features, which the methods below take in its place: extracted once for several of them."""
        return self._engine.on(corpus, given)

    def predict(
        self,
        corpus: Corpus | Answers,
        *,
        threads: int | None = None,
        decode: str | None = None,
        given: EncodedLabels | None = None,
    ) -> Prediction:
        """Labels every token. `decode`: `joint`, `marginal` or `local`, by default what the template says."""
        answers = corpus if isinstance(corpus, Answers) else self.on(corpus, given)
        return self._prediction(answers.best(self.weights, Workers(threads), decode, self.record.stage or None))

    def marginals(
        self, corpus: Corpus | Answers, *, threads: int | None = None, given: EncodedLabels | None = None
    ) -> tuple[dict[str, Floats], RunStatus]:
        """p(y_t = state | x) of every variable, [N, states], and how inference ended."""
        answers = corpus if isinstance(corpus, Answers) else self.on(corpus, given)
        found, status = answers.marginals(self.weights, Workers(threads))
        return dict(zip(self.states, found, strict=True)), status

    def clique_marginals(
        self, corpus: Corpus, *, given: EncodedLabels | None = None
    ) -> Iterator[tuple[tuple[CliqueMarginal, ...], RunStatus]]:
        """Of each sentence: p(y_c | x) for every clique at every place where it lies, and how inference ended."""
        return self._engine.on(corpus, given).clique_marginals(self.weights)

    def nbest(
        self, corpus: Corpus | Answers, count: int, *, threads: int | None = None, given: EncodedLabels | None = None
    ) -> NBest:
        """The `count` best labellings of each sentence: exact, with probabilities, wherever exact inference fits.

        Latent variables are summed out; where that and the search do not go together exactly, the best of those that
        other methods propose.
        """
        answers = corpus if isinstance(corpus, Answers) else self.on(corpus, given)
        return answers.nbest(self.weights, Workers(threads), count)

    def sample(
        self,
        corpus: Corpus,
        count: int,
        *,
        seed: int = 0,
        threads: int | None = None,
        given: EncodedLabels | None = None,
    ) -> Samples:
        """`count` labellings of each sentence drawn from p(y | x). DcrfError where exact inference does not fit."""
        return self._engine.on(corpus, given).sample(self.weights, Workers(threads), count, seed)

    def log_likelihood(self, corpus: Corpus, *, threads: int | None = None) -> float:
        """Σ log p(y | x) in nats of what is known of the gold labels, the rest summed out; Bethe's approximation on
        loops. A sentence whose gold has a value that is no state, or that no labelling agrees with, is left out.

        DcrfError under a method that gives no log Z.
        """
        self._require_log_z("no likelihood")
        return self._likelihood_of(corpus, Workers(threads))(self.weights)

    def _likelihood_of(self, corpus: Corpus, workers: Workers) -> Callable[[Floats], float]:
        """`log_likelihood` as a function of weights [W], with everything else done once."""
        gold = encode_labels(self.spec, self.states, corpus)
        tokens = np.flatnonzero(stranger_tokens(self.spec, self.states, corpus))
        strange = np.zeros(corpus.num_sentences, bool)
        strange[np.searchsorted(corpus.sentence_off, tokens, side="right") - 1] = True
        clamped, free = self._engine.on(corpus, gold), self._engine.on(corpus)

        def likelihood(weights: Floats) -> float:
            known, log_z = clamped.log_z(weights, workers), free.log_z(weights, workers)
            counted = np.isfinite(known) & ~strange
            return float((known[counted] - log_z[counted]).sum())

        return likelihood

    def rank_risk(self, corpus: Corpus, *, threads: int | None = None) -> RankRisk:
        """The mean share of wrong labellings that score as high as the gold one, or a lower bound of it.

        DcrfError under a method that gives no log Z.
        """
        self._require_log_z("no rank risk")
        return self._ranks_of(corpus, Workers(threads))(self.weights)

    def _ranks_of(self, corpus: Corpus, workers: Workers) -> Callable[[Floats], RankRisk]:
        """`rank_risk` as a function of weights [W], with everything else done once."""
        gold = encode_labels(self.spec, self.states, corpus)
        return rank_risk_of(self._engine.on(corpus), self._engine.on(corpus, gold), gold, workers)

    def _require_log_z(self, without: str) -> None:
        method = inference_settings(self.spec)
        if not method.gives_log_z:
            raise data_error("no-log-z", f"`{method.method}` gives no log Z, and so {without}", help="use `infer trp`")

    def evaluate(
        self,
        corpus: Corpus,
        *,
        threads: int | None = None,
        weights: Floats | None = None,
        decode: str | None = None,
        on_status: Callable[[RunStatus], None] | None = None,
    ) -> dict[str, float | int]:
        """Scores the model on gold data: the template's `evaluate` metrics and counts, by name, rates in 0–1.

        on_status: told how the inference of the labels ended.
        """
        model = self if weights is None else self.with_weights(weights, self.record)
        found = model.predict(corpus, threads=threads, decode=decode)
        if on_status is not None:
            on_status(found.status)
        return self._scores(
            corpus,
            found,
            lambda: model.log_likelihood(corpus, threads=threads),
            lambda: model.rank_risk(corpus, threads=threads),
        )

    def evaluator(
        self, corpus: Corpus, workers: Workers, decode: str | None, stage: str | None = None
    ) -> Callable[[Floats], float]:
        """A function from weights [W] to the first score of `evaluate` on a corpus, with everything else done once."""
        first = self.spec.evaluate[0].name if self.spec.evaluate else ""
        if first == "log_likelihood":
            return self._likelihood_of(corpus, workers)
        if first == "rank_risk":
            rank = self._ranks_of(corpus, workers)
            return lambda weights: goodness(first, rank(weights).value)
        answers = self._engine.on(corpus)

        def score(weights: Floats) -> float:
            prediction = self._prediction(answers.best(weights, workers, decode, stage))
            found = self._scores(corpus, prediction, lambda: 0.0, lambda: RankRisk(0.0, 0))
            return float(goodness(*next(iter(found.items()))))

        return score

    def _scores(
        self,
        corpus: Corpus,
        prediction: Prediction,
        log_likelihood: Callable[[], float],
        rank_risk: Callable[[], RankRisk],
    ) -> dict[str, float | int]:
        off, codes = corpus.sentence_off, {label: own.copy() for label, own in prediction.codes.items()}
        for s in prediction.status.impossible:
            for own in codes.values():
                own[off[s] : off[s + 1]] = -1  # nothing was predicted, and nothing can be right
        return evaluate_predictions(
            self.spec,
            corpus,
            codes,
            self.states,
            known_values=self.known_values.__getitem__,
            log_likelihood=log_likelihood,
            rank_risk=rank_risk,
        )

    def _prediction(self, best: Labelled) -> Prediction:
        states = {label: self.states[label] for label in self.labels}
        return Prediction(dict(zip(self.labels, best.codes, strict=True)), states, best.status, best.scores)

    # looking inside -----------------------------------------------------------------------------------------------

    def show_weights(self) -> Iterator[tuple[str, str, tuple[str, ...], float]]:
        """(clique, feature, states of its sites, weight) of every weight; the bias's feature is called `bias`."""
        text = functools.cache(self._feature_text)
        for weight, clique, feature, assignment in self.parameters.walk():
            yield self._described(weight, clique, text(clique, feature), assignment)

    def strongest_weights(
        self, top: int, clique: str | None = None, feature: str | None = None
    ) -> list[tuple[str, str, tuple[str, ...], float]]:
        """The `top` weights of largest magnitude, as `show_weights` has them; ties in the model's order.

        clique: only cliques of this name, `*` and `?` match.   feature: only features whose text contains this.
        """
        text = functools.cache(self._feature_text)
        cliques, features, assignments = self.parameters.origins()
        names = [template.name for template in self.graph.templates[: len(self.parameters.cliques)]]
        wanted = np.array([clique is None or clique == name or fnmatchcase(name, clique) for name in names], bool)
        chosen = np.flatnonzero(wanted[cliques]) if len(names) else np.zeros(0, np.int64)
        found: list[tuple[str, str, tuple[str, ...], float]] = []
        for weight in chosen[np.argsort(-np.abs(self.weights[chosen]), kind="stable")].tolist():
            if len(found) == top:
                break
            number = int(cliques[weight])
            described = text(number, int(features[weight]))
            if feature is None or feature in described:
                found.append(self._described(weight, number, described, int(assignments[weight])))
        return found

    def boosting_path(self) -> Iterator[tuple[BoostingRound, str, str, tuple[str, ...]]]:
        """Each round of boosting, and clique, feature and states of the weight that it moved; empty where all moved."""
        origins = self.parameters.origins()
        for done in self.record.path:
            if done.weight < 0:
                yield done, "", "", ()
                continue
            clique, feature, assignment = (int(part[done.weight]) for part in origins)
            yield done, *self._described(done.weight, clique, self._feature_text(clique, feature), assignment)[:3]

    def _feature_text(self, clique: int, feature: int) -> str:
        return "bias" if feature < 0 else self.extractor.describe(self.graph.templates[clique].feature_set, feature)

    def _described(
        self, weight: int, clique: int, text: str, assignment: int
    ) -> tuple[str, str, tuple[str, ...], float]:
        template = self.graph.templates[clique]
        states = assignment_states(template, assignment, list(self.states.values()))
        return template.name, text, states, float(self.weights[weight])

    # files --------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Writes the model file, whole or not at all. Raises DcrfError where it cannot be written."""
        arrays: dict[str, NDArray[Any]] = {"weights": self.weights}
        arrays.update(self.parameters.arrays())
        arrays.update({f"features.{name}": array for name, array in self.extractor.arrays().items()})
        for column, values in self.known_values.items():
            arrays[f"known.{column}.bytes"], arrays[f"known.{column}.off"] = pack_strings(sorted(values))
        header = {
            "template": to_text(self.spec),
            "spec": self.spec.model_dump(mode="json"),
            "states": {label: list(states) for label, states in self.states.items()},
            "features": self.extractor.metadata(),
            "known": list(self.known_values),
            "record": asdict(self.record),
        }
        write_model(path, arrays, header)

    @classmethod
    def load(cls, path: str | Path, *, registered: Mapping[str, RegisteredFeature] | None = None) -> TrainedModel:
        """Reads a model file. `registered`: the user's feature functions that it was trained with, by name.

        Raises DcrfError if the file is no undamaged model, or needs functions that are not given.
        """
        header, arrays = read_model(path)

        def part(prefix: str) -> dict[str, NDArray[Any]]:
            return {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}

        try:
            spec = ModelSpec.model_validate(header["spec"])
            states = {label: tuple(names) for label, names in header["states"].items()}
            extractor = FeatureExtractor.restore(spec, part("features."), header["features"], registered=registered)
            known = {
                column: frozenset(unpack_strings(arrays[f"known.{column}.bytes"], arrays[f"known.{column}.off"]))
                for column in header["known"]
            }
            graph = ModelGraph.of(spec, states, extractor.set_of_clique, extractor.bias_of_clique)
            parameters = Parameters.restore(arrays, len(spec.cliques))
            record = TrainingRecord.restore(header["record"])
            weights = arrays["weights"]
        except (KeyError, TypeError, ValueError) as error:
            raise data_error(
                "corrupt-model", f"`{path}` lacks a part of a model: {error}", file=str(path), help="train it again"
            ) from None
        return cls(spec, states, extractor, known, graph, parameters, weights, record)
