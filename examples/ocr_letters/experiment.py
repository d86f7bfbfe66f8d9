"""The trainings on the OCR letters: which folds are trained on, which are tested, how many letters come out wrong.

The data are ten folds of words (`letters.npz`, see the README). A job trains one stage of a template on one fold and
tests on the nine others, or the other way round, or it is tested on words whose spelling training does not have. Not
here: which jobs there are (`run`), tables (`tables`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from running import timed

from dcrfdsl import corpus_from_rows, fit, load_template, to_text
from dcrfdsl.data import Corpus
from dcrfdsl.semantics.resolve.resolution import Resolved

HERE = Path(__file__).parent
FOLDS = 10
ROWS, COLUMNS = 16, 8
PIXELS = ROWS * COLUMNS
PROTOCOLS: Mapping[str, str] = {
    "nine": "train nine folds, test one",
    "one": "train one fold, test nine",
    "new": "train nine tenths of the spellings, test the others",
}
# The template that a method is a stage of.
TEMPLATES: Mapping[str, str] = {
    "crf": "letters.dcrf",
    "perceptron": "letters.dcrf",
    "patches": "patches.dcrf",
    "patches_second": "second.dcrf",
    "svm": "margins.dcrf",
    "svm_hamming": "margins.dcrf",
    "svm_rbf": "margins.dcrf",
}
# Settings of a template, and how they were chosen: see the README.
_MANY, _FEW = ("crf.prior=gaussian(variance=3)",), ("crf.prior=gaussian(variance=0.3)",)
_LOOSE = ("svm_hamming.C=0.1", "svm_hamming.tolerance=1e-3")
SETTINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "letters.dcrf": {"nine": _MANY, "one": _FEW, "new": _MANY},
    "patches.dcrf": {"nine": (), "one": (), "new": ()},
    "second.dcrf": {"nine": (), "one": (), "new": ()},
    "margins.dcrf": {"nine": _LOOSE, "one": (), "new": _LOOSE},
}
# A kernel compares all pairs of letters, and nine folds are 47,000 letters.
ONE_FOLD_ONLY = ("svm_rbf",)


class Words(NamedTuple):
    """Words of a file: `images[n]` [length, 128] zeros and ones, their letters, and the fold of each."""

    images: Sequence[NDArray[np.uint8]]
    letters: Sequence[Sequence[str]]
    fold: NDArray[np.int64]  # [words]

    @classmethod
    def of(cls, file: Path, limit: int | None = None) -> Words:
        """The words of an `.npz` file; of each fold the first `limit`, by default all.

        X: rows of packed bits.   y: letters from 0.   lengths, folds: of the words, in the order of the letters.
        """
        with np.load(file) as stored:
            pixels = np.unpackbits(stored["X"], axis=1)[:, :PIXELS]
            letters = [chr(ord("a") + code) for code in stored["y"].tolist()]
            off, fold = np.cumsum([0, *stored["lengths"].tolist()]), stored["folds"].astype(np.int64)
        chosen = [n for k in range(FOLDS) for n in np.flatnonzero(fold == k)[:limit].tolist()]
        return cls(
            [pixels[off[n] : off[n + 1]] for n in chosen], [letters[off[n] : off[n + 1]] for n in chosen], fold[chosen]
        )

    def spellings(self) -> NDArray[np.int64]:
        """The fold of the spelling of each word, [words]: those of the alphabetic list go to the folds in turn."""
        texts = ["".join(letters) for letters in self.letters]
        place = {text: n % FOLDS for n, text in enumerate(sorted(set(texts)))}
        return np.array([place[text] for text in texts], np.int64)


def patches(images: NDArray[np.uint8]) -> list[str]:
    """Of each letter the squares of 2 × 2 pixels that are not empty: `3.5.9` has row 3, column 5 and pixels 1001.

    images: [letters, 128] zeros and ones, row by row.
    """
    grid = images.reshape(-1, ROWS, COLUMNS).astype(np.int64)
    code = 8 * grid[:, :-1, :-1] + 4 * grid[:, :-1, 1:] + 2 * grid[:, 1:, :-1] + grid[:, 1:, 1:]
    return [" ".join(f"{row}.{column}.{own[row, column]}" for row, column in np.argwhere(own).tolist()) for own in code]


class Job(NamedTuple):
    """A training. protocol: of `PROTOCOLS`.   method: a stage.   fold: the one that is alone."""

    protocol: str
    method: str
    fold: int

    def __str__(self) -> str:
        return f"{PROTOCOLS[self.protocol]}: {self.method}, fold {self.fold}"


def jobs_of(protocols: Sequence[str], methods: Sequence[str], folds: int) -> list[Job]:
    """All that can be run of these; of folds the first ones."""
    return [
        Job(protocol, method, fold)
        for protocol in protocols
        for method in methods
        if protocol == "one" or method not in ONE_FOLD_ONLY
        for fold in range(folds)
    ]


@dataclass(frozen=True)
class Experiment:
    words: Words
    threads: int | None = None

    def template(self, job: Job) -> Resolved:
        name = TEMPLATES[job.method]
        return load_template(HERE / name, SETTINGS[name][job.protocol])

    def parts(self, job: Job) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers of the words that a job trains on, and of those that it is tested on."""
        alone = (self.words.spellings() if job.protocol == "new" else self.words.fold) == job.fold
        trained, tested = (alone, ~alone) if job.protocol == "one" else (~alone, alone)
        return np.flatnonzero(trained), np.flatnonzero(tested)

    def corpus(self, job: Job, chosen: NDArray[np.int64]) -> Corpus:
        """These words, with the columns that the template of the job has."""
        data = self.template(job).require().data
        assert data is not None
        read = patches if "patches" in {column.name for column in data.columns} else list
        name = "patches" if read is patches else "pixels"
        words = self.words
        return corpus_from_rows([{name: read(words.images[n]), "letter": words.letters[n]} for n in chosen], data)

    def fingerprint(self, job: Job) -> str:
        """What the outcome of a job depends on, beside the program: a record with another one is of another job."""
        digest = hashlib.sha256(to_text(self.template(job).require()).encode())
        digest.update(str(job).encode())
        for part in self.parts(job):
            for n in part:
                digest.update("".join(self.words.letters[n]).encode())
                digest.update(self.words.images[n].tobytes())
            digest.update(b"|")
        return digest.hexdigest()[:16]

    def run(self, job: Job) -> dict[str, Any]:
        """Trains, tags, and gives the record of both; times hold the extraction of features."""
        train, test = (self.corpus(job, part) for part in self.parts(job))
        model, times = timed(lambda: fit(self.template(job), train, stage=job.method, threads=self.threads))
        own, scores = model.record, [model.evaluate(part, threads=self.threads) for part in (train, test)]
        return {
            **job._asdict(),
            "inputs": self.fingerprint(job),
            "train_words": train.num_sentences,
            "test_words": test.num_sentences,
            "test_letters": test.num_tokens,
            "train_error": 100.0 * (1.0 - float(scores[0]["accuracy(letter)"])),
            "error": 100.0 * (1.0 - float(scores[1]["accuracy(letter)"])),
            "word_error": 100.0 * (1.0 - float(scores[1]["sentence_accuracy"])),
            "objective": own.objective,
            "iterations": own.iterations,
            "reason": own.reason,
            "weights": model.num_weights,
            **times._asdict(),
            "threads": self.threads,
        }
