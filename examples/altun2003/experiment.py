"""The trainings of Altun and Hofmann (2003), section 7: what is trained on what, and how it scores.

300 sentences are drawn and cut into folds, each of which is tested on by a training on all others. Settings are chosen
for each fold anew, by trainings on four fifths of its training sentences that are scored on the rest. Boosting is
scored after fewer rounds too, by the weights that it had then. Not here: which of these trainings are made (`run`),
tests and tables (`tables`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from running import fingerprint, sentences_of, timed

from dcrfdsl import fit, load_template, read_corpus, to_text
from dcrfdsl.data import Corpus
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.checks.checker import check_or_raise
from dcrfdsl.semantics.resolve.resolution import Resolved

HERE = Path(__file__).parent
SENTENCES = 300  # as in the paper
FOLDS = 5
SEEDS = 5  # draws
HELD_OUT = 5  # every so many-th training sentence chooses settings
FILES = {"ner": "esp.train", "pos": ""}  # of each task: its file in the folder that is given; "": the file itself

VARIANCES = tuple(f"gaussian(variance={variance})" for variance in (1, 10, 100, 1000))
MARGINS = ("0.1", "1", "10")
SMOOTHINGS = ("0.01", "0.1", "1", "10")


class Method(NamedTuple):
    """A row of the table. tried: values of the settings of its stage.   template: the end of the template's name."""

    tried: Mapping[str, Sequence[str]]
    template: str = ""


# By stage, in the order of training.
METHODS: Mapping[str, Method] = {
    "crf": Method({"prior": VARIANCES}),
    "hmm": Method({"smoothing": SMOOTHINGS}, "_hmm"),
    "hmm_overlapping": Method({"smoothing": SMOOTHINGS}, "_hmm"),
    "mrf": Method({"prior": VARIANCES}),
    "svm": Method({"C": MARGINS}),
    "exp": Method({"prior": VARIANCES[1:]}),
    "boost": Method({"rounds": ("5000",)}),
    "svm_hamming": Method({"C": ("1",)}),
    "perceptron": Method({"epochs": ("5", "10", "20")}),
    "boost_steepest": Method({"rounds": ("400",)}),
}
ASKED_FOR = ("boost_steepest",)  # rows that only `--methods` runs: long, and in no table of the paper
CURVE = tuple(10**tens * ones for tens in (2, 3, 4, 5) for ones in (1, 2, 5))  # rounds after which boosting is scored

Settings = tuple[tuple[str, str], ...]  # name and value
Numbers = NDArray[np.int64]


class Job(NamedTuple):
    """A training. seed: of the draw.   part: `dev`, which chooses settings, or `test`, what it is scored on."""

    task: str
    method: str
    seed: int
    fold: int
    settings: Settings
    part: str

    def __str__(self) -> str:
        values = "".join(f", {name} = {value}" for name, value in self.settings)
        return f"{self.task} {self.method}, draw {self.seed}, fold {self.fold + 1}{values}, {self.part}"


def combinations(tried: Mapping[str, Sequence[str]]) -> Iterator[Settings]:
    """Every combination of the values of settings."""
    for values in itertools.product(*tried.values()):
        yield tuple(zip(tried, values, strict=True))


