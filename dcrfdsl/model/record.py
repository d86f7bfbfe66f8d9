"""The record of a training run in the model file: settings, data, outcome, versions of packages.

Not here: the file (`file_format`), learning curves as files (`training.training_logs`).
"""

from __future__ import annotations

import functools
import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field, replace
from importlib.metadata import version
from typing import Any, TypeAlias

import numpy as np

from ..data import BagColumn, Corpus, InternedColumn, StoredCorpus
from ..foundation import Floats, IncompatibleState, data_error, dataclass, figure, notebook_html, typed
from ..optimizers import BoostingRound, Iteration, Outcome
from ..semantics import MethodSettings, TrainSettings

# Fields of a record that are those of an outcome.
_OF_OUTCOME = (
    "objective", "iterations", "evaluations", "converged", "reason", "seconds", "gradient_norm", "gap", "path",
)  # fmt: skip
NO_WEIGHTS = "the template has no weights, so nothing is learned"
PACKAGES = ("numpy", "numba", "lark", "pydantic", "networkx")


@dataclass(frozen=True)
class ConfidenceMap:
    """From the probabilities of one kind of prediction to how often such a prediction was right on held-out data.

    of: the kind, a key of `KINDS` in `calibration`.
    label: of the predictions; empty for whole sentences.
    corners: probabilities, rising.
    values: what they mean; linear between the corners, constant outside of them.
    count: how many predictions it was fitted on.
    """

    of: str
    label: str
    corners: tuple[float, ...]
    values: tuple[float, ...]
    count: int


@dataclass(frozen=True)
class Calibration:
    """The calibration of probabilities: p(y | x) ∝ exp(temperature · g(y, x)).

    temperature: gives the held-out labels the highest likelihood; 1 if only maps were fitted.
    before, after: that log-likelihood in nats, with temperature 1 and with this one; 0 if only maps were fitted.
    sentences: how many were held out.
    maps: for the confidence in what the model predicts, by isotonic regression.
    """

    temperature: float
    before: float
    after: float
    sentences: int
    maps: tuple[ConfidenceMap, ...] = ()

    @property
    def is_tempered(self) -> bool:
        """Whether a temperature was fitted."""
        return self.temperature != 1.0 or not self.maps


@dataclass(frozen=True)
class Threshold:
    """From which probability on something is in a set, or a prediction is taken unseen. By `dcrfdsl calibrate`.

    use: `cover` of sets; `recall` or `precision` of predictions.
    of: `tokens`, `segments` or `sentences`.
    label, type: whose; empty for all.
    target: the share that was asked for.
    least: the probability; None where there were too few held-out sentences.
    found: the share on held-out data, of `count` sentences with truths, or predictions that are taken.
    """

    use: str
    of: str
    label: str
    type: str
    target: float
    least: float | None
    found: float
    count: int


@dataclass(frozen=True)
class InductionRound:
    """A round of feature induction.

    crosses: the number of candidates.
    conjunctions, weights: the numbers that were added.
    best, least: the gains of the first and the last added weight, in nats.
    """

    crosses: int
    conjunctions: int
    weights: int
    best: float = 0.0
    least: float = 0.0


@dataclass(frozen=True)
class StartRecord:
    """The model from which training started.

    carried: its weights with a counterpart in the new model, with which they begin.
    new: the weights that begin at 0.
    left_out: its weights without a counterpart.
    stage, data_sha256: the last stage of that model and its training data.
    """

    carried: int
    new: int
    left_out: int
    stage: str = ""
    data_sha256: str = ""

    @property
    def description(self) -> str:
        """In words."""
        return (
            f"started from an earlier model: {self.carried:,} weights taken over, {self.new:,} new, "
            f"{self.left_out:,} left out"
        )


