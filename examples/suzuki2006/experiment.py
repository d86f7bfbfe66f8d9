"""The trainings of Suzuki, McDermott and Isozaki (2006), section 5: what is trained on what, and how it scores.

A job trains one stage of a template with one value of C, on all of the training data or on all but its last sentences,
which are then the development data. Not here: which jobs there are and what they are for (`run`), tests and tables
(`tables`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from running import fingerprint, timed

from dcrfdsl import fit, load_template, read_corpus, to_text
from dcrfdsl.data import Corpus
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import Resolved

HERE = Path(__file__).parent
HELD_OUT = 2000  # sentences of the development data, as in the paper
FILES = {"chunk": ("train.txt", "test.txt"), "ner": ("esp.train", "esp.testa")}  # of each task: training and test
ITERATIONS = 150


class Method(NamedTuple):
    """A row of the tables. stage: of the template, also its name.   starts: `zero` or `map`.   tried: n of C = 10ⁿ.
    other: a second optimizer, `quickprop`.
    """

    starts: str
    tried: tuple[int, ...]
    other: str | None = None


# In the order of training: MAP before what starts from it, what matters most first.
METHODS: Mapping[str, Method] = {
    "map": Method("zero", (0, 1, 2)),
    "mce_f_map": Method("map", (5, 6, 7), "quickprop"),
    "mce_f": Method("zero", (5, 6)),
    "mce_sig_map": Method("map", (2, 3)),
    "mce_sig": Method("zero", (2, 3)),
    "mce_log": Method("zero", (2, 3)),
    "ml": Method("zero", ()),
}


class Job(NamedTuple):
    """A training. n, map_n: C = 10ⁿ of the stage and of MAP before it, None where there is no prior or no MAP.

    optimizer: `quickprop`, "" for the template's.   part: `dev` or `test`, what it is scored on.
    """

    task: str
    method: str
    n: int | None
    map_n: int | None
    optimizer: str
    part: str

    def __str__(self) -> str:
        parts = [f"{self.task} {self.method}"]
        if self.n is not None:
            parts.append(f"C = 10^{self.n}")
        if self.map_n is not None:
            parts.append(f"after MAP of 10^{self.map_n}")
        return ", ".join([*parts, *([self.optimizer] if self.optimizer else []), self.part])

    def overrides(self) -> tuple[str, ...]:
        """The settings of the template that the job changes."""
        found = []
        if self.n is not None:
            found.append(f"{self.method}.prior=gaussian(variance={10.0**self.n:.12g})")
        if self.map_n is not None:
            found.append(f"map.prior=gaussian(variance={10.0**self.map_n:.12g})")
        if self.optimizer:
            found.append(f"{self.method}.optimizer={self.optimizer}(max_iterations = {ITERATIONS})")
        return tuple(found)


@dataclass(frozen=True)
class Experiment:
    """The data of a task. held_out: sentences at the end of `train` that choose C."""

    task: str
    train: Corpus
    test: Corpus
    held_out: int = HELD_OUT
    threads: int | None = None

    @classmethod
    def of(
        cls, task: str, directory: Path, sentences: int | None = None, tested: int | None = None, **settings: Any
    ) -> Experiment:
        """With the corpus of `directory`: its first `sentences` of training and `tested` of test, by default all."""
        data = load_template(HERE / f"{task}.dcrf").require().data
        assert data is not None
        train, test = (read_corpus(directory / name, data) for name in FILES[task])
        train, test = (
            corpus.slice(0, min(limit or corpus.num_sentences, corpus.num_sentences))
            for corpus, limit in ((train, sentences), (test, tested))
        )
        return cls(task, train, test, **settings)

    def template(self, job: Job) -> Resolved:
        return load_template(HERE / f"{job.task}.dcrf", job.overrides())

    def parts(self, job: Job) -> tuple[Corpus, Corpus]:
        """What a job trains on, and what it is scored on."""
        if job.part == "test":
            return self.train, self.test
        whole = self.train.num_sentences
        return self.train.slice(0, whole - self.held_out), self.train.slice(whole - self.held_out, whole)

    def fingerprint(self, job: Job) -> str:
        """What the outcome of a job depends on, beside the program: a record with another one is of another job."""
        text = to_text(self.template(job).require())
        return fingerprint(f"{text}{job.method} {self.held_out}", self.parts(job))

    def run(self, job: Job) -> dict[str, Any]:
        """Trains, tags, and gives the record of both; times hold the extraction of features, and MAP before."""
        train, scored = self.parts(job)
        model, times = timed(lambda: fit(self.template(job), train, stage=job.method, threads=self.threads))
        own = model.record
        found = {
            **job._asdict(),
            "inputs": self.fingerprint(job),
            "scores": self._scores(model, scored),
            "train_scores": self._scores(model, train),
            "objective": own.objective,
            "iterations": own.iterations,
            "evaluations": own.evaluations,
            "reason": own.reason,
            "weights": model.num_weights,
            **times._asdict(),
            "threads": self.threads,
        }
        if job.part == "test":
            labels, sentences = wrong(model, scored, job.task, self.threads)
            found |= {"wrong_labels": labels, "wrong_sentences": sentences}
        return found

    def _scores(self, model: TrainedModel, corpus: Corpus) -> dict[str, float]:
        scores = model.evaluate(corpus, threads=self.threads)
        return {"f1": float(scores[f"segments({self.task}).f1"]), "sentence": float(scores["sentence_accuracy"])}


def wrong(model: TrainedModel, corpus: Corpus, label: str, threads: int | None) -> tuple[list[int], list[int]]:
    """The tokens whose label is wrong, and the sentences that have one, by number."""
    gold = corpus.text_column(label)
    found = model.predict(corpus, threads=threads).texts(label)
    tokens = [n for n, text in enumerate(found) if text != gold.text(n)]
    sentences = np.searchsorted(corpus.sentence_off, tokens, side="right") - 1
    return tokens, np.unique(sentences).tolist()