@dataclass(frozen=True)
class Experiment:
    """The sentences of a task, in the order in which they were drawn by the seed."""

    task: str
    corpus: Corpus
    seed: int = 0
    folds: int = FOLDS
    threads: int | None = None

    @classmethod
    def of(cls, task: str, path: Path, sentences: int = SENTENCES, seed: int = 0, **settings: Any) -> Experiment:
        """With `sentences` drawn without replacement from the corpus of a folder, or of a file."""
        data = load_template(HERE / f"{task}_features.dcrf").spec.data  # a part of the templates, which all use
        assert data is not None
        whole = read_corpus(path / FILES[task] if FILES[task] else path, data)
        drawn = np.random.default_rng(seed).permutation(whole.num_sentences)[:sentences]
        return cls(task, sentences_of(whole, drawn), seed, **settings)

    @property
    def label(self) -> str:
        return self.task  # the templates name it so

    def sentences_of(self, job: Job) -> tuple[Numbers, Numbers]:
        """The numbers of the sentences that a job trains on, and of those that it is scored on."""
        numbers = np.arange(self.corpus.num_sentences)
        tested = numbers % self.folds == job.fold
        if job.part == "test":
            return numbers[~tested], numbers[tested]
        rest = numbers[~tested]
        held_out = np.arange(len(rest)) % HELD_OUT == 0
        return rest[~held_out], rest[held_out]

    def parts(self, job: Job) -> tuple[Corpus, Corpus]:
        """What a job trains on, and what it is scored on."""
        train, scored = self.sentences_of(job)
        return sentences_of(self.corpus, train), sentences_of(self.corpus, scored)

    def template(self, job: Job) -> Resolved:
        """With the settings of the job."""
        overrides = tuple(f"{job.method}.{name}={value}" for name, value in job.settings)
        name = f"{job.task}{METHODS[job.method].template}.dcrf"
        resolved = load_template(HERE / name, overrides, stage=job.method)
        check_or_raise(resolved, stage=job.method)
        return resolved

    def fingerprint(self, job: Job) -> str:
        """What the outcome of a job depends on, beside the program: a record with another one is of another job."""
        return fingerprint(to_text(self.template(job).require()) + job.method, self.parts(job))

    def run(self, job: Job) -> dict[str, Any]:
        """Trains, tags, and gives the record of both; times hold the extraction of features."""
        train, scored = self.parts(job)
        model, times = timed(lambda: fit(self.template(job), train, stage=job.method, threads=self.threads))
        own = model.record
        wrong = self._wrong(model, scored)
        return {
            **job._asdict(),
            "settings": [list(pair) for pair in job.settings],
            "inputs": self.fingerprint(job),
            "accuracy": 1.0 - sum(wrong) / scored.num_tokens,
            "train_accuracy": 1.0 - sum(self._wrong(model, train)) / train.num_tokens,
            "wrong": wrong,
            "sentences": self.sentences_of(job)[1].tolist(),
            "tokens": scored.num_tokens,
            "objective": own.objective,
            "iterations": own.iterations,
            "converged": own.converged,
            "reason": own.reason,
            "weights": model.num_weights,
            "nonzero": int(np.count_nonzero(model.weights)),
            **times._asdict(),
            "threads": self.threads,
        } | (self._boosting(model, train, scored) if own.path else {})

    def _boosting(self, model: TrainedModel, train: Corpus, scored: Corpus) -> dict[str, Any]:
        """How boosting went. proved: the first round after which the risk is below 1, None if there is none.

        The risk counts every wrong labelling that is at least as good as the gold one as 1 or more, so that below 1
        all training labels are right. curve: round, log₁₀ of the risk, wrong training labels, accuracy.
        """
        path = model.record.path
        states = len(set(train.text_column(self.label).values))
        # A record has the risk as a share of that of weights 0, the number of wrong labellings.
        labellings = np.log(states) * train.lengths()
        log10_start = float(np.logaddexp.reduce(labellings + np.log1p(-np.exp(-labellings))) / np.log(10))
        risks = [math.log10(done.risk) + log10_start if done.risk > 0 else -math.inf for done in path]
        curve = []
        for rounds in (*(rounds for rounds in CURVE if rounds < len(path)), len(path)):
            then = model.at_round(rounds)
            accuracy = 1.0 - sum(self._wrong(then, scored)) / scored.num_tokens
            curve.append([rounds, risks[rounds - 1], sum(self._wrong(then, train)), accuracy])
        return {"proved": next((n for n, risk in enumerate(risks, 1) if risk < 0.0), None), "curve": curve}

    def _wrong(self, model: TrainedModel, corpus: Corpus) -> list[int]:
        """How many labels of each sentence are wrong, decoded as the stage says."""
        gold = corpus.text_column(self.label)
        found = model.predict(corpus, threads=self.threads).texts(self.label)
        wrong = np.fromiter((text != gold.text(n) for n, text in enumerate(found)), np.int64, corpus.num_tokens)
        return [int(part) for part in np.add.reduceat(wrong, corpus.sentence_off[:-1])]
