"""`CRF`: CRFsuite's linear chain as an estimator of scikit-learn, with the parameters of sklearn-crfsuite.

    crf = CRF(c1=0.1, c2=0.1)
    crf.fit(X, y).predict(X)

The constructor, `fit` and the attributes have the names that sklearn-crfsuite 0.5 gives them; what they mean is
CRFsuite's manual, https://www.chokkan.org/software/crfsuite/manual.html. Not here: training and tagging (`crfsuite`).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, fields
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray

from ..crfsuite import ItemSequence, Tagger, Trainer
from ..foundation import DcrfError, Diagnostic, dataclass
from .attribute_items import item_errors, read_items, with_texts
from .input_errors import InputError, input_errors, misfit, refuse_others
from .label_forms import object_array, read_labels
from .sentences import Sentences
from .sequence_estimator import SequenceEstimator, not_fitted, required

# What CRFsuite calls parameters of this estimator; the others have its names, `calibration.eta` with a dot.
_NAMES: Mapping[str, str] = {
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    "pa_type": "type",
}
_OWN = ("algorithm", "verbose", "model_filename", "keep_tempfiles", "trainer_cls")  # no parameters of CRFsuite
_LABELS = ("y",)


@dataclass(eq=False, repr=False)  # an estimator is its parameters: clone and set_params go by these fields
class CRF(SequenceEstimator):
    """A linear-chain CRF over dictionaries of features, with the parameters and attributes of sklearn-crfsuite's `CRF`.

    algorithm: `lbfgs` (the default), `l2sgd`, `ap`, `pa` or `arow`.
    min_freq: features of the training data that are rarer get no weight.
    all_possible_states: a weight for every pair of attribute and label, seen or not.
    all_possible_transitions: a weight for every pair of labels, seen or not.
    c1, c2: coefficients of the L1 and the L2 penalty (`lbfgs`; `c2` also `l2sgd`).
    max_iterations: of training, at most.
    num_memories, epsilon, period, delta, linesearch, max_linesearch: of `lbfgs`; `epsilon` ends `ap`, `pa` and `arow`
        as well, `period` and `delta` end `l2sgd`.
    calibration_eta, calibration_rate, calibration_samples, calibration_candidates, calibration_max_trials: of the
        learning rate of `l2sgd`.
    pa_type, c, error_sensitive, averaging: of `pa`.
    variance, gamma: of `arow`.
    verbose: whether training prints its log.
    model_filename: the CRFsuite model file that `fit` writes; without `fit`, the model that predicts.
    keep_tempfiles: of no effect: no file is left behind.
    trainer_cls: a class in place of `dcrfdsl.crfsuite.Trainer`.

    None, the default of most, is CRFsuite's own default. X is a list or a generator of sequences of items; an item is a
    dict, nested or not, or a list of attributes, as for python-crfsuite. Or it is a data frame with a row an item, a
    column `sentence`, and columns of features, whose empty cells are no features. y is a list of lists of labels.

    training_log_: the log of training, as `Trainer.logparser`.
    model_: the content of the CRFsuite model file, bytes.

    >>> from dcrfdsl.sklearn import CRF
    >>> X = [[{"word": "Mill", "length": 4}, {"word": "Lane"}], [["word:Bath", "last"]]]
    >>> crf = CRF(c1=0.0, c2=0.1).fit(X, [["B-STREET", "I-STREET"], ["B-TOWN"]])
    >>> crf.predict(X).tolist(), crf.classes_
    ([['B-STREET', 'I-STREET'], ['B-TOWN']], ['B-STREET', 'I-STREET', 'B-TOWN'])
    """

    algorithm: str | None = None
    min_freq: float | None = None
    all_possible_states: bool | None = None
    all_possible_transitions: bool | None = None
    c1: float | None = None
    c2: float | None = None
    max_iterations: int | None = None
    num_memories: int | None = None
    epsilon: float | None = None
    period: int | None = None
    delta: float | None = None
    linesearch: str | None = None
    max_linesearch: int | None = None
    calibration_eta: float | None = None
    calibration_rate: float | None = None
    calibration_samples: int | None = None
    calibration_candidates: int | None = None
    calibration_max_trials: int | None = None
    pa_type: int | None = None
    c: float | None = None
    error_sensitive: bool | None = None
    averaging: bool | None = None
    variance: float | None = None
    gamma: float | None = None
    verbose: bool = False
    model_filename: str | os.PathLike[str] | None = None
    keep_tempfiles: bool = False
    trainer_cls: type[Trainer] | None = None

    model_: bytes = field(init=False)
    training_log_: Any = field(init=False)
    _tagger: Tagger | None = field(default=None, init=False)
    _opened_file: Any = field(default=None, init=False)  # the `model_filename` that `_tagger` is of

    def fit(self, X: Any, y: Any = None, X_dev: Any = None, y_dev: Any = None, **others: Any) -> Self:
        """Trains a model, in place of one that was trained before. Returns the estimator.

        X: sequences of items.
        y: their labels.
        X_dev, y_dev: held-out sequences, on which the log has scores after each iteration.
        others: there are none: `sample_weight` is a TypeError that says why.

        Raises InputError with the sequence and the item that do not fit.
        """
        refuse_others("fit", others)
        required(X, y, ("X", "y"))
        required(X_dev, y_dev, ("X_dev", "y_dev"))
        parameters = {
            _NAMES.get(one.name, one.name.replace("calibration_", "calibration.")): value
            for one in fields(self)
            if one.init and one.name not in _OWN and (value := getattr(self, one.name)) is not None
        }
        with input_errors(), _trainer_errors():
            make = self.trainer_cls or Trainer
            trainer = make(algorithm=self.algorithm or "lbfgs", params=parameters, verbose=bool(self.verbose))
            _append(trainer, X, y, 0, "", required=True)
            if X_dev is not None:
                _append(trainer, X_dev, y_dev, 1, "_dev")
            holdout = -1 if X_dev is None else 1
            with tempfile.TemporaryDirectory(prefix="dcrfdsl-") as folder:
                named = self.model_filename
                path = os.path.join(folder, "model.crfsuite") if named is None else os.fspath(named)
                trainer.train(path, holdout=holdout)
                content = Path(path).read_bytes()
        self.model_, self.training_log_, self._tagger = content, trainer.logparser, _opened(content)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The labels of each sequence: an array [S] of lists of labels; with a data frame an array [rows].

        X: sequences of items.
        """
        tagger = self.tagger_
        items, sentences = read_items(X, "X")
        labels = _tagged(tagger, items, sentences)
        return object_array([label for own in labels for label in own] if sentences.rows else labels)

    def predict_single(self, xseq: Any) -> list[str]:
        """The labels of one sequence.

        xseq: its items.
        """
        return list(self.predict([xseq])[0])

    def predict_marginals(self, X: Any) -> NDArray[Any]:
        """The probabilities of all labels of each item: an array [S] of lists of dicts `{label: probability}`.

        X: sequences of items. With a data frame, an array [rows] of dicts.
        """
        tagger = self.tagger_
        items, sentences = read_items(X, "X")
        found = [_marginals(tagger, sequence, sentences, n) for n, sequence in enumerate(items)]
        return object_array([item for own in found for item in own] if sentences.rows else found)

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """The probabilities of all labels of each item of one sequence, as a list of dicts.

        xseq: its items.
        """
        return list(self.predict_marginals([xseq])[0])

    def score(self, X: Any, y: Any = None, **others: Any) -> float:
        """The share of items with the right label.

        X: sequences of items.
        y: their labels.
        others: there are none.
        """
        refuse_others("score", others)
        required(X, y, ("X", "y"))
        tagger = self.tagger_
        items, sentences = read_items(X, "X")
        gold = [label for own in read_labels(y, sentences, _LABELS).sentences for label in own["y"]]
        found = [label for own in _tagged(tagger, items, sentences) for label in own]
        right = [label == other for label, other in zip(gold, found, strict=True)]
        return sum(map(bool, right)) / max(1, len(right))

    @property
    def tagger_(self) -> Tagger:
        """The model as a `dcrfdsl.crfsuite.Tagger`. NotFittedError if there is none."""
        file = None if "model_" in vars(self) else self.model_filename
        if self._tagger is None or self._opened_file != file:
            with input_errors():
                self._tagger, self._opened_file = _opened(self._content()), file
        return self._tagger

    def _content(self) -> bytes:
        if "model_" in vars(self):
            return self.model_
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        return Path(os.fspath(self.model_filename or "")).read_bytes()

    @property
    def classes_(self) -> list[str]:
        """The labels of the model, by number."""
        return list(self.tagger_.labels())

    @property
    def size_(self) -> int:
        """The size of the model file in bytes."""
        return int(self.tagger_.info().header["size"])

    @property
    def num_attributes_(self) -> int:
        """The number of attributes that have a weight."""
        return int(self.tagger_.info().header["num_attrs"])

    @property
    def attributes_(self) -> list[str]:
        """The attributes that have a weight, by number."""
        numbered = self.tagger_.info().attributes
        return sorted(numbered, key=lambda name: int(numbered[name]))

    @property
    def state_features_(self) -> dict[tuple[str, str], float]:
        """The weights of attributes, `{(attribute, label): weight}`."""
        return dict(self.tagger_.info().state_features)

    @property
    def transition_features_(self) -> dict[tuple[str, str], float]:
        """The weights of moves, `{(label, next label): weight}`."""
        return dict(self.tagger_.info().transitions)

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self) or (self.model_filename is not None and os.path.isfile(self.model_filename))

    def __getstate__(self) -> dict[str, Any]:
        """Without the opened model, which is opened again from its content."""
        return {name: value for name, value in super().__getstate__().items() if name != "_tagger"}


