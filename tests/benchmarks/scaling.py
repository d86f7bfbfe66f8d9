"""Growth of cost with tokens, threads, labels, chains, and the length of one sequence. Not here: peers."""

from __future__ import annotations

import functools
import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from figures import Figure, Skip, at_most, seconds_of
from work import CHUNKING, ROUNDS, SMOKE, corpus_of, objective, trained_weights

from dcrfdsl.cli.command_files import data_statement
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.data.corpus import Corpus
from dcrfdsl.graph import FactorGraph
from dcrfdsl.inference import infer_graph
from dcrfdsl.semantics import EpSettings
from dcrfdsl.semantics.resolve.resolution import load_text

TIMES = (1, 2) if SMOKE else (1, 2, 4, 8)
POSITIONS = (25, 50) if SMOKE else (25, 50, 100, 200, 400, 800)
LABELS = (5, 20) if SMOKE else (5, 10, 20, 44, 70, 100)
SENTENCES = 50 if SMOKE else 2000
PASS = "a pass of objective and gradient"


def tokens() -> Iterator[Figure]:
    """The chain pass at 1, 2, 4 and 8 times the data, on 1 and 2 threads; the cost of a token is to stay the same."""
    for threads in (1, 2):
        first = 0.0
        for times in TIMES:
            corpus = corpus_of(CHUNKING, times)
            criterion, weights = objective(CHUNKING, corpus, threads=threads), trained_weights(CHUNKING)
            if len(weights) != criterion.num_weights:
                raise RuntimeError("the same sentences again must not bring new weights")
            seconds = seconds_of(functools.partial(criterion.value_and_gradient, weights), ROUNDS)
            a_token = seconds / corpus.num_tokens * 1e9
            first = first or a_token
            yield Figure(
                f"{times}× tokens, {threads} thread{'s' if threads > 1 else ''}", a_token, "ns/token", PASS,
                at_most(1.3 * first) if times > 1 else None,
            )  # fmt: skip


def labels() -> Iterator[Figure]:
    """A chain of 5 to 100 labels, every state of every neighbour: a pass on 2 threads."""
    text = """
data conll(word, y)
label y
clique y: bias, word[-1..1]
clique y[-1], y with states = all
infer exact
train likelihood: prior = gaussian(variance = 5)
"""
    for count in LABELS:
        yield from _generated(f"{count} labels", text, count, 1)


def chains() -> Iterator[Figure]:
    """One to four coupled chains of 5 labels each, by what `auto` takes: a pass on 2 threads."""
    for count in (1, 2, 3, 4):
        names = [f"y{k}" for k in range(count)]
        lines = [f"data conll(word, {', '.join(names)})", *(f"label {name}" for name in names)]
        lines += [f"clique {name}: bias, word[-1..1]" for name in names]
        lines += [f"clique {name}[-1], {name} with states = all" for name in names]
        lines += [f"clique {a}, {b} with states = all" for a, b in itertools.pairwise(names)]
        lines += ["infer auto", "train likelihood: prior = gaussian(variance = 5)"]
        yield from _generated(f"{count} chain{'s' if count > 1 else ''}", "\n".join(lines) + "\n", 5, count)


def tree_terms() -> Iterator[Figure]:
    """Ten sweeps of `ep` on three coupled chains of 4 states, 25 to 800 positions: a position is to cost the same."""
    settings = EpSettings(max_iterations=10, tolerance=1e-12)
    first = 0.0
    for length in POSITIONS:
        graph = _coupled(length)
        infer_graph(graph, "mar", settings)
        seconds = seconds_of(lambda graph=graph: infer_graph(graph, "mar", settings), ROUNDS)  # type: ignore[misc]
        first = first or seconds / length
        yield Figure(
            f"ep, {length} positions", seconds / length * 1e6, "µs/position", "the layout of the graph and ten sweeps",
            at_most(2e6 * first) if length > POSITIONS[0] else None,
        )  # fmt: skip


