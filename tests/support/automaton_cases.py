"""Models whose graphs are automata, with random sentences, bound and ready for inference by either path."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from template_cases import Case

from dcrfdsl.criteria.likelihood import Likelihood
from dcrfdsl.criteria.penalties import Penalty
from dcrfdsl.inference import METHODS, Binder, Decoded, Expectations, Workers
from dcrfdsl.inference.bound.binding import BoundData
from dcrfdsl.inference.methods.exact_method import ExactMethod
from dcrfdsl.kernels.sequences.expectations import score_labellings
from dcrfdsl.semantics.settings.infer_settings import ExactSettings
from dcrfdsl.training.untrained_model import assemble

Floats = NDArray[np.float64]
ONE = "data conll(word, y)\nlabel y\n"
WHOLE = "data conll(word, y, z)\nlabel y\nlabel z for sentence\nclique z: bias, word\n"
TWO = "data conll(word, y, z)\nlabel y\nlabel z\n"


def walks(states: str, second: str = "", count: int = 30, longest: int = 12, spread: int = 3) -> list:
    """Sentences whose labels move at most `spread` states on, so that most moves are never seen."""
    draw, out = np.random.default_rng(5), []
    for n in (1, 1, 2, 3, longest, *draw.integers(1, longest, count).tolist()):
        path = np.cumsum(draw.integers(0, spread, n)) + draw.integers(len(states))
        labels = [states[k % len(states)] for k in path]
        others = [second[(k // 2) % len(second)] for k in path] if second else [None] * n
        out.append(
            [
                (f"w{draw.zipf(1.4) % 30}", own, *([other] if second else []))
                for own, other in zip(labels, others, strict=True)
            ]
        )
    return out


def one(text: str, states: str = "PQRSTUV", **how: int) -> Case:
    return Case(ONE + text, walks(states, **how))


def spoken(text: str, states: str = "PQRST", **how: int) -> Case:
    """With a label of the sentence, which tells how many of its words are the most frequent one."""
    return Case(
        WHOLE + text,
        [[(w, y, "ABC"[sum(word == "w1" for word, _ in rows) % 3]) for w, y in rows] for rows in walks(states, **how)],
    )


AUTOMATA = {
    "moves that were seen": one("clique y: bias, word\nclique y[-1], y with states = seen\n"),
    "no moves": one("clique y: bias, word\n"),
    "seen moves and borders": one("clique y: word\nclique y[-1], y with states = seen, edges = pad\n"),
    "seen moves and a forbidden one": one(
        "clique y: word\nclique y[-1], y with states = seen\nforbid y[-1] is P and y is R\n", spread=2
    ),
    "second order": one("clique y: word\nclique y[-1], y\nclique y[-2], y[-1], y with states = seen\n", "PQRS"),
    "second order, contexts seen": one(
        "clique y: word\nclique y[-1], y with states = seen\nclique y[-2], y[-1], y with states = seen\n", "PQRST"
    ),
    "second order, padded": one(
        "clique y: word\nclique y[-2], y[-1], y with states = seen, edges = pad\nclique y[-1], y with edges = pad\n",
        "PQRS",
    ),
    "second order, dense": one("clique y: word\nclique y[-2], y[-1], y\n", "PQR"),
    "second order, to the right": one("clique y: word\nclique y, y[1], y[2] with states = seen\n", "PQRS"),
    "a gap": one("clique y: word\nclique y[-2], y with states = seen\nclique y[-1], y with states = seen\n", "PQRS"),
    "third order": one(
        "clique y: word\nclique y[-1], y\nclique y[-2], y[-1], y with states = seen\n"
        "clique y[-3], y[-2], y[-1], y with states = seen\n",
        "PQR",
    ),
    "third order, padded": one(
        "clique y: word\nclique y[-3], y[-2], y[-1], y with states = seen, edges = pad\n", "PQR"
    ),
    "second order of segments": Case(
        "data conll(word, y)\nlabel y in bio(X, Y)\nclique y: bias, word\nclique y[-1], y\n"
        "clique y[-2], y[-1], y with states = seen\n",
        [[(w, "O" if n % 3 else "B-X") for n, (w, *_) in enumerate(rows)] for rows in walks("P")],
    ),
    "views": one(
        "view p = y is P\nclique y: word\nclique p[-2], p[-1], p\nclique y[-1], y with states = seen\n", "PQRS"
    ),
    "a memory": one(
        "memory last in states(y) = y[-1] if y[-1] is not P else last[-1] initially P\n"
        "clique y: word\nclique y[-1], y\nclique y, last\n",
        "PQRS",
    ),
    "a memory of whether": one(
        "memory past = past[-1] or y[-1] is R\nclique y: word\nclique y[-1], y\nclique y, past\n", "PQRS"
    ),
    "features on a memory": one(
        "memory past = past[-1] or y[-1] is R\nclique y: word\nclique y[-1], y\nclique past: bias, word\n"
        "clique y, past with states = seen\n",
        "PQRS",
    ),
    "features on a label and a memory": one(
        "memory past = past[-1] or y[-1] is R\nclique y: word\nclique y[-1], y\nclique y, past: bias, word\n", "PQRS"
    ),
    "two memories": one(
        "memory last in states(y) = y[-1] if y[-1] is not P else last[-1] initially P\n"
        "memory before in states(y) = last[-1] if y[-1] is not P else before[-1] initially P\n"
        "clique y: word\nclique y[-1], y\nclique y, last\nclique y, before with states = seen\n",
        "PQR",
    ),
    "a memory of two positions back": one(
        "memory twice = y[-1] is Q and y[-2] is P initially no\nclique y: word\nclique y[-1], y\nclique y, twice\n",
        "PQR",
    ),
    "memories in a row": one(
        "memory m0 = m0[-1] or y[-1] is Q\n"
        + "".join(f"memory m{k} = m{k}[-1] or m{k - 1}[-1]\n" for k in range(1, 9))
        + "clique y: word\nclique y[-1], y\nclique y, m8\nclique m3, m4\n",
        "PQR",
        count=6,
        longest=15,
    ),
    "a memory that words change": one(
        "memory last in states(y) = y[-1] if word[-1] in {w1, w3} else last[-1] initially P\n"
        "clique y: word\nclique y[-1], y with states = seen\nclique y, last\n",
        "PQRS",
    ),
    "a memory that words change or forget": one(
        "memory last in states(y) = y[-1] if word is w1 else last[-1] initially P\n"
        "memory past = no if word[-1] is w2 else past[-1] or y[-1] is R\n"
        "clique y: word\nclique y[-1], y\nclique y, last\nclique past: word\n",
        "PQRS",
    ),
    "words that forbid moves": one(
        "clique y: word\nclique y[-1], y with states = seen\nforbid y[-1] is P and y is R and word[1] is w1\n"
        "forbid y[-2] is P and y is S and word is w2\n",
        "PQRS",
        spread=2,
    ),
    "words that forbid what follows": one(
        "clique y: word\nclique y[-1], y\nforbid y is P and y[1] is R and word is w2\n", "PQR", spread=2
    ),
    "a label of the sentence": spoken(
        "clique y: word\nclique y[-1], y with states = seen\nclique y, z with states = seen\n"
    ),
    "a label of the sentence and moves": spoken(
        "view k = A if z is A else B\nclique y: word\nclique y[-1], y, z with states = seen\nclique k, y: bias, word\n",
        "PQRS",
    ),
    "a label of the sentence, second order": spoken(
        "clique y: word\nclique y[-2], y[-1], y with states = seen\nclique y[-1], z\n"
        "forbid y is P and y[-1] is Q and z is B and word is w2\n",
        "PQR",
        spread=2,
    ),
    "two labels under a constraint": Case(
        TWO + "clique y: word\nclique z: word\nclique y[-1], y with states = seen\nclique z[-1], z\nclique y, z\n"
        "require y is not P or z is A\nrequire y is not Q or z is B\nforbid y is R and z is A\n",
        [[(w, *("PA", "QB", "RB")[n % 3]) for n, (w, *_) in enumerate(rows)] for rows in walks("P")],
    ),
    "words that forbid": one(
        "clique y: word\nclique y[-1], y with states = seen\nforbid y is R and word is w77\n", "PQR", spread=2
    ),
    "numbers": Case(
        "data conll(word, size:float, y)\nlabel y\nclique y: bias, size, word & size\nclique y: word\n"
        "clique y[-1], y with states = seen\n",
        [[(w, f"{len(rows) - 0.7 * n:.1f}", y) for n, (w, y) in enumerate(rows)] for rows in walks("PQRST")],
    ),
    "features on a view": one("view p = y is P\nclique p: bias, word\nclique y: word\nclique y[-1], y\n", "PQR"),
    "segments": Case(
        "data conll(word, y)\nlabel y in bio(X, Y)\nclique y: bias, word\nclique y[-1], y\n"
        "segment y up to 3 as spans: length, joined(word), bias\n",
        [[(w, "O" if n % 3 else "B-X") for n, (w, *_) in enumerate(rows)] for rows in walks("P")],
    ),
    "runs of states as segments": one(
        "clique y: word\nclique y[-1], y\n"
        "segment y up to 2 as spans with longer = together, states = all: length, any(word)\n",
        "PQR",
    ),
    "no labels seen": Case(
        "data conll(word, y)\nlabel y in {P, Q, R, S}\nclique y: word\nclique y[-1], y with states = seen\n",
        walks("PQ", spread=2),
    ),
}


@dataclass
class BoundCase:
    """A case with its data bound plainly and packed."""

    case: Case
    plain: BoundData = field(init=False)
    packed: BoundData = field(init=False)
    num_weights: int = field(init=False)

    def __post_init__(self) -> None:
        corpus = self.case.corpus()
        known = assemble(self.case.resolved().require(), corpus, {}, {})
        self.parameters, _ = known.learn_parameters()
        binder = Binder(known.graph, self.parameters, programs=True)
        self.plain = binder.bind(known.rows, corpus.sentence_off, known.relations)
        self.packed = self.plain.packed(bundled=True)
        self.num_weights = self.parameters.num_weights

    def weights(self, scale: float) -> Floats:
        return np.random.default_rng(1).normal(0, scale, self.num_weights)

    def method(self, data: BoundData, *, automaton: bool) -> ExactMethod:
        """Exact inference, by the automaton or by the general path alone."""
        method = METHODS["exact"].build(data, ExactSettings())
        assert isinstance(method, ExactMethod)
        method.chain = None
        if not automaton:
            method.automaton = None
        return method

    def gradient(self, weights: Floats, *, automaton: bool, threads: int = 1) -> tuple[float, Floats]:
        """Σ log Z of all sentences, and its gradient."""
        nothing = np.zeros(self.num_weights)
        method = self.method(self.packed, automaton=automaton)
        objective = Likelihood(self.packed, method, nothing, Penalty(nothing), Workers(threads))
        return objective.value_and_gradient(weights)

    def answers(self, weights: Floats, *, automaton: bool) -> dict[str, NDArray]:
        """log Z, marginals, the score of the best labelling and of the one found, of every sentence."""
        d, method, count = self.plain, self.method(self.plain, automaton=automaton), self.plain.num_sequences
        potentials = d.potentials(weights)
        out, best, score = Expectations.empty(d, marginals=True), Decoded.empty(d), np.zeros(count)
        method.expectations(potentials, 0, count, out, np.zeros(0), np.zeros(len(d.hard)))
        method.decode(potentials, 0, count, best)
        score_labellings(0, count, d.problem, potentials, d.ragged(best.labelling), score)
        return {
            "log Z": out.log_z, "status": out.status,
            "marginals": np.concatenate([table.ravel() for table in d.by_variable(out.marginals)]),
            "best score": best.score, "score of the best labelling": score, "decoded": best.status,
        }  # fmt: skip