@dataclass(frozen=True, repr=False)
class TrainingRecord:
    """How the weights of a model were trained; model files keep it, and `dcrfdsl show` prints it.

    stage: the name of the training stage.
    objective: its value at the end, with the penalty.
    iterations, evaluations: how many of the optimizer, and of objective and gradient.
    converged, reason: whether the optimizer's own rule ended training, and in words what did.
    seconds: wall time.
    inference: the method, in words.
    sentences, tokens, data_sha256: of the training data.
    settings: every setting of the stage by name.
    notes: warnings and remarks.
    versions: of Python and the packages.
    before: the records of earlier stages.
    gradient_norm: at the end; None if there is no gradient.
    gap: an upper bound of the objective's distance from its minimum; None if unknown.
    curve: every iteration of every start, with the dev score if there was held-out data.
    tuning: the search of `tune` and its choice.
    rounds: of feature induction.
    calibration: of probabilities.
    path: the rounds of boosting.
    decode: the default rule for decoding labels; empty in older files, which lack it.
    start: the model from which training started; None if all weights began at 0.
    thresholds: of sets and of predictions that are taken unseen.
    sweeps: that messages need, by which `auto` chooses; None where that was not learned.

    >>> model.record.converged, model.record.tokens
    (True, 16)
    """

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
    gradient_norm: float | None = None
    gap: float | None = None
    curve: tuple[Iteration, ...] = ()
    tuning: Mapping[str, Any] = field(default_factory=dict)
    rounds: tuple[InductionRound, ...] = ()
    calibration: Calibration | None = None
    path: tuple[BoostingRound, ...] = ()
    decode: str = ""
    start: StartRecord | None = None
    thresholds: tuple[Threshold, ...] = ()
    sweeps: float | None = None

    def __repr__(self) -> str:
        if not self.stage:
            return f"<TrainingRecord: {self.reason or 'not trained'}>"
        how = "converged" if self.converged else "not converged"
        return f"<TrainingRecord: stage {self.stage}, {self.end}, {self.iterations:,} iterations, {how}>"

    def _repr_html_(self) -> str:
        """For notebooks: each stage with its curves."""
        from .reporting import training_blocks  # here, as few programs run in notebooks

        return notebook_html(training_blocks(self.stages, self.tuning.get("trials", ())))

    @property
    def stages(self) -> list[Mapping[str, Any]]:
        """The fields of the record of each stage, the first stage first; none for a model that was not trained here."""
        return [*self.before, vars(self)] if self.stage else list(self.before)

    @classmethod
    def restore(cls, stored: Mapping[str, Any]) -> TrainingRecord:
        """From the header of a model file, in which tuples are lists. `IncompatibleState` if a part has the wrong
        type.
        """
        norm = stored.get("gradient_norm")
        if isinstance(norm, float) and norm != norm:  # older files have NaN if there was none
            stored = {**stored, "gradient_norm": None}
        record: TrainingRecord = typed(TrainingRecord, stored, "record")
        criterion = record.settings.get("criterion", {})
        if record.stage and not (isinstance(criterion, dict) and isinstance(criterion.get("method"), str)):
            raise IncompatibleState("`record.settings` does not say which criterion it was")
        return record

    @classmethod
    def of(
        cls,
        stage: str,
        settings: TrainSettings,
        outcome: Outcome,
        corpus: TrainingData,
        inference: str,
        notes: Sequence[str],
        earlier: TrainingRecord,
        curve: Sequence[Iteration] = (),
        rounds: Sequence[InductionRound] = (),
    ) -> TrainingRecord:
        """The record of a stage that has just run."""
        before = earlier.before
        if earlier.stage:
            before = (*before, {name: value for name, value in asdict(earlier).items() if name != "before"})
        return cls(
            **{name: getattr(outcome, name) for name in _OF_OUTCOME},
            stage=stage,
            inference=inference,
            sentences=corpus.num_sentences,
            tokens=corpus.num_tokens,
            data_sha256=content_hash(corpus),
            settings=settings_record(settings),
            notes=tuple(notes),
            versions=dict(versions()),
            before=before,
            curve=tuple(curve),
            rounds=tuple(rounds),
            decode=settings.decode or "",
        )

    @classmethod
    def of_nothing(cls, corpus: TrainingData) -> TrainingRecord:
        """The record of a model without weights, which no stage has trained.

        corpus: the data, perhaps without a token.
        """
        return cls(
            converged=True, reason=NO_WEIGHTS, sentences=corpus.num_sentences, tokens=corpus.num_tokens,
            data_sha256=content_hash(corpus), notes=(f"note: {NO_WEIGHTS}",), versions=dict(versions()),
        )  # fmt: skip

    @property
    def end(self) -> str:
        """The objective with the bound of its distance from the minimum, or else the norm of its gradient, in words."""
        value = f"objective {figure(self.objective)}"
        if self.gap is not None:
            return f"{value} (at most {self.gap:.2g} above the least)"
        return value if self.gradient_norm is None else f"{value} (gradient norm {self.gradient_norm:.2g})"


