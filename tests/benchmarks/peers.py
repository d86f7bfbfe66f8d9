"""The peers, each run in this process through its own interface: python-crfsuite, PGMax, pyAgrum.

CRFsuite gets the features of our extractor as attributes, so both sides have the same weights. A program that is not
installed is skipped with the reason.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import statistics
import time
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from figures import Skip
from numpy.typing import NDArray
from work import SMOKE, corpus_of, resolved_of, work_folder

from dcrfdsl.data.corpus import Corpus
from dcrfdsl.features.extract import FeatureExtractor
from dcrfdsl.features.values.lexicons import load_lexicons

C2 = 0.1  # CRFsuite's penalty c2·‖w‖² equals a Gaussian prior of variance 5


def peer(module: str, package: str) -> ModuleType:
    """The module of a peer. Raises Skip if it is not installed, or incompatible with the other packages."""
    try:
        return importlib.import_module(module)
    except Exception as error:
        raise Skip(f"{package}: {type(error).__name__}: {error}") from error


# plain Python -----------------------------------------------------------------------------------------------------

WORD, POS = 0, 1
CHUNKING_TEMPLATES = (  # the 19 templates of the chunking model, each a list of (column, offset)
    *([(WORD, offset)] for offset in range(-2, 3)),
    [(WORD, -1), (WORD, 0)], [(WORD, 0), (WORD, 1)],
    *([(POS, offset)] for offset in range(-2, 3)),
    *([(POS, offset), (POS, offset + 1)] for offset in range(-2, 2)),
    *([(POS, offset), (POS, offset + 1), (POS, offset + 2)] for offset in range(-2, 1)),
)  # fmt: skip


def plain_extraction(path: Path) -> tuple[int, list[list[int]]]:
    """What a loop in plain Python does for the same rows: tokens read, and the numbers of the features of each token.

    Positions before and after a sentence have texts of their own, as in our extractor.
    """
    number_of: dict[tuple[int, tuple[str, ...]], int] = {}
    rows: list[list[int]] = []
    for sentence in path.read_text(encoding="utf-8").split("\n\n"):
        cells = [line.split() for line in sentence.splitlines()]
        padded = [["<-2>"] * 2, ["<-1>"] * 2, *cells, ["<+1>"] * 2, ["<+2>"] * 2]
        for at in range(2, len(cells) + 2):
            keys = [
                (number, tuple(padded[at + offset][column] for column, offset in template))
                for number, template in enumerate(CHUNKING_TEMPLATES)
            ]
            rows.append([number_of.setdefault(key, len(number_of)) for key in keys])
    return len(number_of), rows


# CRFsuite ---------------------------------------------------------------------------------------------------------


class Descent(NamedTuple):
    """A training run: seconds since its start, and the objective, after each iteration."""

    seconds: NDArray[np.float64]
    objective: NDArray[np.float64]

    def reaches(self, bound: float) -> float:
        """Seconds until the objective is at most `bound`; infinite if it never is."""
        reached = np.flatnonzero(self.objective <= bound)
        return float(self.seconds[reached[0]]) if len(reached) else float("inf")


def attributes(source: str, corpus: Corpus) -> list[list[list[str]]]:
    """The features of each token of each sentence, as CRFsuite takes them."""
    resolved = resolved_of(source)
    spec = resolved.require()
    _, (rows, *_) = FeatureExtractor.learn(spec, corpus, resources=load_lexicons(spec, resolved.directories))
    names = [str(feature) for feature in rows.feature.tolist()]
    tokens = [names[start:end] for start, end in itertools.pairwise(rows.row_off.tolist())]
    return [tokens[start:end] for start, end in itertools.pairwise(corpus.sentence_off.tolist())]


def crfsuite_trainer(source: str, label: str, iterations: int, corpus: Corpus | None = None) -> Any:
    """CRFsuite's trainer, with the data loaded: those of `corpus_of` if no corpus is given."""
    pycrfsuite = peer("pycrfsuite", "python-crfsuite")
    corpus = corpus_of(source) if corpus is None else corpus
    column, off = corpus.text_column(label), corpus.sentence_off.tolist()
    texts = [column.values[code] for code in column.codes.tolist()]
    trainer = pycrfsuite.Trainer(verbose=False)
    for (start, end), items in zip(itertools.pairwise(off), attributes(source, corpus), strict=True):
        trainer.append(items, texts[start:end])
    trainer.select("lbfgs")
    trainer.set_params({"c1": 0, "c2": C2, "max_iterations": iterations, "epsilon": 1e-12, "delta": 0})
    return trainer


