"""Cases of pruned inference, and its slow twin.

The twin holds every labelling of a sentence in a set, and the scores of a level are those of the exact engine with the
weights of all higher cliques set to 0. So it shares no code with lattices.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from template_cases import Case
from training_cases import problem_of

from dcrfdsl.criteria.likelihood import Likelihood, build_likelihood
from dcrfdsl.inference import METHODS, PrunedMethod, Workers, run_decoding, run_inference, score_sequences

CHAIN = """data conll(word, y)
label y
features words: word, word[-1]
clique y: words
clique y[-1], y
clique y[-2], y[-1], y with states = seen
clique y[-3], y[-2], y[-1], y with states = seen
"""
GAPPED = """data conll(word, y)
label y
features words: word
view vowel = y in {a, e}
clique y: words
clique vowel: word[-1]
clique y, y[-1]
clique vowel[-1], vowel[1], y
clique y[-2], y with states = seen
"""
SEGMENTS = """data conll(word, y)
label y in bio(X)
features words: word
clique y: words
clique y[-1], y
clique y[-2], y[-1], y with states = seen
forbid y[-2] is O and y[-1] is O and y is O
"""
NOTHING_PRUNED = "pruned(threshold = 0, keep = 100)"


def sentences(states: str, count: int = 10, seed: int = 1) -> list[list[tuple[str, str]]]:
    """Words that say a little about their labels."""
    generator = np.random.default_rng(seed)
    out = []
    for n in range(count):
        labels = [states[i] for i in generator.integers(len(states), size=1 + n % 6)]
        out.append([(y if generator.random() < 0.6 else "uvw"[generator.integers(3)], y) for y in labels])
    return out


def segment_sentences() -> list[list[tuple[str, str]]]:
    legal = ["B-X I-X O", "O B-X", "B-X B-X I-X I-X O O B-X", "O", "O O B-X I-X"]
    return [[(y[0] if t % 3 else "w", y) for t, y in enumerate(text.split())] for text in legal]


OBSERVED = """data conll(word, y)
label y
features words: word, word[-1]
clique y: words
clique y[-1], y
clique y[-2], y[-1], y with states = seen
require y is a when word is "p"
require y in {a, b} when word is "q"
forbid y[-1] is a and y is a
"""
CASES = {
    "third order": Case(CHAIN, sentences("abcd")),
    "gaps and views": Case(GAPPED, sentences("abe")),
    "segments": Case(SEGMENTS, segment_sentences()),
    "observations": Case(OBSERVED, [*sentences("bcd", 6), [("p", "a"), ("q", "b"), ("v", "c"), ("p", "a")]]),
    "independent": Case(CHAIN.split("clique y[-1]")[0], sentences("abc")),
}
SCALES = {"flat": 0.0, "mild": 1.0, "strong": 6.0, "beyond doubles": 900.0}


def pruned_problem(case: Case, infer: str, coarse: np.ndarray | None = None, threads: int = 1):
    """The problem and the settings of a likelihood. coarse [W]: weights of a stage `coarse` that is before it."""
    if coarse is None:
        return problem_of(replace(case, text=f"{case.text}infer {infer}\n"), "likelihood", threads=threads)
    text = f"{case.text}infer {infer}\ntrain likelihood as coarse: infer = exact\n"
    problem, settings = problem_of(replace(case, text=text), "likelihood as fine after coarse", threads=threads)
    return replace(problem, earlier={"coarse": coarse}), settings


def likelihood(case: Case, infer: str, coarse: np.ndarray | None = None, threads: int = 1) -> Likelihood:
    return build_likelihood(*pruned_problem(case, infer, coarse, threads))


def weights_of(objective: Likelihood, scale: float, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=objective.num_weights) * scale


def prediction(case: Case, infer: str, weights: np.ndarray, threads: int = 1, coarse: np.ndarray | None = None):
    """log Z, marginals, labelling and scores of every sentence, and the status of both runs."""
    problem, settings = pruned_problem(case, infer, coarse)
    inference = problem.inference(settings)
    entry = METHODS[inference.name]
    data = problem.bind_plain(programs=entry.programs, thin=entry.thin)
    method, workers = entry.build(data, inference.settings), Workers(threads)
    if isinstance(method, PrunedMethod):
        method.lists = inference.lists
    potentials = data.potentials(weights)
    sums = run_inference(data, method, potentials, workers, marginals=True)
    best = run_decoding(data, method, potentials, workers)
    scores = score_sequences(data, best.labelling, potentials, workers)
    return sums, best, scores


class Twin:
    """One sentence and all its labellings. scores[m] [labellings]: by the cliques of at most m + 1 positions.

    through: the sites of cliques whose weights count at level 0 already.   coarse [W]: weights whose marginals prune at
    level 0, where gold labels are then put in again.
    """

    def __init__(
        self, case: Case, number: int, weights: np.ndarray, through: str = "", coarse: np.ndarray | None = None
    ):
        problem, _ = problem_of(replace(case, text=f"{case.text}infer exact\n"), "likelihood")
        graph = problem.graph
        data = problem.bind_plain(programs=True).only(np.array([number]))
        self.length = int(data.rows.token_off[1])
        self.states = graph.cards[0]
        self.all = list(itertools.product(range(self.states), repeat=self.length))
        spans = [max(t.offsets) - min(t.offsets) for t in graph.templates]
        self.top = max(1, *spans)
        levels = np.concatenate([np.full(len(problem.parameters.of_clique(c)), spans[c]) for c in self._cliques(graph)])
        order = np.concatenate([problem.parameters.of_clique(c) for c in self._cliques(graph)])
        level_of = np.zeros(len(weights), int)
        level_of[order] = levels
        for clique, spec in enumerate(problem.spec.cliques):
            if spec.label == through:
                level_of[problem.parameters.of_clique(clique)] = 0
        self.scores = []
        for level in range(self.top + 1):
            potentials = data.potentials(np.where(level_of <= level, weights, 0.0))
            self.scores.append(
                np.array([
                    score_sequences(data, np.array(y, np.int32), potentials, Workers(1))[0] for y in self.all
                ])
            )  # fmt: skip
        self.guide = None
        if coarse is not None:
            potentials = data.potentials(coarse)
            self.guide = np.array(
                [score_sequences(data, np.array(y, np.int32), potentials, Workers(1))[0] for y in self.all]
            )
        off = problem.sentence_off
        self.gold = tuple(problem.gold.codes[0, off[number] : off[number + 1]].tolist())

    @staticmethod
    def _cliques(graph) -> list[int]:
        return [t.clique for t in graph.templates if t.clique >= 0]

    def beliefs(self, level: int, alive: list[int]) -> tuple[float, list[dict[tuple[int, ...], float]]]:
        """log Z over the labellings alive, and the probabilities of runs of level + 1 labels by where they end."""
        scores = (self.scores[level] if level or self.guide is None else self.guide)[alive]
        peak = scores.max()
        log_z = peak + np.log(np.exp(scores - peak).sum())
        out: list[dict[tuple[int, ...], float]] = [{} for _ in range(self.length)]
        for n, score in zip(alive, scores, strict=True):
            for t in range(self.length):
                run = self.all[n][max(0, t - level) : t + 1]
                out[t][run] = out[t].get(run, 0.0) + float(np.exp(score - log_z))
        return log_z, out

    def run(self, threshold: float, keep: int, *, early: bool) -> tuple[float, list[int], int]:
        """The value log Z − g*, the labellings of the last level, and the level after which gold was pruned (-1)."""
        alive = list(range(len(self.all)))
        gold, put_in = self.all.index(self.gold), False
        for level in range(self.top):
            log_z, beliefs = self.beliefs(level, alive)
            kept = []
            path: tuple[int, ...] = ()
            for t in range(self.length):
                here = beliefs[t]
                ranked = sorted(here, key=lambda run: (-here[run], run))
                if level == 0:
                    ranked = ranked[:keep]
                    best = ranked[0]
                else:
                    tail = path[len(path) - min(t, level) :]
                    best = next(run for run in sorted(here, key=lambda r: (-here[r], r)) if run[: len(run) - 1] == tail)
                    path = (*path, best[-1])
                kept.append({run for run in ranked if here[run] >= threshold} | {best})
            missed = [t for t in range(self.length) if level == 0 and (self.gold[t],) not in kept[t]]
            if early and missed and self.guide is not None:
                put_in = True
                for t in missed:
                    kept[t].add((self.gold[t],))
            first = 0 if level == 0 else 1  # above level 0, items are edges, which end at the second position or later
            survives = [
                n for n in alive
                if all(self.all[n][max(0, t - level) : t + 1] in kept[t] for t in range(first, self.length))
            ]  # fmt: skip
            if early and gold not in survives:
                return log_z - self.scores[level][gold], alive, level
            alive = survives
        log_z, _ = self.beliefs(self.top, alive)
        return log_z - self.scores[self.top][gold], alive, 0 if put_in else -1


def check_batches(objective: Likelihood, weights: np.ndarray) -> None:
    """The batches of three sequences add up to the whole, but for the penalty of a Gaussian of variance 10."""
    value, gradient = objective.value_and_gradient(weights)
    batches = objective.batches(3)
    batches.begin(weights)
    total, summed = 0.0, np.zeros_like(gradient)
    for number in range(batches.count):
        part, touched, partial = batches.gradient(number)
        total += part
        np.add.at(summed, touched, partial)
    assert total == pytest.approx(value - 0.05 * float(weights @ weights), abs=1e-9)
    np.testing.assert_allclose(summed + 0.1 * weights, gradient, atol=1e-9)
