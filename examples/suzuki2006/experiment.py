"""The trainings of Suzuki, McDermott and Isozaki (2006), section 5: what is trained on what, and how it scores.

A job trains one stage of a template with one value of C, from zero or from the weights of MAP, on all of the training
data or on all but the development data: its last sentences, or a random cut of as many. Not here: which jobs there are
and what they are for (`run`, `ablation`), tests and tables (`tables`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from running import fingerprint, sentences_of, timed

from dcrfdsl import fit, load_template, read_corpus, to_text
from dcrfdsl.data import Corpus
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import Resolved

HERE = Path(__file__).parent
HELD_OUT = 2000  # sentences of the development data, as in the paper
FILES = {"chunk": ("train.txt", "test.txt"), "ner": ("esp.train", "esp.testa")}  # of each task: training and test
ITERATIONS = {"lbfgs": 60, "quickprop": 150}  # where the optimizer is not the template's


class Method(NamedTuple):
    """A row of the tables. stage: of the template.   starts: `zero` or `map`.   tried: n of C = 10ⁿ.   other: a second
    optimizer.
    """

    stage: str
    starts: str
    tried: tuple[int, ...]
    other: str | None = None


# In the order of training: MAP before what starts from it, what matters most first.
METHODS: Mapping[str, Method] = {
    "map": Method("map", "zero", (0, 1, 2)),
    "mce_f_map": Method("mce_f", "map", (5, 6, 7), "lbfgs"),
    "mce_f": Method("mce_f", "zero", (5, 6)),
    "mce_sig_map": Method("mce_sig", "map", (3,)),  # one value, that of the paper: nothing to choose
    "mce_sig": Method("mce_sig", "zero", (3,)),
    "mce_log": Method("mce_log", "zero", (3,)),
    "ml": Method("ml", "zero", ()),
}


class Job(NamedTuple):
    """A training. n, map_n: C = 10ⁿ of the stage and of MAP where it starts, None where there is no prior or no MAP.

    optimizer: "" for the template's.   part: `dev` or `test`, what it is scored on.   cut: the development data are the
    last sentences (0), or drawn by this seed.   change: further settings, `STAGE.SETTING=VALUE`.   features: the
    template is `TASK_FEATURES.dcrf`, "" for `TASK.dcrf`.
    """

    task: str
    method: str
    n: int | None
    map_n: int | None
    optimizer: str
    part: str
    cut: int = 0
    change: tuple[str, ...] = ()
    features: str = ""

    def __str__(self) -> str:
        parts = [f"{self.task} {self.method}"]
        if self.n is not None:
            parts.append(f"C = 10^{self.n}")
        if self.map_n is not None:
            parts.append(f"from MAP of 10^{self.map_n}")
        cut = f"cut {self.cut}" if self.cut else ""
        return ", ".join([*parts, *filter(None, (self.features, *self.change, self.optimizer, cut)), self.part])

    @property
    def stage(self) -> str:
        return METHODS[self.method].stage

    def overrides(self) -> tuple[str, ...]:
        """The settings of the template that the job changes."""
        found = []
        if self.n is not None:
            found.append(f"{self.stage}.prior=gaussian(variance={10.0**self.n:.12g})")
        if self.optimizer:
            found.append(f"{self.stage}.optimizer={self.optimizer}(max_iterations = {ITERATIONS[self.optimizer]})")
        return (*found, *self.change)

    def begins_at(self) -> Job | None:
        """The training of MAP whose weights the job starts from."""
        if METHODS[self.method].starts == "zero":
            return None
        return self._replace(method="map", n=self.map_n, map_n=None, optimizer="", change=())


@dataclass(frozen=True)
class Experiment:
    """The data of a task. held_out: sentences of `train` that choose C.   starts: the last model of MAP, by job."""

    task: str
    train: Corpus
    test: Corpus
    held_out: int = HELD_OUT
    threads: int | None = None
    starts: dict[Job, TrainedModel] = field(default_factory=dict)

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
        name = f"{job.task}_{job.features}" if job.features else job.task
        return load_template(HERE / f"{name}.dcrf", job.overrides(), stage=job.stage)

    def parts(self, job: Job) -> tuple[Corpus, Corpus]:
        """What a job trains on, and what it is scored on."""
        whole, held_out = self.train.num_sentences, self.held_out
        if job.part == "test":
            return self.train, self.test
        if job.cut == 0:
            return self.train.slice(0, whole - held_out), self.train.slice(whole - held_out, whole)
        order = np.random.default_rng(job.cut).permutation(whole)
        kept, left_out = np.sort(order[held_out:]), np.sort(order[:held_out])
        return sentences_of(self.train, kept), sentences_of(self.train, left_out)

    def fingerprint(self, job: Job) -> str:
        """What the outcome of a job depends on, beside the program: a record with another one is of another job."""
        before = job.begins_at()
        jobs = [job] if before is None else [before, job]
        text = "".join(f"{to_text(self.template(one).require())}{one.method} " for one in jobs)
        return fingerprint(f"{text}{self.held_out}", (*self.parts(job), self.test))

    def run(self, job: Job) -> dict[str, Any]:
        """Trains, tags, and gives the record of both; times hold the extraction of features, but not MAP before.

        Of development data both these and the test set are scored.
        """
        train, scored = self.parts(job)
        before = job.begins_at()
        start = None if before is None else self._start(before)
        model, times = timed(lambda: self._fit(job, train, start))
        own = model.record
        labels, sentences = wrong(model, self.test, job.task, self.threads)
        return {
            **job._asdict(),
            "change": list(job.change),  # as JSON gives it back
            "inputs": self.fingerprint(job),
            "scores": self._scores(model, scored),
            "test_scores": self._scores(model, self.test),
            "train_scores": self._scores(model, train),
            "objective": own.objective,
            "iterations": own.iterations,
            "evaluations": own.evaluations,
            "reason": own.reason,
            "weights": model.num_weights,
            **times._asdict(),
            "threads": self.threads,
            "wrong_labels": labels,
            "wrong_sentences": sentences,
        }

    def _fit(self, job: Job, train: Corpus, start: TrainedModel | None) -> TrainedModel:
        return fit(self.template(job), train, stage=job.stage, start=start, threads=self.threads)

    def _start(self, job: Job) -> TrainedModel:
        """The model of MAP of a job, trained unless it is that of the last one."""
        if job not in self.starts:
            self.starts.clear()
            self.starts[job] = self._fit(job, self.parts(job)[0], None)
        return self.starts[job]

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
