"""The trainings of Sutton, Rohanimanesh and McCallum (2004), Section 4: what is trained on what, and how it scores.

Three models (`MODELS`): the factorial CRF; the cascade CRF+CRF; Brill+CRF, the cascade's second CRF given the corpus's
own part-of-speech column, which Brill's tagger wrote. Not here: which trainings there are (`run`), what becomes of
their scores (`tables`, `figure`).
"""

from __future__ import annotations

import functools
import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from running import fingerprint, sentences_of, timed

from dcrfdsl import fit, load_template, load_text, read_corpus, to_text
from dcrfdsl.data import Corpus, InternedColumn
from dcrfdsl.metrics import evaluation_of, prediction_tallies, values_of
from dcrfdsl.model.prediction import Prediction
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import Resolved

HERE = Path(__file__).parent

# Table 1 trains as the templates say, by `table1`. The others are the rows of Table 3: training stops messages where
# the row says; tagging always lets them converge.
_L_BFGS = "train.optimizer=lbfgs(memory=20)"
SETTINGS: Mapping[str, tuple[str, ...]] = {
    "table1": (),
    "random3": (_L_BFGS, "infer=bp(schedule=random)", "train.infer=bp(schedule=random, max_iterations=3)"),
    "tree3": (_L_BFGS, "infer=trp", "train.infer=trp(max_iterations=3)"),
    "tree": (_L_BFGS, "infer=trp"),
    "random": (_L_BFGS, "infer=bp(schedule=random)"),
    "exact": (_L_BFGS, "infer=exact"),
}

WARM_UP = 223  # sentences of the training that compiles and loads the kernels before the clock starts


class Job(NamedTuple):
    """One training: a model with a setting of inference, on subset number `subset` of `size` sentences."""

    model: str
    setting: str
    size: int
    subset: int

    def __str__(self) -> str:
        return f"{self.model} ({self.setting}), {self.size} sentences, subset {self.subset + 1}"


@dataclass(frozen=True)
class Lists:
    """Word lists that join the features q: `text` declares them (lexicons and a group), `directory` holds their files.

    sha256: of what is in them.   lexicon: words by part of speech from Brill's lexicon are among them.
    """

    text: str = ""
    directory: Path = HERE
    sha256: str = ""
    lexicon: bool = False


@dataclass(frozen=True)
class Experiment:
    """Data, word lists and settings that all trainings share. `overrides` are as in `dcrfdsl train --set`.

    edges: every clique reads the observations, as the potentials of eq. 4 do; else those of one label alone, and the
    others have biases.
    """

    train: Corpus
    test: Corpus
    lists: Lists = Lists()
    overrides: tuple[str, ...] = ()
    threads: int | None = None
    seed: int = 0
    edges: bool = True
    _warm: set[tuple[str, str]] = field(default_factory=set, repr=False)

    @classmethod
    def of(cls, directory: Path, **settings: Any) -> Experiment:
        """With the corpus of `directory`, `train.txt` and `test.txt` in the columns word, part of speech, chunk."""
        data = load_template(HERE / "factorial.dcrf").require().data
        assert data is not None
        train, test = (read_corpus(directory / f"{part}.txt", data) for part in ("train", "test"))
        return cls(train, test, **settings)

    def template(self, name: str, setting: str) -> Resolved:
        """A template of this folder with the settings of a job and the word lists that were given."""
        return _template(name, (*SETTINGS[setting], *self.overrides), self.lists, self.edges)

    def fingerprint(self, job: Job) -> str:
        """What the outcome of a job depends on, beside the program: a record with another one is of another job."""
        texts = [to_text(self.template(name, job.setting).require()) for name in MODELS[job.model].templates]
        return fingerprint("\0".join([*texts, self.lists.sha256, str(self.seed)]), (self.train, self.test))

    def run(self, job: Job) -> dict[str, Any]:
        """Trains, tags the test set, and gives the record of both.

        Times are of training alone, features included, in seconds of wall clock and of all threads' processor time.
        """
        subset = drawn(self.train, job.size, job.subset, self.seed)
        train = functools.partial(MODELS[job.model].train, self, job.setting)
        if (job.model, job.setting) not in self._warm:
            train(subset.slice(0, min(WARM_UP, job.size)), ("train.optimizer=lbfgs(max_iterations=1)",))
            self._warm.add((job.model, job.setting))
        models, times = timed(lambda: train(subset, ()))
        records = [model.record for model in models]
        return {
            **job._asdict(),
            "inputs": self.fingerprint(job),
            "scores": MODELS[job.model].score(self, models),
            **times._asdict(),
            "threads": self.threads,
            "iterations": sum(record.iterations for record in records),
            "evaluations": sum(record.evaluations for record in records),
            "objectives": [record.objective for record in records],
            "weights": [model.num_weights for model in models],
            "reasons": [record.reason for record in records],
            "notes": [note for record in records for note in record.notes],
        }

    def fit(self, name: str, setting: str, corpus: Corpus, overrides: Sequence[str]) -> TrainedModel:
        own = replace(self, overrides=(*self.overrides, *overrides))
        return fit(own.template(name, setting), corpus, threads=self.threads)


