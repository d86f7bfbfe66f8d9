"""The material of the benchmarks: CoNLL-2000 if it lies beside the repository, templates, commands in fresh processes.

With the variable CI set everything runs once, on a small slice, to show that it runs and not to measure. Not here: any
timing.
"""

from __future__ import annotations

import collections
import functools
import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from figures import Skip
from numpy.typing import NDArray

from dcrfdsl.cli.command_files import data_statement
from dcrfdsl.criteria.criteria_table import CRITERIA
from dcrfdsl.criteria.criterion import Criterion
from dcrfdsl.criteria.likelihood import Likelihood
from dcrfdsl.criteria.penalties import Penalty
from dcrfdsl.criteria.training_problem import TrainingProblem
from dcrfdsl.data import read_corpus
from dcrfdsl.data.corpus import Corpus
from dcrfdsl.inference import METHODS, Binder, Workers, choose_method
from dcrfdsl.semantics.resolve.resolution import Resolved, load_template, load_text
from dcrfdsl.semantics.settings.loss_settings import LOSSES, MceSettings
from dcrfdsl.semantics.settings.prior_settings import GaussianPrior
from dcrfdsl.semantics.settings.settings_reading import inference_settings
from dcrfdsl.semantics.settings.training_settings import TrainSettings
from dcrfdsl.training.pipeline import fit
from dcrfdsl.training.untrained_model import assemble

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
SMOKE = bool(os.environ.get("CI"))
ROUNDS = 1 if SMOKE else 7
SLICE = 200  # sentences of a short run

CHUNKING = "08_crfsuite_chunking"
FACTORIAL = "02_factorial"
POS = """
data conll(word, pos, chunk)
label pos
features window:
    word[-2..2]
    word[-1] & word, word & word[1]
    prefix(word, 1..4), suffix(word, 1..4)
clique pos with states = seen: window
clique pos[-1], pos with states = seen
infer exact
train likelihood: prior = gaussian(variance = 5)
"""


@functools.cache
def work_folder() -> Path:
    """A folder for files, removed when the process ends."""
    holder = tempfile.TemporaryDirectory(prefix="dcrfdsl-benchmarks-")
    _HOLDERS.append(holder)
    return Path(holder.name)


_HOLDERS: list[tempfile.TemporaryDirectory[str]] = []  # a folder is removed with the object that made it


# data and templates -----------------------------------------------------------------------------------------------


@functools.cache
def conll2000(part: str = "train") -> str:
    """The text of CoNLL-2000's `train` or `test`."""
    path = SHARED / "data" / "conll2000" / f"{part}.txt"
    if not path.exists():
        raise Skip("CoNLL-2000 is not beside the repository, at ../shared/data/conll2000")
    sentences = path.read_text(encoding="utf-8").strip().split("\n\n")
    return "\n\n".join(sentences[: SLICE if SMOKE else None]) + "\n\n"


def repeated_file(times: int = 1) -> Path:
    """A file with the training text repeated `times` times."""
    return _written(f"train-{times}.txt", lambda: conll2000() * times)


def training_file() -> Path:
    return repeated_file(1)


def test_file() -> Path:
    return _written("test.txt", lambda: conll2000("test"))


def treebank_sentences(tag: Callable[[list[str]], str], count: int | None = None) -> list[list[tuple[str, str]]]:
    """Words and tags of the first sentences of UD English EWT, for training. tag: of the fields of a word's line."""
    path = SHARED / "data" / "ud_english_ewt" / "en_ewt-ud-train.conllu"
    if not path.exists():
        raise Skip("UD English EWT is not beside the repository, at ../shared/data/ud_english_ewt")
    sentences = []
    for block in path.read_text(encoding="utf-8").split("\n\n")[:count]:
        fields = [line.split("\t") for line in block.split("\n") if line and not line.startswith("#")]
        sentences.append([(field[1], tag(field)) for field in fields if field[0].isdigit()])
    return [sentence for sentence in sentences if sentence]


