"""A training of CRFsuite's kind, from sequences to a model: features, objective, the algorithm, its messages.

The objective of `lbfgs`, which the engine of this package computes, is

    f(λ) = −Σ_i log p(y_i | x_i) + c2 ‖λ‖²

The model is a linear chain whose weights are CRFsuite's features: its template has two cliques, the states of the
labels are numbers, and its features are the attributes as they come. Not here: parameters (`trainer_parameters`), the
features (`training_data`), the penalty c1 ‖λ‖₁ (`quasi_newton`), files (`model_file`).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from ..criteria import ChainData, ChainWeights, chain_likelihood
from ..foundation import Codes, DcrfWarning, Floats
from ..kernels.chain import decode_scores, moves_of
from ..kernels.extraction import row_products
from ..kernels.optimization import dot
from . import trainer_log as say
from .model_file import CrfsuiteModel
from .online_training import Descent, chain_of, mistake_passes
from .quasi_newton import NO_FEATURES, QuasiNewtonStep, Rules, minimise_as_crfsuite
from .trainer_parameters import Value
from .training_data import Features, Sequences, TrainingData, features_of, label_texts


def objective_of(data: Sequences, features: Features, c2: float) -> Callable[[Floats], tuple[float, Floats]]:
    """f(λ), a function of the weights of all transitions, then of all state features: value and gradient."""
    chain = ChainData(data.labels, data.sequence_off, data.item_off, data.attributes, data.values)
    counts = np.concatenate([features.move_counts, features.state_counts])
    weights = ChainWeights(features.num_labels, features.moves, features.state_off, features.state_labels, counts)
    likelihood = chain_likelihood(chain, weights)

    def evaluate(weights: Floats) -> tuple[float, Floats]:
        value, gradient = likelihood.value_and_gradient(weights)
        if c2:
            value += c2 * float(dot(weights, weights))
            gradient += 2.0 * c2 * weights
        return value, gradient

    return evaluate


def decoder_of(data: Sequences, features: Features) -> Callable[[Floats], Codes]:
    """A function from weights to the best label of each item, [N]."""
    num_labels, num_moves = features.num_labels, len(features.moves)
    items = data.item_off, data.attributes, data.values

    def decode(weights: Floats) -> Codes:
        between = np.zeros((num_labels, num_labels))
        between.ravel()[features.moves] = weights[:num_moves]
        moves, labels = moves_of(between), np.empty(len(data.labels), np.int32)
        states = features.state_off, features.state_labels, weights[num_moves:]
        decode_scores(data.sequence_off, moves, row_products(*items, *states, moves.width).reshape(-1), labels)
        return labels

    return decode


# the training ---------------------------------------------------------------------------------------------------------


MOST_NAMED = 5  # attributes in a warning
_DROPPED = (  # by CRFsuite without a word
    "values that sum below zero with a label, which CRFsuite takes for rarer than never, so that there is no weight "
    "for the two; set `feature.minfreq` (`min_freq` of `CRF`) to -1e9, or shift the values above zero"
)

_Result: TypeAlias = tuple[Floats, tuple[str, ...]]  # weights, and the messages that say why training ended


class Training:
    """One training. `send` receives its messages.

    holdout: the group of sequences to be measured on; all others are trained on. Below 0: all are trained on.
    """

    def __init__(
        self,
        data: TrainingData,
        algorithm: str,
        parameters: Mapping[str, Value],
        holdout: int,
        send: Callable[[str], None],
    ):
        self._labels, self._attributes = data.labels, data.attributes
        self._algorithm, self._parameters, self._send = algorithm, dict(parameters), send
        self._begun = time.perf_counter()
        has_holdout = holdout >= 0
        if has_holdout:
            self._say([f"Holdout group: {holdout + 1}\n", "\n"])
        self._say(say.feature_generation(parameters))
        self._sequences = data.sequences(but=holdout) if has_holdout else data.sequences()
        if not len(self._sequences.labels):
            raise ValueError("There is no item to train on: every sequence is empty, or belongs to the holdout group.")
        self._features = features_of(
            self._sequences,
            len(self._labels),
            len(self._attributes),
            minfreq=float(parameters["feature.minfreq"]),
            states=bool(parameters["feature.possible_states"]),
            transitions=bool(parameters["feature.possible_transitions"]),
        )
        if len(self._features.negative):
            names = label_texts([self._attributes[number] for number in self._features.negative[:MOST_NAMED].tolist()])
            more = len(self._features.negative) - len(names)
            some = ", ".join(f"`{name}`" for name in names) + (f" and {more:,} more" if more else "")
            warnings.warn(f"{some}: {_DROPPED}", DcrfWarning, stacklevel=3)
        self._held = data.sequences(group=holdout) if has_holdout else None
        self._decode = decoder_of(self._held, self._features) if self._held is not None else None
        self._say(say.feature_count(len(self._features), self._seconds()))

    def _say(self, messages: Iterable[str]) -> None:
        for message in messages:
            self._send(message)

    def _seconds(self) -> float:
        """Since the last call."""
        now = time.perf_counter()
        self._begun, passed = now, now - self._begun
        return passed

    def run(self) -> Floats:
        """The weights of the transitions, then of the state features."""
        self._say(say.settings(self._algorithm, self._parameters))
        begun = time.perf_counter()
        weights, ending = _ALGORITHMS[self._algorithm](self)
        self._say(ending)
        self._say([f"Total seconds required for training: {time.perf_counter() - begun:.3f}\n", "\n"])
        return weights

    def _report(self, head: str, values: Mapping[str, float | int], weights: Floats) -> None:
        """Says what an iteration gave, and measures on the holdout data."""
        self._say(say.iteration(head, values, self._seconds()))
        if self._held is not None and self._decode is not None:
            found = self._decode(weights)
            self._say(say.evaluation(label_texts(self._labels), self._held.labels, found, self._held.sequence_off))
        self._send("\n")

    # algorithms -----------------------------------------------------------------------------------------------------

    def _lbfgs(self) -> _Result:
        if not len(self._features):
            return np.zeros(0), say.ending_of(NO_FEATURES)
        given: dict[str, Any] = self._parameters
        rules = Rules(**{name: given[name] for name in Rules.__dataclass_fields__})
        objective = objective_of(self._sequences, self._features, given["c2"])

        def watch(step: QuasiNewtonStep) -> None:
            values = {
                "Loss": step.objective,
                "Feature norm": step.weight_norm,
                "Error norm": step.gradient_norm,
                "Active features": int(np.count_nonzero(step.weights)),
                "Line search trials": step.trials,
                "Line search step": step.step,
            }
            self._report(f"Iteration #{step.number}", values, step.weights)

        weights, why = minimise_as_crfsuite(objective, len(self._features), rules, watch)
        return weights, say.ending_of(why)

    def _by_mistakes(self) -> _Result:
        weights, ending = np.zeros(len(self._features)), tuple[str, ...]()
        chain = chain_of(self._sequences, self._features)
        for step in mistake_passes(self._algorithm, chain, len(self._features), self._parameters):
            weights = step.weights
            values = {"Loss": step.loss, "Feature norm": step.norm}
            self._report(f"Iteration #{step.number}", values, weights)
            ending = say.BELOW_EPSILON if step.is_last else ()
        return weights, ending

    def _by_gradients(self) -> _Result:
        if not float(self._parameters["c2"]) > 0.0:
            raise ValueError("`l2sgd` takes its steps by the penalty: `c2` must be above 0")
        descent = Descent(chain_of(self._sequences, self._features), len(self._features), self._parameters)
        self._say(say.calibration(self._parameters, descent.samples, descent.first_loss))
        for trial in descent.calibrated():
            self._say(say.trial(*trial))
        self._say(say.calibrated(descent.rate, self._seconds()))
        is_last = False
        for step, rate, fall in descent.passes():
            is_last = step.is_last
            values = {
                "Loss": step.loss,
                **({} if fall is None else {"Improvement ratio": fall}),
                "Feature L2-norm": step.norm,
                "Learning rate (eta)": rate,
                "Total number of feature updates": step.number * descent.num_sequences,
            }
            self._report(f"Epoch #{step.number}", values, step.weights)
        loss, weights = descent.best
        return weights, say.descent_ending(is_last, loss)

    # the model ------------------------------------------------------------------------------------------------------

    def store(self, weights: Floats, write: Callable[[CrfsuiteModel], None]) -> None:
        """Writes the model by `write`: the features with weights other than 0, and their attributes."""
        self._seconds()
        features, num_moves = self._features, len(self._features.moves)
        of_moves, of_states = weights[:num_moves], weights[num_moves:]
        moves, states = of_moves != 0.0, of_states != 0.0
        source, target = np.divmod(features.moves[moves], max(1, features.num_labels))
        used, attribute = np.unique(features.state_attributes[states], return_inverse=True)
        model = CrfsuiteModel(
            self._labels,
            [self._attributes[number] for number in used.tolist()],
            attribute.astype(np.int32),
            features.state_labels[states],
            of_states[states],
            source.astype(np.int32),
            target.astype(np.int32),
            of_moves[moves],
        )
        active = int(moves.sum() + states.sum())
        num_labels = len(self._labels)
        self._say(say.stored((active, len(features)), (len(used), len(self._attributes)), (num_labels, num_labels)))
        write(model)
        self._say(say.seconds_required(self._seconds()))


_ALGORITHMS: Mapping[str, Callable[[Training], _Result]] = {
    "lbfgs": Training._lbfgs,
    "l2sgd": Training._by_gradients,
    **dict.fromkeys(("averaged-perceptron", "passive-aggressive", "arow"), Training._by_mistakes),
}
