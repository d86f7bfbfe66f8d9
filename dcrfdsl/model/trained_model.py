"""A trained model: it tags, evaluates, explains, shows its weights, and is saved and loaded.

Not here: predictions (`predicting_model`), what its parts do (`model_scores`, `event_probabilities`, `calibration`,
`model_explanations`), training (`training`), model files (`serialization`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, overload

from .. import metrics
from ..data import Corpus, tokens_of_text
from ..features import RegisteredFeature
from ..foundation import (
    CORPUS,
    Diagnostic,
    Floats,
    cached_property,
    ensure_writable,
    quoted_names,
    require_kind,
    require_list,
    require_whole,
    warn_of,
)
from ..inference import RunStatus, Workers
from .file_format import read_model, write_model
from .predicting_model import PredictingModel
from .predictor import Predictor
from .record import cut_at_round
from .sentence_tagging import Sentence
from .serialization import model_as_bytes, model_from_bytes, model_of_parts, stored_parts

if TYPE_CHECKING:  # methods import what tagging does without
    from .annotation import Annotation, Text
    from .calibration import ModelCalibration
    from .decisions import ModelDecisions, PromisedSets
    from .event_probabilities import ModelEvents
    from .explanation import Explanation
    from .label_events import EventReader
    from .model_explanations import ModelExplanations
    from .model_scores import ModelScores
    from .reporting import Comparison
    from .suggestions import Suggestion

# Where attributes of earlier versions are now.
_PARTS = {
    "scores": (
        "empty_metrics", "evaluate_parts", "evaluator", "first_metric", "first_score", "judged", "log_likelihood",
        "rank_risk", "sentence_terms", "tables", "tallies_of_parts",
    ),
    "events": ("clique_marginals", "probability"),
    "calibration": ("calibrated", "confidences", "reliabilities", "reliability"),
    "explanations": ("boosting_path", "strongest_weights", "unrolled", "weights_by_template"),
}  # fmt: skip
_MOVED = {name: f"`model.{part}.{name}`" for part, names in _PARTS.items() for name in names} | {
    "on": "`model.prepare`",
    "show_weights": "`model.explanations.iter_weights`",
    "tag_marginals": "`model.marginals`, which takes a sentence too",
}


class TrainedModel(PredictingModel):
    """A model with its weights: it tags text, scores itself on gold data, shows its weights, and is saved.

    `dcrfdsl.fit` and `dcrfdsl.load` make one. It never changes but for caches of bounded size, so threads may share it,
    and forked processes. It can be copied, and pickled if feature functions of yours can. N is the number of tokens of
    a corpus, S that of its sentences, W that of the weights.

    spec: the template as a `ModelSpec`.
    states: of each variable (labels, latents, memories) by its name, a tuple of texts.
    weights: [W] float64; `explanations.iter_weights` names them.
    record: how it was trained, a `TrainingRecord`.
    scores, events, calibration, decisions, explanations: what else it can do, see there.
    extractor, graph, parameters, known_values, voters, guides: its inner parts.

    >>> model = fit("address.dcrf", corpus)
    >>> model.labels, model.num_weights
    (('part',), 73)
    >>> model.predict(corpus).texts("part")[:3]
    ['B-STREET', 'I-STREET', 'I-STREET']
    """

    def __repr__(self) -> str:
        labels = ", ".join(f"{label} ({len(self.states[label]):,} states)" for label in self.labels)
        return f"<{type(self).__name__}: {labels}; {self.num_weights:,} weights>"

    def _repr_html_(self) -> str:
        """For notebooks: what the model consists of, its strongest weights, its training, its template."""
        from .model_summary import model_html  # here, as few programs run in notebooks

        return model_html(self)

    if not TYPE_CHECKING:  # so that type checkers know which attributes there are

        def __getattr__(self, name: str) -> NoReturn:
            if name in _MOVED:
                raise AttributeError(f"`TrainedModel.{name}` has moved: it is {_MOVED[name]}")
            raise AttributeError(f"a `{type(self).__name__}` has no attribute `{name}`")

    @property
    def scores(self) -> ModelScores:
        """How good it is on gold data: log-likelihood, rank risk, confusions, scores of data in parts."""
        from .model_scores import ModelScores

        return ModelScores(self)

    @property
    def events(self) -> ModelEvents:
        """Probabilities of more than one label: of events, and of every clique instance."""
        from .event_probabilities import ModelEvents

        return ModelEvents(self, self._event_reader)

    @cached_property
    def _event_reader(self) -> EventReader:
        from .label_events import EventReader

        return EventReader(self.spec, self.states, self.labels)

    @property
    def calibration(self) -> ModelCalibration[TrainedModel]:
        """How sure it is of what it predicts, how far that is true, and models with better probabilities."""
        from .calibration import ModelCalibration

        return ModelCalibration(self)

    @property
    def decisions(self) -> ModelDecisions[TrainedModel]:
        """Sets that hold the truth as often as promised, and thresholds for predictions that are taken unseen."""
        from .decisions import ModelDecisions

        return ModelDecisions(self)

    @property
    def explanations(self) -> ModelExplanations:
        """What it has learned, by names: its weights, the rounds of boosting, its graph of a sentence."""
        from .model_explanations import ModelExplanations

        return ModelExplanations(self)

    def tokenize(self, text: Text) -> list[tuple[int, int]]:
        """The tokens of a text, as the model's data are cut: the first character of each, and the last one, excluded.

        text: a text; with `tokenizer = "given"` a record with `text` and `tokens`.

        Raises DcrfError for a model whose data are no texts, as their format is not `spans`.

        >>> from pathlib import Path
        >>> text = Path("address.dcrf").read_text()
        >>> template = text.replace("conll(word, part)", "spans(word = token, part = spans)")
        >>> fit(load_text(template).require(), corpus).tokenize("9 Bath")
        [(0, 1), (2, 6)]
        """
        from .annotation import data_of_texts

        return tokens_of_text(text, data_of_texts(self.spec))

    @overload
    def annotate(  # type: ignore[overload-overlap]  # a text is an iterable of texts too, and meant as one
        self, texts: Text, *, threads: int | None = None, decode: str | None = None
    ) -> list[Annotation]: ...
    @overload
    def annotate(
        self, texts: Iterable[Text], *, threads: int | None = None, decode: str | None = None
    ) -> list[list[Annotation]]: ...
    def annotate(
        self, texts: Text | Iterable[Text], *, threads: int | None = None, decode: str | None = None
    ) -> list[Annotation] | list[list[Annotation]]:
        """The spans of a text, each with its probability, from left to right.

        texts: a text, or a record as a line of the data has it, such as `{"text": "…", "tokens": …}`; or a list of
            these.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores, and one for a single text.
        decode: as in a template, such as `optimal(nodes = 100)`; by default the model's own.

        Returns a list of `Annotation`s, of a list of texts a list of such lists. Offsets count characters, also where
        the data count UTF-16 units. The probabilities are those of `calibration.confidences`. Raises DcrfError for a
        model whose data are no texts (`tag` takes tokens), and as `tag` and `calibration.confidences` do.

        >>> from pathlib import Path
        >>> text = Path("address.dcrf").read_text()
        >>> template = text.replace("conll(word, part)", "spans(word = token, part = spans)")
        >>> texts = fit(load_text(template).require(), corpus)
        >>> [(one.type, one.text, one.start, one.end) for one in texts.annotate("9 Bath Lane, Oxford")]
        [('STREET', '9 Bath Lane', 0, 11), ('TOWN', 'Oxford', 13, 19)]
        >>> [0.0 < one.probability < 1.0 for one in texts.annotate("9 Bath Lane, Oxford")]
        [True, True]
        """
        from .annotation import annotated

        if isinstance(texts, str | Mapping):
            return annotated(self.calibration, [texts], 1 if threads is None else threads, decode)[0]
        require_list(texts, "texts", "texts")
        return annotated(self.calibration, list(texts), threads, decode)

    def sets(self, sentences: Corpus | Predictor, *, threads: int | None = None) -> list[PromisedSets]:
        """The sets that hold all truths of a sentence with the probability that `decisions.with_sets` has promised.

        sentences: a corpus, or what `prepare` makes of one, or of a sentence.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.

        A set may be empty: nothing is as likely as truths were on the held-out data. Raises DcrfError for a model
        without a promise.

        >>> promising = model.decisions.with_sets(corpus, 0.7, of="segments")
        >>> [(one.type, one.first, one.last) for one in promising.sets(corpus)[0].segments]
        [('STREET', 0, 2), ('TOWN', 4, 4)]
        """
        return self.decisions.sets(self.prepare(sentences), Workers(threads))

    def evaluate(
        self,
        corpus: Corpus,
        *,
        threads: int | None = None,
        weights: Floats | None = None,
        decode: str | None = None,
        on_status: Callable[[RunStatus], None] | None = None,
        on_remark: Callable[[Diagnostic], None] | None = None,
    ) -> dict[str, float | int]:
        """Scores the model on gold data: the template's `evaluate` metrics and counts by name, rates from 0 to 1.

        corpus: gold data.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
        weights: [W], to score in place of the model's own.
        decode: as in a template, such as `optimal(nodes = 100)`; by default the model's own.
        on_status: called with the `RunStatus` of decoding.
        on_remark: called for each metric that has nothing to count in this corpus; by default that is a `DcrfWarning`.

        Raises DcrfError where gold labels do not fit the model.

        >>> model.evaluate(corpus)["segments(part).f1"]
        1.0
        """
        require_kind(corpus, Corpus, "corpus", CORPUS)
        model = self if weights is None else self.with_weights(weights, self.record)
        told = None if on_status is None else lambda status, _: on_status(status)
        remarks: list[Diagnostic] = []
        scores = model.scores.evaluate_parts(
            [corpus], threads=threads, decode=decode, on_status=told, on_remark=on_remark or remarks.append
        )
        warn_of(remarks, depth=2)
        return scores

    def report(
        self,
        corpus: Corpus,
        path: str | Path,
        *,
        title: str | None = None,
        errors: int = 20_000,
        explained: int = 100,
        sentences: Sequence[int] = (),
        level: float = 0.95,
        draws: int = 1000,
        seed: int = 0,
        threads: int | None = None,
        comparison: Comparison | None = None,
    ) -> list[Path]:
        """Writes a report on gold data as one page of HTML: scores, errors, calibration, training, weights, graphs.

        corpus: gold data.
        path: of the page, which is replaced if it exists.
        title: of the page; by default it names the data.
        errors: how many wrong labels are listed at most, the most confident first.
        explained: how many of these are explained.
        sentences: numbers of sentences whose unrolled graph is drawn, from 0; by default short ones with errors.
        level: of confidence of the intervals, in 0–1.
        draws: of sentences with replacement, for the intervals.
        seed: of these; the same seed gives the same page.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
        comparison: what `dcrfdsl.compare` found on the same data, to be shown too.

        Returns the paths of the page and of further ones beside it, `NAME-2.html` and so on, where there are too many
        errors for one. The page needs no network and no other file. Raises DcrfError where gold labels do not fit the
        model, for a number of no sentence, if a page cannot be written, or without the package `jinja2`.

        >>> [page.name for page in model.report(corpus, "report.html")]
        ['report.html']
        """
        from .reporting import Comparison, Sampling, require_jinja  # here, as few programs write reports

        require_jinja()
        from .report_findings import ReportChoices, check_choices, findings_on
        from .reporting import write_report

        require_kind(corpus, Corpus, "corpus", CORPUS)
        require_whole(errors, "errors", least=0)
        require_whole(explained, "explained", least=0)
        require_whole(draws, "draws")
        require_whole(seed, "seed", least=0)
        metrics.require_level(level)
        if comparison is not None:
            require_kind(comparison, Comparison, "comparison", "what `dcrfdsl.compare` returns")
        choices = ReportChoices(errors, explained, tuple(sentences), Sampling(level, draws, seed), comparison)
        check_choices(choices, corpus)
        ensure_writable(path)
        prediction = self.predict(corpus, threads=threads)
        values = metrics.values_of(self.scores.tallies(corpus, prediction, threads))
        found = findings_on(self, corpus, prediction, values, choices, threads)
        return write_report(path, f"Report on {Path(corpus.file).name}" if title is None else title, found)

    def suggest(
        self, pool: Corpus, count: int, *, by: str = "entropy", diversity: float = 1.0, threads: int | None = None
    ) -> list[Suggestion]:
        """The sentences of a pool to label next, best first: the model is least sure of them, and they differ.

        pool: the sentences; their labels may be absent, and are not looked at.
        count: of sentences, at least 1; all of a pool that has fewer.
        by: `entropy` of the labelling in nats, `confidence`: 1 less the probability of the best labelling, or `margin`:
            the probability of the second best labelling over that of the best.
        diversity: a score counts times (1 − cosine) ** diversity, by the features of the nearest one chosen before.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.

        Returns `Suggestion`s, none for a sentence without any possible labelling. Where inference is not exact, scores
        are estimates. Raises DcrfError for another rule, or a diversity below 0.

        >>> [one.sentence for one in model.suggest(corpus, 2)]
        [2, 1]
        """
        from .suggestions import suggestions

        require_kind(pool, Corpus, "pool", CORPUS)
        require_whole(count, "count")
        return suggestions(self, pool, count, by, diversity, Workers(threads))

    def explain(
        self,
        sentence: Sentence | Corpus,
        position: int,
        *,
        label: str | None = None,
        against: str | None = None,
    ) -> Explanation:
        """Why a position of a sentence has its label and not another one.

        sentence: as `tag` takes it, or a corpus of one sentence.
        position: from 0.
        label: its name; may be left out where the model has one label.
        against: the state to compare with; by default the likeliest one beside the chosen label.

        Returns an `Explanation`. Its contributions sum to the score of the best labelling with the chosen label less
        that of the best one with the other. Raises DcrfError where there is no such position, label or state, or where
        no possible labelling has the state there.

        >>> why = model.explain(["9", "Bath", "Lane"], 1)
        >>> why.chosen, why.contributions[0].feature
        ('I-STREET', 'bias')
        """
        from .explanation import explain_position

        return explain_position(self, sentence, position, label, against)

    def at_round(self, rounds: int) -> TrainedModel:
        """The model as it was after some rounds of boosting (`train adaboost`).

        rounds: how many rounds of its last stage, at least 0.

        Raises DcrfError if it has no such round, or was not boosted: `boosted.at_round(50).evaluate(dev)`.
        """
        require_whole(rounds, "rounds", least=0)
        return self.with_weights(*cut_at_round(self.weights, self.record, rounds))

    def save(self, path: str | Path) -> None:
        """Writes the model file, whole or not at all.

        path: of the file, which is replaced if it exists.

        Raises DcrfError if it cannot be written, or if a weight is not finite.

        >>> model.save("address.model")
        """
        write_model(path, *stored_parts(self))

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        registered: Mapping[str, RegisteredFeature] | None = None,
        unchecked: bool = False,
    ) -> TrainedModel:
        """Reads a model file.

        path: of the file.
        registered: the feature functions of yours that it was trained with, by name: `{f.name: f}`.
        unchecked: leaves out the checker, for a model that was trained without it.

        Raises DcrfError if the file is no model or is damaged, if `registered` lacks a function that it needs, or if
        the checker refuses its template. A `DcrfWarning` says where a function has another text than at training.

        >>> model.save("address.model")
        >>> TrainedModel.load("address.model").labels
        ('part',)
        """
        return _loaded(path, registered, unchecked=unchecked)

    # A pickled model is its file, so it stays readable as long as model files do, and caches are left behind.

    def __reduce__(self) -> tuple[Callable[..., TrainedModel], tuple[bytes, dict[str, RegisteredFeature]]]:
        return _unpickled, (model_as_bytes(self), self.extractor.registered)

    def __copy__(self) -> TrainedModel:
        return replace(self)

    def __deepcopy__(self, memo: object) -> TrainedModel:
        return replace(self, weights=self.weights.copy())  # nothing else in a model could be changed


def _loaded(
    path: str | Path, registered: Mapping[str, RegisteredFeature] | None, *, unchecked: bool = False
) -> TrainedModel:
    """The model in a file. A `DcrfWarning` where a function of the user is not what it was at training."""
    model = model_of_parts(TrainedModel, path, read_model(path), registered or {}, unchecked=unchecked)
    warn_of(changed_functions(model, path), depth=3)
    return model


def changed_functions(model: TrainedModel, path: str | Path) -> list[Diagnostic]:
    """A warning if a function of the user has another text than when the model in this file was trained."""
    changed = model.extractor.changed_functions
    if not changed:
        return []
    several = len(changed) > 1
    message = (
        f"the text of the feature function{'s' * several} {', '.join(quoted_names(changed))} is not the one that "
        f"`{os.fspath(path)}` was trained with, so {'they' if several else 'it'} may give other features"
    )
    remedy = "load the file as it was at training, or train again with this one"
    return [Diagnostic("changed-feature-function", message, severity="warning", help=remedy)]


def _unpickled(content: bytes, registered: Mapping[str, RegisteredFeature]) -> TrainedModel:
    return model_from_bytes(TrainedModel, content, "<pickle>", registered)


def load(path: str | Path, *, registered: Mapping[str, RegisteredFeature] | None = None) -> TrainedModel:
    """Reads a model file, as `TrainedModel.load` does.

    path: of the file.
    registered: the feature functions of yours that it was trained with, by name: `{f.name: f}`.

    Raises DcrfError if the file is no model or is damaged, if `registered` lacks a function that it needs, or if the
    checker refuses its template. A `DcrfWarning` says where a function has another text than at training.

    >>> model.save("address.model")
    >>> load("address.model").num_weights
    73
    """
    return _loaded(path, registered)
