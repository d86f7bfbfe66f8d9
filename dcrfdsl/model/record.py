"""The record of a training run, kept in the model file: what was run, on what, how it ended, with which versions."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

from ..data import Corpus, InternedColumn
from ..errors import figure
from ..files import Unfit, typed
from ..optimizers import BoostingRound, Iteration, Outcome
from ..semantics import MethodSettings, TrainSettings

__all__ = ["Calibration", "InductionRound", "TrainingRecord"]

PACKAGES = ("numpy", "numba", "scipy", "lark", "pydantic", "networkx")


@dataclass(frozen=True)
class Calibration:
    """How scores became probabilities: p(y | x) ∝ exp(temperature · g(y, x)), with the temperature of the highest
    likelihood of held-out labels. before, after: that log-likelihood in nats, with temperature 1 and with this one.
    """

    temperature: float
    before: float
    after: float
    sentences: int


@dataclass(frozen=True)
class InductionRound:
    """What a round of feature induction did. crosses: that were looked at.   conjunctions, weights: that were added.

    best, least: the gains of the first and the last weight that was added, in nats.
    """

    crosses: int
    conjunctions: int
    weights: int
    best: float = 0.0
    least: float = 0.0


@dataclass(frozen=True)
class TrainingRecord:
    """How the weights came about. `before` are the records of earlier stages.

    gradient_norm: at the end; None where there is no gradient.   gap: how far the objective is above its least value,
    at most; None where not known.
    curve: every iteration, with the dev score where there was held-out data; of all starts where there were several.
    tuning: of `tune`: how the search went and what it chose.   rounds: of feature induction.   calibration: of
    probabilities, None where there was none.   path: of boosting, round by round.   decode: by which rule labels are
    found where nothing else is asked for; empty in files that were written before it was kept.
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

    @classmethod
    def restore(cls, stored: Mapping[str, Any]) -> TrainingRecord:
        """From the header of a model file, in which tuples are lists. `Unfit` where a part is of another type."""
        norm = stored.get("gradient_norm")
        known = norm if not isinstance(norm, float) or norm == norm else None  # older files say so by not-a-number
        record: TrainingRecord = typed(TrainingRecord, {**stored, "gradient_norm": known}, "record")
        method = record.settings.get("criterion", {})
        if record.stage and not (isinstance(method, dict) and isinstance(method.get("method"), str)):
            raise Unfit("`record.settings` does not say which criterion it was")
        return record

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
        curve: Sequence[Iteration] = (),
        rounds: Sequence[InductionRound] = (),
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
            outcome.gradient_norm,
            outcome.gap,
            tuple(curve),
            rounds=tuple(rounds),
            path=outcome.path,
            decode=settings.decode or "",
        )

    @property
    def end(self) -> str:
        """The objective, and how near its least value is, in words."""
        value = f"objective {figure(self.objective)}"
        if self.gap is not None:
            return f"{value} (at most {self.gap:.2g} above the least)"
        return value if self.gradient_norm is None else f"{value} (gradient norm {self.gradient_norm:.2g})"


def _settings_record(settings: TrainSettings) -> dict[str, Any]:
    """Every setting of a stage that training went by."""
    return {
        name: {key: _settled(one) for key, one in value.items()} if isinstance(value, dict) else _settled(value)
        for name, value in settings
    }


def _settled(value: Any) -> Any:
    """A setting; of a method its name and its own settings, which may be methods again."""
    if isinstance(value, MethodSettings):
        return {"method": value.method, **{name: _settled(own) for name, own in value}}
    return list(value) if isinstance(value, tuple) else value


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
