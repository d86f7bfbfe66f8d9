"""`SequenceTagger`: any template as an estimator of scikit-learn.

    tagger = SequenceTagger("place.dcrf", variance=1)
    cross_val_score(tagger, X, y)

Not here: training (`training`), what a model predicts (`model`), the forms of X and y (`sentences`, `label_forms`).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..data import Corpus, read_corpus
from ..foundation import DcrfError, DcrfWarning, require_whole
from ..model import TrainedModel
from ..semantics import ModelSpec, Resolved, load_template, load_text, to_text, tuned_ranges
from ..syntax import DataSpec, Number, value_text
from ..template import as_setting_value
from ..training import AnyTemplate, Registered, as_resolved, fit, grid_values
from .input_errors import input_errors, misfit, refuse_others
from .label_forms import BY_LABEL, FORMS, object_array, read_labels, usual_form, written
from .sentences import Sentences, as_read, listed, read_sentences, with_labels
from .sequence_estimator import SequenceEstimator, required, threads_of


class SequenceTagger(SequenceEstimator):
    """A template as an estimator of scikit-learn: `fit`, `predict`, `score`; `clone`, `GridSearchCV`, pickling.

    template: its path, its text (several lines), a `Template`, a `ModelSpec` or what `load_template` gives.
    stage: the training stage to run with its `after` chain; by default the last one.
    threads: to compute with; by default `DCRFDSL_THREADS`, else all cores, and one within a job of joblib.
    registered: the feature functions of yours that the template calls, by name: `{f.name: f}`.
    sentence: the column of a data frame that tells its sentences apart.
    settings: changes of the template as `--set` makes them: constants by their names, other paths with `__` for the
        dot: `variance=1`, `train__prior="laplace(scale = 2)"`, `infer="trp"`. They are parameters like the others,
        so `GridSearchCV(tagger, {"variance": [0.1, 1, 10]})` searches them.

    X is a list or a generator of sentences, a data frame with a row a token, or a `Corpus`. A sentence is a list of
    tokens or a dict of lists; a token is a text, a tuple or list of values in the order of the template's data columns
    (those of labels left out), or a dict by column. y is a list of lists of labels; for several labels a list of lists
    of tuples or dicts, a list of dicts of lists, or a dict from label to a list of lists. With a data frame y has a
    label a row. Without y, X holds the labels. `predict` answers in the form of the y that it was trained on.

    model_: the `TrainedModel`, after `fit`.
    labels_: the names of its labels.
    classes_: an array of its states; a list of arrays, one a label, if there are several labels.

    What X, y or the template have wrong is an `InputError`, which is a ValueError and a `DcrfError`.

    >>> from dcrfdsl.sklearn import SequenceTagger
    >>> X, y = [["Mill", "Lane", ",", "Bath"]], [["B-STREET", "I-STREET", "O", "B-TOWN"]]
    >>> tagger = SequenceTagger("address.dcrf", train__prior="gaussian(variance = 1)").fit(X, y)
    >>> tagger.predict([["Mill", "Lane"], ["Bath"]]).tolist()
    [['B-STREET', 'I-STREET'], ['B-TOWN']]
    """

    model_: TrainedModel
    labels_: tuple[str, ...]
    classes_: NDArray[Any] | list[NDArray[Any]]
    _settings: Mapping[str, Any] = MappingProxyType({})
    _form: str

    def __init__(
        self,
        template: AnyTemplate,
        *,
        stage: str | None = None,
        threads: int | None = None,
        registered: Registered | None = None,
        sentence: str = "sentence",
        **settings: Any,
    ):
        self.template = template
        self.stage = stage
        self.threads = threads
        self.registered = registered
        self.sentence = sentence
        if settings:
            self._settings = settings

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, settings included.

        deep: is of no effect.
        """
        return {name: getattr(self, name) for name in self._get_param_names()} | dict(self._settings)

    def set_params(self, **params: Any) -> Self:
        """Sets parameters. A name that is none of the others is a setting, which `fit` checks.

        params: by name.
        """
        own = self._get_param_names()
        for name in [name for name in params if name in own]:
            setattr(self, name, params[name])
        settings = {name: value for name, value in params.items() if name not in own}
        if settings:
            self._settings = {**self._settings, **settings}
        return self

    def param_grid(self, points: int = 5) -> dict[str, list[Any]]:
        """The values of every constant that has a `tune` range in the template, for `GridSearchCV`.

        points: of an interval, its ends among them; a list of candidates is taken whole.

        Constants that are set as parameters are left out. Raises InputError where there is nothing to tune.

        >>> from dcrfdsl.sklearn import SequenceTagger
        >>> text = "data conll(word, y)\\nlabel y\\nclique y: word\\nlet v = 1 tune log(0.01, 100)"
        >>> SequenceTagger(text).param_grid(3)
        {'v': [0.01, 1.0, 100]}
        """
        require_whole(points, "points", least=2)
        with input_errors():
            resolved = resolved_with(self.template, self._settings, self.stage)
            ranges = tuned_ranges(resolved, stage=self.stage, registered=tuple(self.registered or ()))
        values = {name: grid_values(span, points) for name, span in ranges.items()}
        return {
            name: [value.value if isinstance(value, Number) else value_text(value) for value in own]
            for name, own in values.items()
        }

    def read(self, path: str | os.PathLike[str]) -> tuple[list[Any], list[Any] | None]:
        """A data file in the template's format as lists: X and y, y None if the file has no labels.

        path: of the file.

        A corpus cannot be cut into folds by scikit-learn, lists can. Sentences whose annotation somebody rejected are
        left out, which is a DcrfWarning. Raises InputError where the file cannot be read.

        >>> from dcrfdsl.sklearn import SequenceTagger
        >>> X, y = SequenceTagger("address.dcrf").read("address.txt")
        >>> X[0][:2], y[0][:2]
        (['12', 'Mill'], ['B-STREET', 'I-STREET'])
        """
        with input_errors():
            data, labels = _columns(resolved_with(self.template, self._settings, self.stage))
            corpus = read_corpus(os.fspath(path), data, optional=labels)
        for warning in corpus.warnings:
            warnings.warn(warning, DcrfWarning, stacklevel=2)
        X = listed(corpus, [column.name for column in data.columns if column.name not in labels])
        return X, listed(corpus, labels) if set(labels) <= set(corpus.columns) else None

    def fit(self, X: Any, y: Any = None, X_dev: Any = None, y_dev: Any = None, **others: Any) -> Self:
        """Trains a model, in place of one that was trained before. Returns the estimator.

        X: sentences.
        y: their labels; by default X holds them.
        X_dev, y_dev: held-out sentences, for templates with `patience` or whose probabilities are calibrated.
        others: there are none: `sample_weight` is a TypeError that says why.

        Raises InputError with the sentence and the token that do not fit, or with all problems of the template.
        """
        refuse_others("fit", others)
        with input_errors():
            resolved = resolved_with(self.template, self._settings, self.stage)
            data, labels = _columns(resolved)
            corpus, form = self._read(X, y, data, labels)
            dev = None
            if X_dev is not None or y_dev is not None:
                if y is not None:
                    required(X_dev, y_dev, ("X_dev", "y_dev"))
                dev, _ = self._read(X_dev, y_dev, data, labels, "_dev")
            model = fit(
                resolved, corpus, stage=self.stage, dev=dev, threads=threads_of(self.threads),
                registered=self.registered,
            )  # fmt: skip
        self.model_, self.labels_, self._form = model, model.labels, form
        states = [object_array(model.states[label]) for label in model.labels]
        self.classes_ = states[0] if len(states) == 1 else states
        return self

    def _read(self, X: Any, y: Any, data: DataSpec, labels: Sequence[str], suffix: str = "") -> tuple[Corpus, str]:
        """X with its labels, and the form of y."""
        sentences = read_sentences(X, data, labels, gold=y is None, sentence=self.sentence, name=f"X{suffix}")
        corpus = sentences.require()
        if y is None:
            return corpus, usual_form(labels)
        gold = read_labels(y, sentences, labels, f"y{suffix}")
        return with_labels(sentences, gold.sentences, data, gold.place), gold.form

    def predict(self, X: Any) -> Any:
        """The labels of each sentence, in the form of the y of `fit`: an array [S] of lists of labels.

        X: sentences; columns of labels may be there, and are not looked at.

        With a data frame an array [rows], or [rows, labels] for several labels. Several labels that were given as a
        dict are a dict of arrays. A sentence without a token has no labels. A sentence that no labelling fits is a
        DcrfWarning.
        """
        sentences = self._sentences(X)
        columns: dict[str, list[str]] = {label: [] for label in self.labels_}
        if sentences.corpus is not None:
            with input_errors():
                prediction = self.model_.predict(sentences.corpus, threads=threads_of(self.threads))
            _warn_of_contradiction(prediction.status.contradiction(sentences.place))
            columns = {label: prediction.texts(label) for label in self.labels_}
        return written(_by_sentence(columns, sentences), self._form, sentences)

    def predict_single(self, sentence: Any) -> Any:
        """The labels of one sentence, in the form of a sentence of y.

        sentence: a list of tokens or a dict of lists.
        """
        self._require_fitted()
        try:
            found = self.model_.tag(as_read(sentence, *_columns(Resolved(self.model_.spec))))
        except (DcrfError, TypeError):  # `predict` says what is wrong, and where
            every = self.predict([sentence])
            return {label: own[0] for label, own in every.items()} if isinstance(every, dict) else every[0]
        labels = found if isinstance(found, dict) else {self.labels_[0]: found}
        return labels if self._form == BY_LABEL else FORMS[self._form].join(labels)

    def predict_marginals(self, X: Any) -> NDArray[Any]:
        """The probabilities of all states of each token: an array [S] of lists of dicts `{state: probability}`.

        X: sentences.

        With a data frame an array [rows] of dicts. For several labels a token has a dict `{label: {state: …}}`.
        """
        sentences = self._sentences(X)
        tokens: list[Any] = []
        if sentences.corpus is not None:
            with input_errors():
                marginals, status = self.model_.marginals(sentences.corpus, threads=threads_of(self.threads))
            _warn_of_contradiction(status.contradiction(sentences.place))
            of_labels = [
                [dict(zip(self.model_.states[label], row, strict=True)) for row in marginals[label].tolist()]
                for label in self.labels_
            ]
            several = [dict(zip(self.labels_, token, strict=True)) for token in zip(*of_labels, strict=True)]
            tokens = of_labels[0] if len(of_labels) == 1 else several
        return object_array(tokens if sentences.rows else sentences.split(tokens))

    def predict_marginals_single(self, sentence: Any) -> Any:
        """The probabilities of all states of each token of one sentence, as a list of dicts.

        sentence: a list of tokens or a dict of lists.
        """
        return self.predict_marginals([sentence])[0]

    def annotate(self, X: Any) -> Any:
        """The spans of running texts, as `TrainedModel.annotate` gives them: a list of `Annotation`s for each text.

        X: texts, for a template whose data are `spans`; of a single text the spans alone.

        Raises InputError for other templates.

        >>> from dcrfdsl.sklearn import SequenceTagger
        >>> from pathlib import Path
        >>> text = Path("address.dcrf").read_text()
        >>> template = text.replace("conll(word, part)", "spans(word = token, part = spans)")
        >>> X, y = [["Mill", "Lane", ",", "Bath"]], [["B-STREET", "I-STREET", "O", "B-TOWN"]]
        >>> tagger = SequenceTagger(template).fit(X, y)
        >>> [[(one.type, one.text) for one in found] for found in tagger.annotate(["Mill Lane", "Bath"])]
        [[('STREET', 'Mill Lane')], [('TOWN', 'Bath')]]
        """
        self._require_fitted()
        with input_errors():
            return self.model_.annotate(X, threads=threads_of(self.threads))

    def evaluate(self, X: Any, y: Any = None) -> dict[str, float | int]:
        """The metrics of the template on gold data, by name, rates from 0 to 1.

        X: sentences.
        y: their labels; by default X holds them.

        As a scorer of several metrics: `cross_validate(tagger, X, y, scoring=SequenceTagger.evaluate)`.
        """
        self._require_fitted()
        with input_errors():
            return self.model_.evaluate(self._gold(X, y), threads=threads_of(self.threads))

    def score(self, X: Any, y: Any = None, **others: Any) -> float:
        """The first metric of the template's `evaluate`; 1 less the metric if it is a risk. More is better.

        X: sentences.
        y: their labels; by default X holds them.
        others: there are none.
        """
        refuse_others("score", others)
        self._require_fitted()
        with input_errors():
            return self.model_.scores.first_score(self._gold(X, y), threads=threads_of(self.threads)).value

    def _gold(self, X: Any, y: Any) -> Corpus:
        data, labels = _columns(Resolved(self.model_.spec))
        return self._read(X, y, data, labels)[0]

    def _sentences(self, X: Any) -> Sentences:
        self._require_fitted()
        with input_errors():
            data, labels = _columns(Resolved(self.model_.spec))
            return read_sentences(X, data, labels, gold=False, sentence=self.sentence)