# models ---------------------------------------------------------------------------------------------------------


class ModelKind(NamedTuple):
    """`train` gives the models that it trains, in order; `score` their scores on the test set, shares in 0–1."""

    templates: tuple[str, ...]
    train: Callable[[Experiment, str, Corpus, Sequence[str]], list[TrainedModel]]
    score: Callable[[Experiment, list[TrainedModel]], dict[str, float]]


def _train_factorial(lab: Experiment, setting: str, corpus: Corpus, overrides: Sequence[str]) -> list[TrainedModel]:
    return [lab.fit("factorial", setting, corpus, overrides)]


def _train_cascade(lab: Experiment, setting: str, corpus: Corpus, overrides: Sequence[str]) -> list[TrainedModel]:
    """The second CRF is trained on the tags that the first one gives to its own training data, not on the gold ones."""
    first = lab.fit("pos_chain", setting, corpus, overrides)
    tags = first.predict(corpus, threads=lab.threads)
    return [first, lab.fit("np_chain", setting, retagged(corpus, tags), overrides)]


def _train_chunker(lab: Experiment, setting: str, corpus: Corpus, overrides: Sequence[str]) -> list[TrainedModel]:
    return [lab.fit("np_chain", setting, corpus, overrides)]


def _score_alone(lab: Experiment, models: list[TrainedModel]) -> dict[str, float]:
    return _named(models[0].evaluate(lab.test, threads=lab.threads))


def _score_cascade(lab: Experiment, models: list[TrainedModel]) -> dict[str, float]:
    """Both labels together by the metrics of the factorial model, so that a token counts as jointly right alike."""
    tags = models[0].predict(lab.test, threads=lab.threads)
    chunks = models[1].predict(retagged(lab.test, tags), threads=lab.threads)
    spec = load_template(HERE / "factorial.dcrf").require()
    codes, states = {**tags.codes, **chunks.codes}, {**tags.states, **chunks.states}
    return _named(values_of(prediction_tallies(spec, evaluation_of(spec, lab.test, codes, states))))


MODELS: Mapping[str, ModelKind] = {
    "crf+crf": ModelKind(("pos_chain", "np_chain"), _train_cascade, _score_cascade),
    "brill+crf": ModelKind(("np_chain",), _train_chunker, _score_alone),
    "fcrf": ModelKind(("factorial",), _train_factorial, _score_alone),
}

_MEASURES = {
    "pos": "accuracy(pos)",
    "np": "accuracy(chunk)",
    "joint": "joint_accuracy",
    "f1": "segments(chunk).f1",
}


def _named(scores: Mapping[str, float | int]) -> dict[str, float]:
    return {short: float(scores[name]) for short, name in _MEASURES.items() if name in scores}


# data -----------------------------------------------------------------------------------------------------------


