"""The rank risk of a model on a corpus: the share of wrong labellings that score as high as the gold one.

    R = mean over sentences of |{y ≠ y_i: g(y) ≥ g(y_i)}| / (|Y_i| − 1)        (Altun 2003 eq. 6, w_i = 1 / (|Y_i| − 1))

The count comes from an n-best list. If the list ends before a labelling scores below the gold one, it gives a lower
bound. Not here: the list (`predictor`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..data import EncodedLabels
from ..foundation import Codes, Floats
from ..inference import Labellings, Workers
from ..metrics import ExactSum
from .predictor import Predictor

MOST, FEWEST, CODES = 1000, 10, 2**25  # limits of the labellings of a sentence, and a goal for the codes of all lists
CLOSE = 1e-9  # relative difference of the scores of one labelling that were summed in different orders


class RankRisk(NamedTuple):
    """value: in 0–1.   at_least: the number of sentences for which only a lower bound is known."""

    value: float
    at_least: int


class RankRiskSum(NamedTuple):
    """risks [n]: of the sentences that are judged.   at_least: for how many only a lower bound is known."""

    risks: Floats
    at_least: int

    @property
    def counts(self) -> tuple[ExactSum, int, int]:
        """Their sum, their number, and `at_least`: what parts of some data add up."""
        return ExactSum(self.risks.tolist()), len(self.risks), self.at_least

    @property
    def mean(self) -> RankRisk:
        total, sentences, at_least = self.counts
        return RankRisk(float(total) / sentences if sentences else 0.0, at_least)


def rank_risk_of(
    free: Predictor, clamped: Predictor, gold: EncodedLabels, workers: Workers
) -> Callable[[Floats], RankRiskSum]:
    """The risk as a function of weights [W]. clamped: as `free`, but clamped to the gold labels of the corpus.

    Leaves out sentences with a label that is not a single known state, and those whose gold labelling is impossible.
    """
    corpus, labels = free.corpus, range(len(gold.codes))
    off = corpus.sentence_off
    unknown = np.concatenate([[0], np.cumsum(gold.partial)])
    complete = (unknown[off[1:]] == unknown[off[:-1]]) & (np.diff(off) > 0)
    count = int(np.clip(CODES // max(1, gold.codes.size), FEWEST, MOST))

    def risk(weights: Floats) -> RankRiskSum:
        nothing = np.zeros_like(weights)
        right = clamped.log_z(weights, workers)
        log_wrong = _log_less_one(free.log_z(nothing, workers) - clamped.log_z(nothing, workers))
        chosen = np.flatnonzero(complete & np.isfinite(right))
        lists = free.nbest(weights, workers, count).sentences
        risks, at_least = np.zeros(len(chosen)), 0
        for n, s in enumerate(chosen.tolist()):
            codes = {name: gold.codes[m, off[s] : off[s + 1]] for m, name in zip(labels, lists[s].codes, strict=True)}
            above, is_all = _above(lists[s], codes, float(right[s]), count)
            if above > 0 and np.isfinite(log_wrong[s]):
                risks[n] = min(1.0, float(np.exp(np.log(above) - log_wrong[s])))
            at_least += not is_all
        return RankRiskSum(risks, at_least)

    return risk


def _log_less_one(logs: Floats) -> Floats:
    """log (e^x − 1) for x = 0 or x ≥ log 2; -inf if x is 0 up to rounding."""
    return np.array([x + np.log(-np.expm1(-x)) if x > 0.5 else -np.inf for x in logs.tolist()])


def _above(nbest: Labellings, gold: dict[str, Codes], right: float, count: int) -> tuple[int, bool]:
    """The number of listed labellings other than gold that score as high, and whether no unlisted one can."""
    high = nbest.score >= right - CLOSE * max(1.0, abs(right))
    is_gold = np.ones(len(nbest), np.bool_)
    for name, codes in nbest.codes.items():
        is_gold &= (codes == gold[name]).all(axis=1)
    is_all = nbest.exact and (len(nbest) < count or not high.all())
    return int((high & ~is_gold).sum()), is_all
