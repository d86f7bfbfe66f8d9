"""A trained model: tags, scores, explains itself, and goes to a file and back.

The file holds everything that tagging needs (canonical template, states, alphabets, lexicons, weights) and the record
of the training. Not here: training (`training`), the container (`model_file`), measures (`metrics`).
"""

from __future__ import annotations

import functools
import hashlib
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .data.corpus import Corpus, InternedColumn
from .data.labels import encode_labels
from .errors import data_error
from .features.extract import FeatureExtractor
from .features.registered import RegisteredFeature
from .features.strings import pack_strings, unpack_strings
from .graph import ModelGraph, Parameters, assignment_states, clique_templates
from .inference import METHODS, Binder, BoundData, Expectations, RunStatus, SequenceMethod, Workers, choose_method
from .inference.cliques import CliqueMarginal, clique_marginals
from .inference.decoding import NBest, Samples, best_labellings, check_samples_fit, draw_samples, parts_by_width
from .kernels.sequences import score_labellings
from .metrics import evaluate_predictions
from .model_file import read_model, write_model
from .optimizers import Outcome
from .spec.model import ModelSpec
from .spec.settings import TrainSettings
from .spec.unparse import to_text
from .spec.values import decoding, inference_settings

__all__ = ["Prediction", "TrainedModel", "TrainingRecord"]

Floats = NDArray[np.float64]
PREDICTION_RUNS = 16
PACKAGES = ("numpy", "numba", "scipy", "lark", "pydantic", "networkx")


