"""What `auto` chooses, on small models of many shapes: training to convergence by `exact`, by `trp` and by `auto`.

Labels follow a hidden state that moves along the sequence, and words follow the labels, so that training has something
to learn and converges. Times are processor time of the whole training, one thread, kernels loaded before, medians.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from dialogues import TEMPLATE, dialogues
from figures import Figure, times_faster
from work import ROUNDS, SMOKE

from dcrfdsl.data import Corpus, corpus_from_rows
from dcrfdsl.foundation import DcrfError
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

LIMIT = 6.0  # seconds after which a training that has not converged is stopped
TRAIN = "train likelihood: prior = gaussian(variance = 2), optimizer = lbfgs(max_iterations = 300)\n"
WORDS = 100

Groups = Callable[[np.random.Generator, int], list[int]]  # a number for each position; positions may be joined by it


class Shape(NamedTuple):
    """states: of each label.   lines: the cliques that tie variables.   group: see `Groups`.   noise: the
    share of labels that do not follow.
    """

    states: tuple[int, ...]
    lines: tuple[str, ...]
    sentences: int
    length: int
    group: Groups = lambda draw, length: [0] * length
    noise: float = 0.2

    @property
    def text(self) -> str:
        names = [f"y{n}" for n in range(len(self.states))]
        head = [f"data conll(word, group, head, {', '.join(names)})", *(f"label {name}" for name in names)]
        cliques = [*(f"clique {name}: bias, word" for name in names), *self.lines]
        return "\n".join([*head, *cliques, TRAIN])

    def corpus(self) -> Corpus:
        """Labels that follow a hidden state or the head's, with noise, and words that follow one of the labels."""
        draw = np.random.default_rng(0)
        hidden = max(self.states)
        moves = draw.dirichlet(np.full(hidden, 0.15), hidden)
        maps = [draw.integers(count, size=hidden) if count < hidden else np.arange(hidden) for count in self.states]
        rows = []
        for _ in range(self.sentences):
            length = int(draw.integers(max(1, self.length * 2 // 3), self.length * 4 // 3 + 1))
            groups = self.group(draw, length)
            state: list[int] = []
            sentence = []
            for t in range(length):
                before = int(draw.integers(t)) if t else 0
                source = [before, t - 1, *(s for s in range(t - 1, -1, -1) if groups[s] == groups[t])]
                state.append(
                    int(draw.choice(hidden, p=moves[state[source[draw.integers(min(3, len(source)))]]]))
                    if t
                    else int(draw.integers(hidden))
                )
                labels = [
                    int(of[state[-1]]) if draw.random() >= self.noise else int(draw.integers(count))
                    for of, count in zip(maps, self.states, strict=True)
                ]
                about = int(draw.integers(len(labels)))
                word = (labels[about] * 7 + about * 31 + int(draw.integers(5))) % WORDS
                if draw.random() < 0.4:
                    word = int(draw.integers(WORDS))
                sentence.append((f"w{word}", f"g{groups[t]}", str(before), *(f"s{label}" for label in labels)))
            rows.append(sentence)
        return corpus_from_rows(rows, load_text(self.text).require().data)


def chains(count: int) -> tuple[str, ...]:
    return tuple(f"clique y{n}[-1], y{n}" for n in range(count))


def ladder(count: int) -> tuple[str, ...]:
    """Chains side by side, each tied to the next at every position."""
    return (*chains(count), *(f"clique y{a}, y{b}" for a, b in itertools.pairwise(range(count))))


def tied(count: int) -> tuple[str, ...]:
    """Chains of which every two are tied at every position."""
    return (*chains(count), *(f"clique y{a}, y{b}" for a, b in itertools.combinations(range(count), 2)))


def joined(link: str) -> tuple[str, ...]:
    return (f"clique y0[i], y0[j] where group[i] = group[j] as skip with link = {link}",)


def sometimes(share: float, kinds: int) -> Groups:
    """A share of the positions is in one of so many groups, the others are alone."""

    def draw_groups(draw: np.random.Generator, length: int) -> list[int]:
        return [int(draw.integers(kinds)) if draw.random() < share else 1000 + t for t in range(length)]

    return draw_groups


SECOND = ("clique y0[-1], y0 with states = all", "clique y0[-2], y0 with states = all")
ARCS = ("clique y0[i], y0[j] as arc:\n    where index[j] = head[i]\n    with order = any",)
OWN = (*chains(1), "clique y0[i], y0[j] where group[i] = group[j] as own with link = next")
MEMORY = (
    "memory last in states(y0) = y0[-1] if y0[-1] is not s0 else last[-1] initially s0",
    *chains(1),
    "clique y0, last",
)
SPEAKERS: Groups = lambda draw, length: draw.integers(2, size=length).tolist()  # noqa: E731

SHAPES: dict[str, Shape] = {
    "chain, 5 states": Shape((5,), chains(1), 100, 20),
    "chain, 45 states": Shape((45,), chains(1), 100, 20),
    "chain, 150 states": Shape((150,), chains(1), 40, 20),
    "second order by pairs, 6 states": Shape((6,), SECOND, 60, 20),
    "second order by pairs, 20 states": Shape((20,), SECOND, 40, 20),
    "second order by pairs, 45 states": Shape((45,), SECOND, 15, 15),
    "second order by triples, 8 states": Shape((8,), (*chains(1), "clique y0[-2], y0[-1], y0"), 15, 15),
    "two chains, 45 × 3": Shape((45, 3), ladder(2), 50, 20),
    "two chains, 45 × 9": Shape((45, 9), ladder(2), 40, 20),
    "two chains, 30 × 30": Shape((30, 30), ladder(2), 20, 15),
    "two chains, 80 × 80": Shape((80, 80), ladder(2), 8, 10),
    "three chains, 5 states, all tied": Shape((5, 5, 5), tied(3), 40, 15),
    "three chains, 10 states, all tied": Shape((10, 10, 10), tied(3), 15, 15),
    "three chains, 20 states": Shape((20, 20, 20), ladder(3), 10, 10),
    "four chains, 4 states": Shape((4,) * 4, ladder(4), 25, 15),
    "four chains, 8 states": Shape((8,) * 4, ladder(4), 8, 10),
    "grid, 6 rows, 2 states": Shape((2,) * 6, ladder(6), 25, 15),
    "grid, 10 rows, 2 states": Shape((2,) * 10, ladder(10), 8, 12),
    "grid, 12 rows, 2 states": Shape((2,) * 12, ladder(12), 5, 10),
    "grid, 5 rows, 3 states": Shape((3,) * 5, ladder(5), 15, 12),
    "tree of heads, 8 states": Shape((8,), ARCS, 60, 15),
    "tree of heads and a chain, 8 states": Shape((8,), (*chains(1), *ARCS), 20, 15),
    "tree of heads and a chain, 20 states": Shape((20,), (*chains(1), *ARCS), 12, 12),
    "skip edges, sparse, 9 states": Shape((9,), (*chains(1), *joined("next")), 40, 25, sometimes(0.15, 3)),
    "skip edges, half of the positions, 9 states": Shape(
        (9,), (*chains(1), *joined("next")), 20, 25, sometimes(0.5, 3)
    ),
    "skip edges, all of 3 groups, 4 states": Shape((4,), (*chains(1), *joined("all")), 15, 15, sometimes(0.6, 3)),
    "skip edges, all of 2 groups, 8 states": Shape((8,), (*chains(1), *joined("all")), 10, 16, sometimes(0.6, 2)),
    "own-next edges, 12 states": Shape((12,), OWN, 12, 50, SPEAKERS),
    "own-next edges, 41 states": Shape((41,), OWN, 5, 40, SPEAKERS),
    "memory, 8 states": Shape((8,), MEMORY, 40, 15),
    "memory, 29 states": Shape((29,), MEMORY, 20, 15),
    "all pairs of 10, 2 states": Shape((2,), joined("all"), 30, 8),
    "all pairs of 16, 2 states": Shape((2,), joined("all"), 15, 12),
    "all pairs of 12, 3 states": Shape((3,), joined("all"), 10, 9),
    "all pairs of 11, 3 states, alike": Shape((3,), joined("all"), 6, 8, noise=0.05),
    "all pairs of 18, 2 states": Shape((2,), joined("all"), 8, 14),
    "eight labels all tied, 3 states": Shape(
        (3,) * 8, tuple(f"clique y{a}, y{b}" for a, b in itertools.combinations(range(8), 2)), 20, 5
    ),
}


SPEECH = TEMPLATE.partition("infer")[0] + TRAIN


class Run(NamedTuple):
    """A training. seconds: processor time from its first iteration to its last, on one thread, the median of several;
    infinite if it did not converge.   method: as the record names it.
    """

    seconds: float
    objective: float
    method: str
    iterations: int

    @property
    def words(self) -> str:
        if not self.iterations:
            return f"{self.method} does not fit"
        taken = f"{self.seconds:.3g} s" if self.seconds < math.inf else "not converged"
        return f"{self.method} {taken}, objective {self.objective:.1f} after {self.iterations} iterations"


def training(text: str, corpus: Corpus, method: str, limit: float) -> Run:
    """A training by a method, to convergence or for at most `limit` seconds."""
    resolved = load_text(text, overrides=[f"infer={method}"])
    clock: list[float] = []
    model = fit(
        resolved, corpus, threads=1, unchecked=True, on_iteration=lambda _: clock.append(time.process_time()),
        should_stop=lambda: clock[-1] - clock[0] > limit,
    )  # fmt: skip
    record = model.record
    seconds = max(clock[-1] - clock[0], 1e-4) if record.converged else math.inf
    return Run(seconds, record.objective, record.inference, record.iterations)


def auto_choice() -> Iterator[Figure]:
    """What `auto` takes on models of 30 shapes and more: its training beside the better one of `exact` and `trp`."""
    for name, shape in itertools.islice(SHAPES.items(), 3 if SMOKE else None):
        yield _figure(name, shape.text, shape.corpus())
    yield _figure("dialogues of the row `dialogues`", SPEECH, dialogues().slice(0, 6))


def _figure(name: str, text: str, corpus: Corpus) -> Figure:
    resolved = load_text(text, overrides=["infer=auto", "train.optimizer=lbfgs(max_iterations=1)"])
    record = fit(resolved, corpus, threads=1, unchecked=True).record
    training(text, corpus, "trp", 0.0)  # loads the kernels
    try:
        training(text, corpus, "exact", 0.0)
        runs = {"exact": training(text, corpus, "exact", LIMIT)}
    except DcrfError:  # too wide
        runs = {"exact": Run(math.inf, math.nan, "exact", 0)}
    runs["trp"] = training(text, corpus, "trp", min(LIMIT, max(1.0, 3 * runs["exact"].seconds)))
    if record.inference not in runs:
        runs["auto"] = training(text, corpus, "auto", LIMIT)
    rounds = [runs] + [
        {method: training(text, corpus, method, LIMIT) for method, run in runs.items() if run.seconds < math.inf}
        for _ in range(1, ROUNDS)
    ]
    runs = {
        method: run._replace(seconds=statistics.median(each[method].seconds for each in rounds if method in each))
        for method, run in runs.items()
    }
    auto = runs.get(record.inference) or runs["auto"]
    sweeps = "" if record.sweeps is None else f", {record.sweeps:g} sweeps expected"
    return Figure(
        name, auto.seconds, "s",
        f"auto: {record.inference}{sweeps}; {runs['exact'].words}; {runs['trp'].words}",
        times_faster(1 / 1.5), min(runs["exact"].seconds, runs["trp"].seconds),
    )  # fmt: skip
