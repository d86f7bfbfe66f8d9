"""Labels elected by all weights of a perceptron, also while these become more: each weight vector labels a corpus once.

Not here: counting votes (`inference.decoding.voting`), what each vector finds (`predictor`).
"""

from __future__ import annotations

import numpy as np

from ..foundation import Codes
from ..inference import Ballots, RunStatus, Workers
from ..optimizers import Voters
from .decoded_labels import Decoded
from .predictor import Predictor


class VotedDecoder:
    """The votes on the sentences of `predictor`. It remembers those of the voters that it was last asked about."""

    def __init__(self, predictor: Predictor, workers: Workers, stage: str | None):
        self._predictor, self._workers, self._stage = predictor, workers, stage
        self._begin()

    def _begin(self) -> None:
        self._ballots, self._status = Ballots(self._predictor.corpus.sentence_off), RunStatus()
        self._voters: Voters | None = None
        self._last: Codes | None = None  # of the last voter

    def decoded(self, voters: Voters) -> Decoded:
        """The labelling of each sentence that most `voters` find best, without a score. The status is that of the voter
        with the most sentences that did not converge.
        """
        known = self._voters
        if known is not None and not voters.goes_on_from(known):
            self._begin()
            known = None
        if known is not None and self._last is not None:
            more = int(voters.votes[len(known) - 1] - known.votes[-1])  # the last one may have lasted longer since
            self._ballots.cast(more, self._last)
        begin = 0 if known is None else len(known)
        for number, (votes, weights) in enumerate(voters.walk(self._predictor.structure.parameters.num_weights)):
            if number < begin:
                continue
            vote = self._predictor.best(weights, self._workers, "joint", self._stage)
            self._last = np.array(vote.codes)
            self._ballots.cast(votes, self._last)
            if self._status.graphs == 0 or vote.status.not_converged > self._status.not_converged:
                self._status = vote.status
        self._voters = voters
        nothing = np.full(self._predictor.corpus.num_sentences, np.nan)
        return Decoded(list(self._ballots.winners()), self._status, nothing)