def spanish_pieces(longest: int, tags: int, count: int) -> list[list[tuple[str, str, str]]]:
    """Words, tags and entity labels of CoNLL-2002's Spanish training text, cut evenly into pieces of at most `longest`
    words, of which the first `count`. All but the most frequent tags become one.
    """
    path = SHARED / "data" / "conll2002" / "esp.train"
    if not path.exists():
        raise Skip("CoNLL-2002 is not beside the repository, at ../shared/data/conll2002")
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    rows = [[line.split(" ") for line in block.splitlines()] for block in blocks]
    seen = collections.Counter(tag for sentence in rows for _, tag, _ in sentence)
    kept = {tag for tag, _ in seen.most_common(tags - 1)}
    out = []
    for sentence in rows:
        pieces = -(-len(sentence) // longest)
        cuts = [len(sentence) * piece // pieces for piece in range(pieces + 1)]
        known = [(word, tag if tag in kept else "other", entity) for word, tag, entity in sentence]
        out += [known[begin:end] for begin, end in itertools.pairwise(cuts)]
    return out[:count]


def _written(name: str, text: Callable[[], str]) -> Path:
    path = work_folder() / name
    if not path.exists():
        path.write_text(text(), encoding="utf-8")
    return path


def template(name: str) -> Path:
    path = SHARED / "design" / "examples" / f"{name}.dcrf"
    if not path.exists():
        raise Skip(f"{name}.dcrf is not beside the repository")
    return path


def resolved_of(source: str) -> Resolved:
    """The model of a template: its name, or its text."""
    return load_text(source) if "\n" in source else load_template(template(source))


@functools.cache
def corpus_of(source: str, times: int = 1) -> Corpus:
    return read_corpus(repeated_file(times), data_statement(resolved_of(source).require()))


# the engine ---------------------------------------------------------------------------------------------------------


def objective(source: str, corpus: Corpus, *, threads: int, method: str | None = None) -> Likelihood:
    """The likelihood of a template on a corpus, bound and ready; `method` replaces the template's inference method."""
    resolved = resolved_of(source) if method is None else _with_method(source, method)
    problem = assemble(resolved.require(), corpus, resolved.directories, {})
    parameters, counts = problem.learn_parameters()
    name, settings = choose_method(problem.graph, parameters, inference_settings(problem.spec))
    entry = METHODS[name]
    binder = Binder(problem.graph, parameters, programs=entry.programs)
    data = binder.bind(problem.rows, corpus.sentence_off, problem.relations).packed(bundled=True)
    precision = np.full(parameters.num_weights, 0.2)
    return Likelihood(data, entry.build(data, settings), counts, Penalty(precision), Workers(threads))


def criterion_of(source: str, corpus: Corpus, settings: TrainSettings, *, threads: int) -> Criterion:
    """Any criterion on a corpus as an objective, with the template's features."""
    resolved = resolved_of(source)
    problem = assemble(resolved.require(), corpus, resolved.directories, {})
    parameters, counts = problem.learn_parameters()
    problem = TrainingProblem(
        problem.spec, problem.graph, parameters, problem.rows, problem.relations, corpus.sentence_off, problem.gold,
        counts, Workers(threads), states=tuple(problem.states[name] for name in problem.graph.variables),
    )  # fmt: skip
    return CRITERIA[settings.criterion.method](problem, settings)


def segment_errors(source: str, corpus: Corpus, label: str, *, threads: int) -> Criterion:
    """The smooth F-score of segments on a corpus."""
    criterion = MceSettings(loss=LOSSES["fscore"].model_validate({"labels": (label,)}))
    settings = TrainSettings(criterion=criterion, prior=GaussianPrior(variance=1e5))
    return criterion_of(source, corpus, settings, threads=threads)


def _with_method(source: str, method: str) -> Resolved:
    if "\n" in source:
        return load_text(source, overrides=[f"infer={method}"])
    return load_template(template(source), [f"infer={method}"])


@functools.cache
def trained_weights(source: str, iterations: int = 10) -> NDArray[np.float64]:
    """The weights after `iterations` iterations; the time of inference depends on them."""
    overrides = ["infer=exact", f"train.optimizer=lbfgs(max_iterations={iterations})"]
    resolved = load_text(source, overrides=overrides) if "\n" in source else load_template(template(source), overrides)
    return fit(resolved, corpus_of(source)).weights


# commands -------------------------------------------------------------------------------------------------------------


def command(arguments: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> str:
    """The output of `dcrfdsl ARGUMENTS…` in a fresh process with compiled bytecode, as after an install."""
    return python("from dcrfdsl.cli import main; main()", arguments, environment)


def python(code: str, arguments: Sequence[str | Path] = (), environment: Mapping[str, str] | None = None) -> str:
    """The output of a program of one line in a process like that of `command`."""
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    variables |= {
        "PYTHONPATH": str(ROOT),
        "PYTHONPYCACHEPREFIX": str(work_folder() / "bytecode"),
        **(environment or {}),
    }
    line = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, env=variables, cwd=work_folder())
    if done.returncode:
        raise RuntimeError(f"{code} {' '.join(map(str, arguments))}: {done.stderr.strip()[-500:]}")
    return done.stdout