@functools.cache
def crfsuite_descent(source: str, label: str, iterations: int) -> Descent:
    """A run of CRFsuite's L-BFGS, with the seconds that it reports for its iterations alone."""
    trainer = crfsuite_trainer(source, label, iterations)
    trainer.train(str(_model(source)))
    steps = trainer.logparser.iterations
    return Descent(
        np.cumsum([float(step["time"]) for step in steps]), np.array([float(step["loss"]) for step in steps])
    )


def _model(source: str) -> Path:
    return work_folder() / f"crfsuite-{hash(source) & 0xFFFFFF}.model"


def crfsuite_pass(source: str, label: str) -> float:
    """Seconds of one evaluation of objective and gradient: the median over iterations, most of which need only one."""
    seconds = crfsuite_descent(source, label, 3 if SMOKE else 15).seconds
    return float(statistics.median(np.diff(seconds)))


def crfsuite_evaluation(source: str, label: str, corpus: Corpus) -> float:
    """Processor seconds of one evaluation of objective and gradient: those of a run less those of a shorter one."""
    taken, evaluations = [], []
    for iterations in (1, 3):
        trainer = crfsuite_trainer(source, label, iterations, corpus)
        start = time.process_time()
        trainer.train(str(_model(source)))
        taken.append(time.process_time() - start)
        evaluations.append(sum(int(step["linesearch_trials"]) for step in trainer.logparser.iterations))
    return (taken[1] - taken[0]) / (evaluations[1] - evaluations[0])


def crfsuite_tagging(source: str, label: str) -> float:
    """Tokens per second of CRFsuite's tagger, without extraction: features are passed as lists of texts."""
    pycrfsuite = peer("pycrfsuite", "python-crfsuite")
    crfsuite_descent(source, label, 3 if SMOKE else 15)
    corpus = corpus_of(source)
    sentences = attributes(source, corpus)
    tagger = pycrfsuite.Tagger()
    tagger.open(str(_model(source)))
    start = time.perf_counter()
    for items in sentences:
        tagger.tag(items)
    return corpus.num_tokens / (time.perf_counter() - start)


# general graphs -------------------------------------------------------------------------------------------------------


def pgmax_updates(cards: int, scopes: list[tuple[int, int]], num_variables: int, sweeps: int) -> float:
    """Messages per second of PGMax's sum-product on pairwise factors, compiled by JAX: the difference of two runs."""
    fgraph, fgroup = peer("pgmax.fgraph", "pgmax"), peer("pgmax.fgroup", "pgmax")
    infer, vgroup = peer("pgmax.infer", "pgmax"), peer("pgmax.vgroup", "pgmax")
    variables = vgroup.NDVarArray(num_states=cards, shape=(num_variables,))
    graph = fgraph.FactorGraph(variable_groups=variables)
    tables = np.random.default_rng(0).normal(size=(len(scopes), cards, cards))
    pairs = [[variables[a], variables[b]] for a, b in scopes]
    graph.add_factors(fgroup.PairwiseFactorGroup(variables_for_factors=pairs, log_potential_matrix=tables))
    try:
        bp = infer.build_inferer(graph.bp_state, backend="bp")
    except AttributeError as error:  # it needs a JAX that still has `jax.lib.xla_bridge`
        raise Skip(f"pgmax does not fit this jax: {error}") from error
    arrays = bp.init()

    def run(count: int) -> float:
        block = importlib.import_module("jax").block_until_ready
        call = functools.partial(bp.run, arrays, num_iters=count, damping=0.0, temperature=1.0)
        block(call())  # compiles
        start = time.perf_counter()
        block(call())
        return time.perf_counter() - start

    few, many = run(sweeps), run(3 * sweeps)
    return 2 * sweeps * 2 * len(scopes) / (many - few)


def pyagrum_exact(length: int, first: int, second: int, rounds: int) -> float:
    """Seconds of all exact marginals of two coupled chains by pyAgrum's junction tree, on all cores."""
    gum = peer("pyagrum", "pyagrum")
    model, draw = gum.MarkovRandomField(), np.random.default_rng(0).normal
    for chain, cards in (("a", first), ("b", second)):
        for t in range(length):
            model.add(gum.RangeVariable(f"{chain}{t}", "", 0, cards - 1))
    for t in range(length):
        model.addFactor([f"a{t}", f"b{t}"]).fillWith(np.exp(draw(size=first * second)).tolist())
        if t:
            model.addFactor([f"a{t - 1}", f"a{t}"]).fillWith(np.exp(draw(size=first * first)).tolist())
            model.addFactor([f"b{t - 1}", f"b{t}"]).fillWith(np.exp(draw(size=second * second)).tolist())
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        tree = gum.ShaferShenoyMRFInference(model)
        tree.makeInference()
        for name in model.names():
            tree.posterior(name)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)