def _columns(resolved: Resolved) -> tuple[DataSpec, tuple[str, ...]]:
    """The data columns and the names of the labels. InputError if there are none; other problems are for `fit`."""
    spec = resolved.require(unchecked=True)
    if spec.data is None or not spec.labels:
        resolved.require()
        raise misfit("the template declares no data, or no label", "template", slug="no-data")
    return spec.data, tuple(label.name for label in spec.labels)


def _warn_of_contradiction(where: str | None) -> None:
    """A DcrfWarning if sentences have no labelling that the template allows."""
    if where is not None:
        warnings.warn(f"{where}; what is predicted there means nothing", DcrfWarning, stacklevel=3)


def _by_sentence(columns: Mapping[str, list[str]], sentences: Sentences) -> list[Mapping[str, Sequence[str]]]:
    """Labels by sentence, or those of all rows together."""
    if sentences.rows:
        return [columns]
    cut = {label: sentences.split(texts) for label, texts in columns.items()}
    return [{label: own[n] for label, own in cut.items()} for n in range(len(sentences.lengths))]


def resolved_with(template: AnyTemplate, settings: Mapping[str, Any], stage: str | None) -> Resolved:
    """A template in any form with these settings. A text of several lines is the template itself, not its path."""
    overrides = [f"{name.replace('__', '.')}={_text(name, value)}" for name, value in settings.items()]
    if isinstance(template, str) and "\n" in template:
        return load_text(template, "<template>", overrides, stage)
    if isinstance(template, str | os.PathLike):
        return load_template(os.fspath(template), overrides, stage)
    resolved = as_resolved(template, "template")
    if not overrides:
        return resolved
    spec: ModelSpec = resolved.require(unchecked=True)
    changed = load_text(to_text(spec), "<template>", overrides, stage)
    return replace(changed, directories=resolved.directories)


def _text(name: str, value: Any) -> str:
    """A value as a text of the language. TypeError if it has none."""
    if isinstance(value, str):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    try:
        return value_text(as_setting_value(value))
    except (TypeError, ValueError):
        expected = "a text such as 'gaussian(variance = 1)', a number, True, False or None"
        raise TypeError(f"the setting `{name}` takes {expected}: found {value!r}") from None