@dataclass(frozen=True)
class TrainingRecord:
    """How the weights came about. `before` are the records of earlier stages."""

    stage: str = ""
    objective: float = float("nan")
    iterations: int = 0
    evaluations: int = 0
    converged: bool = False
    reason: str = ""
    seconds: float = 0.0
    inference: str = ""
    sentences: int = 0
    tokens: int = 0
    data_sha256: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    before: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def of(
        cls,
        stage: str,
        settings: TrainSettings,
        outcome: Outcome,
        corpus: Corpus,
        inference: str,
        notes: Any,
        earlier: TrainingRecord,
    ) -> TrainingRecord:
        """The record of a stage that has just run."""
        before = (*earlier.before, {k: v for k, v in asdict(earlier).items() if k != "before"}) if earlier.stage else ()
        return cls(
            stage,
            outcome.objective,
            outcome.iterations,
            outcome.evaluations,
            outcome.converged,
            outcome.reason,
            outcome.seconds,
            inference,
            corpus.num_sentences,
            corpus.num_tokens,
            _corpus_hash(corpus),
            _settings_record(settings),
            tuple(notes),
            {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
            before,
        )


def _settings_record(settings: TrainSettings) -> dict[str, Any]:
    methods = {"criterion": settings.criterion, "prior": settings.prior, "optimizer": settings.optimizer}
    return {
        **{key: {"method": value.method, **value.model_dump()} for key, value in methods.items()},
        "seed": settings.seed,
        "restarts": settings.restarts,
    }


def _corpus_hash(corpus: Corpus) -> str:
    """SHA-256 over the interned columns and sentence offsets: equal for equal content, whatever the file's name."""
    digest = hashlib.sha256(corpus.sentence_off.tobytes())
    for name, column in sorted(corpus.columns.items()):
        digest.update(name.encode())
        if isinstance(column, InternedColumn):
            digest.update("\0".join(column.values).encode())
            digest.update(column.codes.tobytes())
        else:
            digest.update(column.values.tobytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class Prediction:
    """Labels of a corpus. `codes[label]` [N] int32 are indices into `states[label]`."""

    codes: Mapping[str, NDArray[np.int32]]
    states: Mapping[str, tuple[str, ...]]
    status: RunStatus

    def texts(self, label: str) -> list[str]:
        """The label's states as texts, one a token."""
        names = self.states[label]
        return [names[code] for code in self.codes[label].tolist()]


class TrainedModel:
    """A model with its weights. Immutable but for caches; safe to use from several threads one call at a time.

    states: of each label, in order.   known_values: training values of the columns that an OOV metric names.
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
        self._binders: dict[bool, Binder] = {}

    @property
    def num_weights(self) -> int:
        return self.parameters.num_weights

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.states)

    def with_weights(self, weights: Floats, record: TrainingRecord) -> TrainedModel:
        """The same model with other weights [W]."""
        return TrainedModel(
            self.spec, self.states, self.extractor, self.known_values, self.graph, self.parameters, weights, record
        )

    # tagging ------------------------------------------------------------------------------------------------------

    def predict(self, corpus: Corpus, *, threads: int | None = None, decode: str | None = None) -> Prediction:
        """Labels every token. `decode`: `joint` or `marginal`, by default what the template says."""
        return self._predict(self.bound(corpus), self.weights, Workers(threads), decode)

    def marginals(self, corpus: Corpus, *, threads: int | None = None) -> tuple[dict[str, Floats], RunStatus]:
        """p(y_t = state | x) of every label, [N, states], and how inference ended."""
        data, method = self.bound(corpus)
        out = self._expectations(data, method, self.weights, Workers(threads), marginals=True)
        return dict(zip(self.states, self._by_label(out.marginals), strict=True)), out.summary()

    def clique_marginals(self, corpus: Corpus) -> Iterator[tuple[tuple[CliqueMarginal, ...], RunStatus]]:
        """Of each sentence: p(y_c | x) for every clique at every place where it lies, and how inference ended."""
        _, settings = choose_method(self.graph, inference_settings(self.spec))
        data = self._bind(corpus, False)
        return clique_marginals(data, data.potentials(self.weights), settings)

    def nbest(self, corpus: Corpus, count: int, *, threads: int | None = None) -> NBest:
        """The `count` best labellings of each sentence: exact, with probabilities, wherever exact inference fits."""
        settings = inference_settings(self.spec)
        parts = parts_by_width(functools.partial(self._bind, corpus), self.graph, settings)
        return best_labellings(parts, self.weights, settings, count, Workers(threads))

    def sample(self, corpus: Corpus, count: int, *, seed: int = 0, threads: int | None = None) -> Samples:
        """`count` labellings of each sentence drawn from p(y | x). DcrfError where exact inference does not fit."""
        check_samples_fit(self.graph, inference_settings(self.spec))
        data = self._bind(corpus, True)
        return draw_samples(data, data.potentials(self.weights), count, seed, Workers(threads))

    def log_likelihood(self, corpus: Corpus, *, threads: int | None = None) -> float:
        """Σ log p(y | x) in nats over sentences whose gold labels are all known; Bethe's approximation on loops."""
        data, method = self.bound(corpus)
        workers = Workers(threads)
        gold = encode_labels(self.spec, self.states, corpus).codes
        labelling = np.ascontiguousarray(gold.T).ravel()
        score = np.empty(data.num_sequences)
        potentials = data.potentials(self.weights)

        def run(first: int, last: int) -> None:
            score_labellings(
                first, last, data.shapes, data.kinds, data.bindings, data.rows, potentials.weights, potentials.log_base,
                labelling, data.labelling_off, score,
            )  # fmt: skip

        workers.map(run, data.chunks(PREDICTION_RUNS))
        log_z = self._expectations(data, method, self.weights, workers, marginals=False).log_z
        known = ~np.isnan(score)
        return float((score[known] - log_z[known]).sum())

    def evaluate(
        self, corpus: Corpus, *, threads: int | None = None, weights: Floats | None = None, decode: str | None = None
    ) -> dict[str, float | int]:
        """Scores the model on gold data: the template's `evaluate` metrics and counts, by name, rates in 0–1."""
        workers = Workers(threads)
        prediction = self._predict(self.bound(corpus), self.weights if weights is None else weights, workers, decode)
        return evaluate_predictions(
            self.spec,
            corpus,
            prediction.codes,
            self.states,
            known_values=self.known_values.__getitem__,
            log_likelihood=lambda: self.log_likelihood(corpus, threads=threads),
        )

    def evaluator(self, corpus: Corpus, workers: Workers, decode: str | None) -> Callable[[Floats], float]:
        """A function from weights [W] to the first score of `evaluate` on a corpus, with everything else done once."""
        bound = self.bound(corpus)

        def score(weights: Floats) -> float:
            prediction = self._predict(bound, weights, workers, decode)
            found = evaluate_predictions(
                self.spec,
                corpus,
                prediction.codes,
                self.states,
                known_values=self.known_values.__getitem__,
                log_likelihood=lambda: 0.0,
            )
            return float(next(iter(found.values())))

        return score

    def bound(self, corpus: Corpus) -> tuple[BoundData, SequenceMethod]:
        """The corpus as kernels see it, with the inference method that the template asks for."""
        name, settings = choose_method(self.graph, inference_settings(self.spec))
        data = self._bind(corpus, METHODS[name].programs)
        return data, METHODS[name].build(data, settings)

    def _bind(self, corpus: Corpus, programs: bool) -> BoundData:
        binder = self._binders.pop(programs, None) or Binder(self.graph, self.parameters, programs=programs)
        data = binder.bind(self.extractor.extract(corpus), corpus.sentence_off, self.extractor.relations(corpus))
        self._binders[programs] = binder  # one that raised is not kept: it may hold half a graph
        return data

    def _predict(
        self, bound: tuple[BoundData, SequenceMethod], weights: Floats, workers: Workers, decode: str | None
    ) -> Prediction:
        data, method = bound
        if (decode or decoding(self.spec)) == "marginal":
            out = self._expectations(data, method, weights, workers, marginals=True)
            likeliest = [own.argmax(axis=1).astype(np.int32) for own in self._by_label(out.marginals)]
            return Prediction(dict(zip(self.states, likeliest, strict=True)), self.states, out.summary())
        out = Expectations.empty(data, approximate=method.approximate)
        labelling = np.empty(int(data.labelling_off[-1]), np.int32)
        potentials = data.potentials(weights)

        def run(first: int, last: int) -> None:
            method.decode(potentials, first, last, out, labelling)

        workers.map(run, data.chunks(PREDICTION_RUNS))
        # a sentence that no labelling satisfies gets the first state everywhere; the status lists it
        table = np.maximum(labelling, 0).reshape(-1, max(1, len(self.states)))
        codes = {label: np.ascontiguousarray(table[:, m]) for m, label in enumerate(self.states)}
        return Prediction(codes, self.states, out.summary())

    def _expectations(
        self, data: BoundData, method: SequenceMethod, weights: Floats, workers: Workers, *, marginals: bool
    ) -> Expectations:
        out = Expectations.empty(data, marginals=marginals, approximate=method.approximate)
        potentials = data.potentials(weights)
        nothing = np.zeros(0)

        def run(first: int, last: int) -> None:
            method.expectations(potentials, first, last, out, nothing, np.zeros(len(data.hard)))

        workers.map(run, data.chunks(PREDICTION_RUNS))
        return out

    def _by_label(self, flat: Floats) -> list[Floats]:
        """Flat marginals as one array [N, states] a label; a label in no clique is uniform."""
        cards = self.graph.cards
        table = flat.reshape(-1, sum(cards))
        ends = np.cumsum(cards)
        out = []
        for end, card in zip(ends, cards, strict=True):
            own = table[:, end - card : end]
            empty = ~own.any(axis=1, keepdims=True)
            out.append(np.where(empty, 1.0 / card, own))
        return out

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
        wanted = np.array([clique is None or fnmatchcase(name, clique) for name in names], bool)
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
            templates = clique_templates(spec, states, extractor.set_of_clique, extractor.bias_of_clique)
            graph = ModelGraph(tuple(states), tuple(len(s) for s in states.values()), templates)
            parameters = Parameters.restore(arrays, len(spec.cliques))
            stored = header["record"]
            record = TrainingRecord(**{**stored, "notes": tuple(stored["notes"]), "before": tuple(stored["before"])})
            weights = arrays["weights"]
        except (KeyError, TypeError, ValueError) as error:
            raise data_error(
                "corrupt-model", f"`{path}` lacks a part of a model: {error}", file=str(path), help="train it again"
            ) from None
        return cls(spec, states, extractor, known, graph, parameters, weights, record)