def _coupled(length: int) -> FactorGraph:
    """Three chains; the cliques between them come first, so that the tree has these and one of the chains."""
    scopes = [(3 * t + k, 3 * t + k + 1) for k in range(2) for t in range(length)]
    scopes += [(3 * t + k, 3 * t + 3 + k) for k in range(3) for t in range(length - 1)]
    draw = np.random.default_rng(0)
    return FactorGraph((4,) * (3 * length), tuple(scopes), tuple(draw.normal(size=(4, 4)) for _ in scopes))


def _generated(name: str, text: str, states: int, columns: int) -> Iterator[Figure]:
    corpus = _corpus(text, states, columns)
    criterion = objective(text, corpus, threads=2)
    weights = np.random.default_rng(0).normal(scale=0.1, size=criterion.num_weights)
    seconds = seconds_of(lambda: criterion.value_and_gradient(weights), ROUNDS)
    yield Figure(name, seconds / corpus.num_tokens * 1e9, "ns/token", f"{PASS}; words and labels drawn at random")


def _corpus(text: str, states: int, columns: int) -> Corpus:
    draw = np.random.default_rng(0)
    rows = []
    for length in draw.integers(5, 45, size=SENTENCES).tolist():
        words = np.minimum(draw.zipf(1.4, length), 5000)
        tags = draw.integers(states, size=(length, columns))
        rows.append(
            [
                (f"w{word}", *(f"L{tag}" for tag in token_tags))
                for word, token_tags in zip(words, tags.tolist(), strict=True)
            ]
        )
    return corpus_from_rows(rows, data_statement(load_text(text).require()))


# one long sequence ----------------------------------------------------------------------------------------------------

LONG = """
data conll(word, y)
label y
clique y: bias, word
clique y[-1], y
infer exact
train likelihood: optimizer = lbfgs(max_iterations = 2)
"""
LENGTH = 20_000 if SMOKE else 1_000_000  # positions; short sentences have hundreds at most
BYTES = 1000  # per position, including the marginals of 20 states
RUN = """
import sys, time
import numpy as np
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.foundation import give_back_memory
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training import fit
text, length, task = sys.argv[1], int(sys.argv[2]), sys.argv[3]
resolved = load_text(text)
draw = np.random.default_rng(0).integers
sentences = [[(f"w{draw(50)}", f"L{draw(20)}") for _ in range(50)] for _ in range(40)]
small = corpus_from_rows(sentences, resolved.require().data)
model = fit(resolved, small)
run = getattr(model, task)
run(small)  # compiles
one = corpus_from_rows([[(f"w{i % 50}", f"L{i % 20}") for i in range(length)]], resolved.require().data)
def resident(name):  # KB, now (VmRSS) or at most since the last reset (VmHWM)
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name))
give_back_memory()  # of the rows, which take more than inference does
open("/proc/self/clear_refs", "w").write("5")  # the peak begins anew
before, start = resident("VmRSS"), time.perf_counter()
run(one)
seconds = time.perf_counter() - start
print(seconds, 1024 * (resident("VmHWM") - before))
"""


def long_sequence() -> Iterator[Figure]:
    """One sequence of 10⁶ positions, 20 states: labels and marginals, and the memory that they take."""
    if not Path("/proc/self/clear_refs").exists():
        raise Skip("needs Linux, to read a process's memory")
    for task in ("predict", "marginals"):
        line = [sys.executable, "-c", RUN, LONG, str(LENGTH), task]
        done = subprocess.run(line, capture_output=True, text=True, check=True)
        seconds, size = (float(word) for word in done.stdout.split())
        work = "a fresh process, the data loaded and kernels compiled before"
        yield Figure(f"{task} of {LENGTH:,} positions", seconds, "s", work)
        yield Figure(f"memory of it, {task}", size / LENGTH, "B/position", work, at_most(BYTES))
