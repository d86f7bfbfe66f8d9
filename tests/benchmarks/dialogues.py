"""Loopy models of long sequences: dialogues of two speakers, whose acts depend on the last act and on their own last.

Every turn has an edge to the turn before and one to the speaker's own turn before. The graph has loops, and its width
for elimination is 2 or 3, so exact inference is possible, and messages are the alternative. Where every turn is tied to
the eight before, exact inference does not fit. Trainings by messages on small graphs where it fits stand beside it.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Iterator

import numpy as np
from figures import Figure, seconds_of
from work import ROUNDS, SMOKE, objective

from dcrfdsl.data import Corpus, corpus_from_rows
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

ACTS, DIALOGUES, TURNS = (6, 4, 20) if SMOKE else (41, 200, 200)
TEMPLATE = """
data conll(word, speaker, act)
label act
clique act: bias, word
clique act[-1], act
clique act[i], act[j] as own:
    where speaker[i] = speaker[j]
infer exact
train likelihood: optimizer = lbfgs(max_iterations = 2)
"""


TIED = 8  # turns before, each with a clique of its own
TIED_ACTS, TIED_DIALOGUES, TIED_TURNS = (4, 8, 12) if SMOKE else (12, 60, 40)
TIED_TEMPLATE = """
data conll(word, speaker, act)
label act
clique act: bias, word
{cliques}
infer {method}
train likelihood: optimizer = lbfgs, prior = gaussian(variance = 10)
"""
ATTRACTED = """
data conll(word, group, y)
label y
clique y: bias, word
clique y[i], y[j] as pair:
    where group[i] = group[j]
    with max_gap = 20, link = all
    bias
infer {method}
train likelihood: optimizer = lbfgs, prior = gaussian(variance = 10)
"""


@functools.cache
def dialogues() -> Corpus:
    """Dialogues drawn from the model itself, 60 words for each act."""
    draw = np.random.default_rng(5)
    after, own = draw.random((2, ACTS, ACTS)) ** 6
    words = draw.integers(3000, size=(ACTS, 60))
    sentences = []
    for _ in range(DIALOGUES):
        acts: list[int] = []
        last: dict[str, int] = {}
        rows = []
        for _ in range(int(draw.integers(TURNS - TURNS // 3, TURNS + TURNS // 3))):
            speaker = "AB"[draw.integers(2)]
            shares = np.ones(ACTS)
            if acts:
                shares = shares * after[acts[-1]]
            if speaker in last:
                shares = shares * own[last[speaker]]
            act = int(draw.choice(ACTS, p=shares / shares.sum()))
            acts.append(act)
            last[speaker] = act
            word = draw.choice(words[act]) if draw.random() < 0.6 else draw.integers(3000)
            rows.append((f"w{word}", speaker, f"act{act}"))
        sentences.append(rows)
    data = load_text(TEMPLATE).require().data
    assert data is not None
    return corpus_from_rows(sentences, data)


def dialogue_passes() -> Iterator[Figure]:
    """200 dialogues of 200 turns, 41 acts, an edge to the speaker's own last turn: a pass by messages and exactly."""
    corpus = dialogues()
    weights = fit(load_text(TEMPLATE), corpus).weights
    exact = objective(TEMPLATE, corpus, threads=2)
    messages = objective(TEMPLATE, corpus, threads=2, method="trp")
    scale = itertools.cycle(np.linspace(0.99, 1.0, 5))  # weights that move a little, as from one iteration to the next
    yield Figure(
        "dialogues, trp",
        seconds_of(lambda: messages.value_and_gradient(weights * next(scale)), ROUNDS),
        "s",
        "-log p(y|x), penalty and gradient of all dialogues, 2 threads, from the messages of the last pass; the other "
        "side: the same, exactly",
        None,
        seconds_of(lambda: exact.value_and_gradient(weights), ROUNDS),
    )


def tied_dialogues() -> Iterator[Figure]:
    """Dialogues whose turns are tied to the eight before, to convergence by messages, and as a chain, exactly."""
    draw = np.random.default_rng(11)
    ties = [draw.normal(scale=0.6 / (1.0 + 0.3 * back), size=(TIED_ACTS, TIED_ACTS)) for back in range(TIED)]
    words = draw.integers(600, size=(TIED_ACTS, 12))
    sentences = []
    for _ in range(TIED_DIALOGUES):
        acts: list[int] = []
        rows = []
        for _ in range(TIED_TURNS):
            score = np.sum([ties[back][act] for back, act in enumerate(acts[::-1][:TIED])] or [np.zeros(TIED_ACTS)], 0)
            acts.append(int(draw.choice(TIED_ACTS, p=np.exp(score) / np.exp(score).sum())))
            word = draw.choice(words[acts[-1]]) if draw.random() < 0.5 else draw.integers(600)
            rows.append((f"w{word}", "AB"[draw.integers(2)], f"act{acts[-1]}"))
        sentences.append(rows)
    cliques = {back: "\n".join(f"clique act[-{1 + number}], act: bias" for number in range(back)) for back in (1, TIED)}
    joined = {
        "trp": TIED_TEMPLATE.format(cliques=cliques[TIED], method="trp"),
        "chain": TIED_TEMPLATE.format(cliques=cliques[1], method="exact"),
    }
    yield from _to_convergence("dialogues, 8 ties a turn", joined, sentences)


def attracted_pairs() -> Iterator[Figure]:
    """Twelve sites, all joined, that attract or repel each other: to convergence by messages and exactly."""
    for name, strength in (("attract", 0.3), ("repel", -0.3), ("repel strongly", -1.0)):
        draw, sentences = np.random.default_rng(0), []
        for _ in range(8 if SMOKE else 40):
            y, field = draw.integers(2, size=12), draw.normal(scale=0.5, size=(12, 2))
            for site in np.tile(np.arange(12), 60):
                score = field[site] + strength * np.bincount(np.delete(y, site), minlength=2)
                y[site] = draw.random() < 1.0 / (1.0 + np.exp(score[0] - score[1]))
            words = [f"w{y[v]}{draw.integers(4)}" if draw.random() < 0.5 else f"n{draw.integers(9)}" for v in range(12)]
            sentences.append([(words[v], "a", f"s{y[v]}") for v in range(12)])
        joined = {method: ATTRACTED.format(method=method) for method in ("trp", "exact")}
        yield from _to_convergence(f"12 sites, all joined, {name}", joined, sentences)


def _to_convergence(what: str, templates: dict[str, str], sentences: list[list[tuple[str, ...]]]) -> Iterator[Figure]:
    """Trains each template on three quarters of the sentences; time, how it ended, and accuracy on the rest."""
    cut, told, seconds = 3 * len(sentences) // 4, [], []
    for name, text in templates.items():
        data = load_text(text).require().data
        assert data is not None
        train, test = corpus_from_rows(sentences[:cut], data), corpus_from_rows(sentences[cut:], data)
        begun = time.process_time()
        model = fit(load_text(text), train, threads=1)
        seconds.append(time.process_time() - begun)
        record = model.record
        accuracy = next(iter(model.evaluate(test).values()))
        end = "converged" if record.converged else f"not converged ({record.reason})"
        told.append(
            f"{name}: {end}, objective {record.objective:.2f}, gradient {record.gradient_norm:.2g}, "
            f"{record.evaluations} evaluations, score on the rest {accuracy:.4f}"
        )
    yield Figure(what, seconds[0], "s", f"processor time of one thread; {'; '.join(told)}", None, seconds[1])