def cut_at_round(weights: Floats, record: TrainingRecord, rounds: int) -> tuple[Floats, TrainingRecord]:
    """Weights [W] and record after `rounds` rounds of the last stage. DcrfError if it has no such round."""
    path = record.path
    if not 0 <= rounds <= len(path):
        there = f"{len(path)} rounds of boosting" if path else "no rounds of boosting"
        raise data_error("no-such-round", f"the model has {there}, and round {rounds} was asked for")
    if any(done.weight < 0 for done in path):
        message = "all weights moved in every round (`update = parallel`), and only the last ones are kept"
        raise data_error("no-such-round", message, help="train with fewer `rounds`, or `update = steepest`")
    weights, last = weights.copy(), path[rounds - 1] if rounds else None
    moved = np.array([done.weight for done in path], np.int64)
    step = np.array([done.step for done in path])
    begun = np.zeros(len(weights))  # before the first round: the result of an earlier stage, else exactly 0
    if record.before:
        begun = weights - np.bincount(moved, step, len(weights))
    later = np.unique(moved[rounds:])
    weights[later] = (begun + np.bincount(moved[:rounds], step[:rounds], len(weights)))[later]
    record = replace(
        record, path=path[:rounds], curve=record.curve[:rounds], iterations=rounds,
        objective=last.risk if last is not None else float("nan"), gradient_norm=None,
        reason=f"cut at round {rounds}", converged=record.converged and rounds == len(path),
    )  # fmt: skip
    return weights, record


TrainingData: TypeAlias = Corpus | StoredCorpus


@functools.cache
def versions() -> dict[str, str]:
    """The versions of Python and the packages. Each is read from a file of its package, so only once a process."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def settings_record(settings: TrainSettings) -> dict[str, Any]:
    """Every setting of a stage, as a model file keeps it."""
    return {name: _plain(value) for name, value in settings}


def _plain(value: Any) -> Any:
    """A setting as JSON values; a method as its name and its settings, which may be methods in turn."""
    if isinstance(value, MethodSettings):
        return {"method": value.method, **{name: _plain(setting) for name, setting in value}}
    if isinstance(value, dict):
        return {name: _plain(setting) for name, setting in value.items()}
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def content_hash(corpus: TrainingData) -> str:
    """SHA-256 of the columns and sentence offsets: equal for equal content, whatever the name of the file.

    Data that is no corpus in memory has a hash of its own.
    """
    if not isinstance(corpus, Corpus):
        return corpus.sha256
    digest = hashlib.sha256(corpus.sentence_off.tobytes())
    for name, column in sorted(corpus.columns.items()):
        digest.update(name.encode())
        if isinstance(column, InternedColumn):
            digest.update("\0".join(column.values).encode())
            digest.update(column.codes.tobytes())
        elif isinstance(column, BagColumn):
            digest.update("\0".join(column.names).encode())
            for part in (column.off, column.codes, column.weights):
                digest.update(part.tobytes())
        else:
            digest.update("\0".join(column.names).encode())
            digest.update(column.values.tobytes())
    return digest.hexdigest()
