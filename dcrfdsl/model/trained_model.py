"""A trained model: it tags, evaluates, shows its weights, and is saved and loaded.

Not here: tagging itself (`tagging_model`), training (`training`), model files (`serialization`), measures (`metrics`),
the work behind the methods that look inside a model or change it (`named_weights`, `boosting_path`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..data import Corpus
from ..features import RegisteredFeature
from ..foundation import CORPUS, Diagnostic, ensure_writable, quoted_names, require_kind, require_whole, warn_of
from ..metrics import require_level, values_of
from ..optimizers import BoostingRound
from .annotating_model import AnnotatingModel
from .boosting_path import cut_at_round
from .named_weights import NamedWeights
from .prediction import Prediction as Prediction
from .record import TrainingRecord as TrainingRecord
from .serialization import parts_as_bytes, parts_from_bytes, read_parts, write_parts

if TYPE_CHECKING:
    from ..criteria import TemplateWeights
    from ..graph import GraphDrawing


class TrainedModel(AnnotatingModel):
    """A model with its weights: it tags text, scores itself on gold data, shows its weights, and is saved.

    `dcrfdsl.fit` and `dcrfdsl.load` make one. It never changes but for caches of bounded size, so threads may share it,
    and forked processes. It can be copied, and pickled if feature functions of yours can. N is the number of tokens of
    a corpus, S that of its sentences, W that of the weights.

    spec: the template as a `ModelSpec`.
    states: of each variable (labels, latents, memories) by its name, a tuple of texts.
    weights: [W] float64; `iter_weights` names them.
    record: how it was trained, a `TrainingRecord`.
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
        from .notebook_views import model_html

        return model_html(self)

    # rounds -------------------------------------------------------------------------------------------------------

    def at_round(self, rounds: int) -> TrainedModel:
        """The model as it was after some rounds of boosting (`train adaboost`).

        rounds: how many rounds of its last stage, at least 0.

        Raises DcrfError if it has no such round, or was not boosted: `boosted.at_round(50).evaluate(dev)`.
        """
        require_whole(rounds, "rounds", least=0)
        return self.with_weights(*cut_at_round(self.weights, self.record, rounds))

    # looking inside -----------------------------------------------------------------------------------------------

    def iter_weights(self) -> Iterator[tuple[str, str, tuple[str, ...], float]]:
        """Yields a row for every weight: (clique, feature, states of its sites, weight).

        It takes no argument. The feature of the bias is called `bias`. A positive weight makes the states likelier.

        >>> next(model.iter_weights())[:3]
        ('part', 'bias', ('B-STREET',))
        """
        return self._named_weights.rows()

    def strongest_weights(
        self, top: int, clique: str | None = None, feature: str | None = None
    ) -> list[tuple[str, str, tuple[str, ...], float]]:
        """The weights of largest magnitude, as rows of `iter_weights`; ties in the model's order.

        top: how many, at least 1.
        clique: only cliques of this name; `*` and `?` match.
        feature: only features whose text contains this.

        Raises DcrfError if there is no such clique.

        >>> len(model.strongest_weights(5, feature="lower"))
        5
        """
        require_whole(top, "top")
        return self._named_weights.strongest(top, clique, feature)

    def weights_by_template(self) -> list[TemplateWeights]:
        """Every feature template of every clique: its name, its number of weights, and how many of them are not 0.

        It takes no argument. A template is a feature of a list, each offset by itself; the biases of a clique come
        first. It says what priors that make weights zero, as `group_lasso`, have left of a model.

        >>> model.weights_by_template()[0]
        TemplateWeights(clique='part', template='bias', weights=5, used=5)
        """
        from ..criteria import weights_by_template  # here, as few programs ask

        return weights_by_template(self.graph, self.parameters, self.extractor, self.weights)

    def boosting_path(self) -> Iterator[tuple[BoostingRound, str, str, tuple[str, ...]]]:
        """Yields each round of boosting with clique, feature and states of the weight that moved, empty if all moved.

        It takes no argument, and yields nothing for a model that was not boosted.

        >>> list(model.boosting_path())
        []
        """
        return self._named_weights.of_rounds(self.record.path)

    def unrolled(self, corpus: Corpus, sentence: int = 0) -> GraphDrawing:
        """The factor graph of a sentence, which notebooks show as a picture. Its circles say the predicted labels.

        corpus: the sentences; columns of labels may be absent.
        sentence: the number of one, from 0.

        `dcrfdsl unroll` writes such pictures to files. Raises DcrfError where there is no such sentence.

        >>> model.unrolled(corpus, 2).words
        ('Bath', ',', '3', 'Oxford', 'Road')
        """
        from .drawn_sentences import drawn_with_labels  # here, as few programs draw

        require_kind(corpus, Corpus, "corpus", CORPUS)
        require_whole(sentence, "sentence", least=0)
        return drawn_with_labels(self, corpus, sentence)

    @property
    def _named_weights(self) -> NamedWeights:
        return NamedWeights(self.graph, self.parameters, self.extractor, self.states, self.weights)

    # reports ------------------------------------------------------------------------------------------------------

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

        Returns the paths of the page and of further ones beside it, `NAME-2.html` and so on, where there are too many
        errors for one. The page needs no network and no other file. Raises DcrfError where gold labels do not fit the
        model, for a number of no sentence, if a page cannot be written, or without the package `jinja2`.

        >>> [page.name for page in model.report(corpus, "report.html")]
        ['report.html']
        """
        from .reporting import Sampling, require_jinja  # here, as few programs write reports

        require_jinja()
        from .report_findings import ReportChoices, check_choices, findings_on
        from .reporting import write_report

        require_kind(corpus, Corpus, "corpus", CORPUS)
        require_whole(errors, "errors", least=0)
        require_whole(explained, "explained", least=0)
        require_whole(draws, "draws")
        require_whole(seed, "seed", least=0)
        require_level(level)
        choices = ReportChoices(errors, explained, tuple(sentences), Sampling(level, draws, seed))
        check_choices(choices, corpus)
        ensure_writable(path)
        prediction = self.predict(corpus, threads=threads)
        values = values_of(self._tallies(corpus, prediction, threads))
        found = findings_on(self, corpus, prediction, values, choices, threads)
        return write_report(path, f"Report on {Path(corpus.file).name}" if title is None else title, found)

    # files --------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Writes the model file, whole or not at all.

        path: of the file, which is replaced if it exists.

        Raises DcrfError if it cannot be written, or if a weight is not finite.

        >>> model.save("address.model")
        """
        write_parts(path, self)

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

    # objects ------------------------------------------------------------------------------------------------------

    # A pickled model is its file, so it stays readable as long as model files do, and caches are left behind.

    def __reduce__(self) -> tuple[Callable[..., TrainedModel], tuple[bytes, dict[str, RegisteredFeature]]]:
        return _unpickled, (parts_as_bytes(self), self.extractor.registered)

    def __copy__(self) -> TrainedModel:
        return replace(self)

    def __deepcopy__(self, memo: object) -> TrainedModel:
        return replace(self, weights=self.weights.copy())  # nothing else in a model could be changed


def _loaded(
    path: str | Path, registered: Mapping[str, RegisteredFeature] | None, *, unchecked: bool = False
) -> TrainedModel:
    """The model in a file. A `DcrfWarning` where a function of the user is not what it was at training."""
    model = TrainedModel(**vars(read_parts(path, registered or {}, unchecked=unchecked)))
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
    return TrainedModel(**vars(parts_from_bytes(content, "<pickle>", registered)))


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