def _append(trainer: Trainer, X: Any, y: Any, group: int, suffix: str, *, required: bool = False) -> None:
    """Adds the sequences of a group to the trainer. required: whether there must be an item among them."""
    items, sentences = read_items(X, f"X{suffix}")
    if required and not sentences.lengths.any():
        raise misfit("there is no sequence with an item to train on", f"X{suffix}", slug="empty-file")
    gold = with_texts(read_labels(y, sentences, _LABELS, f"y{suffix}"), sentences)
    for sequence, labels in zip(items, gold, strict=True):
        trainer.append(sequence, labels, group)


@contextmanager
def _trainer_errors() -> Iterator[None]:
    """Turns what the trainer refuses, by a ValueError as pycrfsuite does, into an InputError."""
    try:
        yield
    except DcrfError:
        raise
    except ValueError as error:
        raise InputError(Diagnostic("bad-setting", str(error))) from None


def _opened(content: bytes) -> Tagger:
    tagger = Tagger()
    tagger.open_inmemory(content)
    return tagger


def _tagged(tagger: Tagger, items: Sequence[ItemSequence], sentences: Sentences) -> list[list[str]]:
    found = []
    for n, sequence in enumerate(items):
        with item_errors(sentences, n):
            found.append(tagger.tag(sequence))
    return found


def _marginals(tagger: Tagger, sequence: ItemSequence, sentences: Sentences, n: int) -> list[dict[str, float]]:
    with item_errors(sentences, n):
        tagger.set(sequence)
    labels = tagger.labels()
    return [{label: tagger.marginal(label, n) for label in labels} for n in range(len(sequence))]