def drawn(corpus: Corpus, size: int, subset: int, seed: int) -> Corpus:
    """Subset number `subset` of `size` sentences, without replacement, in the corpus's order, with its values only."""
    generator = np.random.default_rng([seed, size, subset])
    chosen = np.sort(generator.choice(corpus.num_sentences, size, replace=False))
    return sentences_of(corpus, chosen)


def retagged(corpus: Corpus, tags: Prediction) -> Corpus:
    """The corpus with predicted parts of speech in its column."""
    column = InternedColumn(tags.codes["pos"], tags.states["pos"])
    return replace(corpus, columns={**corpus.columns, "pos": column})


# word lists -----------------------------------------------------------------------------------------------------


def read_lists(names: Path | None, lexicon: Path | None, tagged: Sequence[Path], directory: Path) -> Lists:
    """The lists of names in the folder `names`, and words by part of speech of a lexicon and of `tagged` corpora.

    names: holds `first-names.txt`, `places.txt` or both, an entry a line.   lexicon: lines `word tag tag …`, as Brill's
    tagger has it.   tagged: `word tag` lines, or CoNLL-U with the tag in the fifth column (`*.conllu`).
    directory: where all lists are written for templates to read.
    """
    entries: dict[str, str] = {}  # of the lexicons, a line each
    features = []
    for name, feature in (("first-names", "word in {}"), ("places", "span(word, {})")):
        path = names / f"{name}.txt" if names else None
        if path is not None and path.exists():
            entries[name.replace("-", "_")] = path.read_text(encoding="utf-8")
            features.append(feature.format(name.replace("-", "_")))
    words: dict[str, set[str]] = defaultdict(set)
    for line in lexicon.read_text(encoding="utf-8").splitlines() if lexicon else ():
        word, *tags = line.split() or [""]
        for tag in tags:
            words[tag].add(word)
    for path in tagged:
        for word, tag in _tagged_words(path):
            words[tag].add(word)
    for number, tag in enumerate(sorted(words)):
        entries[f"tag{number}"] = "".join(f"{word}\n" for word in sorted(words[tag]))
        features.append(f"word in tag{number}")
    if not entries:
        return Lists()
    digest = hashlib.sha256()
    for name, text in entries.items():
        (directory / f"{name}.txt").write_text(text, encoding="utf-8")
        digest.update(f"{name}\0{text}\0".encode())
    lexicons = [f'lexicon {name} = "{name}.txt"' for name in entries]
    text = "\n".join([*lexicons, "features lists:", *(f"    {feature}" for feature in features), ""])
    return Lists(text, directory, digest.hexdigest(), lexicon is not None)


def _tagged_words(path: Path) -> Iterator[tuple[str, str]]:
    word, tag, separator = (1, 4, "\t") if path.suffix == ".conllu" else (0, 1, None)
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = line.split(separator)
        if len(cells) > max(word, tag) and cells[tag] != "_":
            yield cells[word], cells[tag]


@functools.cache
def _template(name: str, overrides: tuple[str, ...], lists: Lists, edges: bool) -> Resolved:
    """A template of this folder, with the features of `lists` in its group q."""
    resolved = load_template(HERE / f"{name}.dcrf", overrides)
    if not edges:
        spec = resolved.require()
        cliques = [
            clique.model_copy(update={"features": ()}) if len(clique.sites) > 1 else clique for clique in spec.cliques
        ]
        resolved = replace(resolved, spec=spec.model_copy(update={"cliques": tuple(cliques)}))
    if not lists.text:
        return resolved
    extra = load_text(lists.text, "<lists>", directory=lists.directory)
    spec, more = resolved.require(), extra.spec
    groups = [
        group.model_copy(update={"features": group.features + more.groups[0].features}) if group.name == "q" else group
        for group in spec.groups
    ]
    spec = spec.model_copy(update={"lexicons": spec.lexicons + more.lexicons, "groups": tuple(groups)})
    return replace(resolved, spec=spec, directories={**resolved.directories, **extra.directories})
