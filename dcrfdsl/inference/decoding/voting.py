"""Votes of several weight vectors on the labelling of each sentence.

A vote is for a whole labelling, since labels elected one by one need not be compatible: if every voter satisfies the
hard constraints, so does the winner. Source: Collins (2002) §2.3. Not here: the voters, and how each finds its
labelling.
"""

from __future__ import annotations

import numpy as np

from ...foundation import Codes, Ints


class Ballots:
    """Counts votes. sentence_off [S+1]: offsets of the tokens of each sentence.

    Votes for a labelling are recorded only when a voter disagrees: successive voters agree on most sentences.
    """

    def __init__(self, sentence_off: Ints):
        self.off = sentence_off.tolist()
        self._sentence = np.repeat(np.arange(len(self.off) - 1), np.diff(sentence_off))  # of each token
        self._last: Codes | None = None
        self._since = np.zeros(len(self.off) - 1, np.int64)  # votes for the last labelling, not recorded yet
        self._counts: list[dict[bytes, int]] = [{} for _ in self.off[1:]]

    def cast(self, votes: int, codes: Codes) -> None:
        """Adds `votes` for the labelling `codes` [labels, N] of all sentences."""
        if self._last is not None:
            for s in np.unique(self._sentence[(codes != self._last).any(axis=0)]).tolist():
                self._record(s, self._last)
        self._last = codes
        self._since += votes

    def _record(self, s: int, codes: Codes) -> None:
        ballot = codes[:, self.off[s] : self.off[s + 1]].tobytes()
        self._counts[s][ballot] = self._counts[s].get(ballot, 0) + int(self._since[s])
        self._since[s] = 0

    def winners(self) -> Codes:
        """The labelling of each sentence with the most votes, [labels, N]; in case of a tie the one recorded first.

        ValueError if there were no votes.
        """
        if self._last is None:
            raise ValueError("nobody voted")
        elected = self._last.copy()
        for s, counts in enumerate(self._counts):
            self._record(s, self._last)
            states = elected[:, self.off[s] : self.off[s + 1]]
            states[...] = np.frombuffer(max(counts, key=counts.__getitem__), np.int32).reshape(states.shape)
        return elected
