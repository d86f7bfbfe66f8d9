"""The instances of relational cliques: pairs of positions of one sequence that `where` joins.

`where word[i] = word[j] and word[i] matches /[A-Z].*/` is split into equalities between the two positions, tests of one
position, and the rest. Positions are joined on the equalities by sorting, so that the work grows with the number of
pairs, not with the square of the length. The rest is tested on those pairs.

    link = next     the nearest later position that satisfies everything       link = all    every later one
    order = any     every ordered pair, also backwards (an arc from a word to its head)

A pair is left out if a site would lie outside the sequence, or two sites would be the same variable. Not here: the
factors on the pairs (`graph`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ..foundation import Ints, Ints32, Mask, data_error, dataclass
from ..semantics import conjuncts, index_gaps, plain
from ..syntax import Apply, CliqueSpec, Condition, Equals, Named, Reference
from .plan import fixed_condition, leaves, named_offset, split_offset, with_offsets
from .values import TRUE, CorpusValues, PairBlock, equality_codes, joint_test

MOST_PAIRS = 50_000_000  # a limit of memory, which `link = all` on a constant column reaches
_Accepted = Callable[[Ints, Ints], Mask]


class Pairs(NamedTuple):
    """Pairs of tokens, sorted by sentence, first and second token. Those of sentence s are `off[s]` to `off[s + 1]`."""

    first: Ints  #  [P]  token (over the whole corpus) at the first named position
    second: Ints  # [P]
    off: Ints  #    [S+1]

    def local(self, sentence: int, sentence_off: Ints) -> tuple[tuple[int, int], ...]:
        """The pairs of one sentence, as positions in it."""
        pairs = slice(self.off[sentence], self.off[sentence + 1])
        start = sentence_off[sentence]
        return tuple(zip((self.first[pairs] - start).tolist(), (self.second[pairs] - start).tolist(), strict=True))


def pair_block(first: Ints, second: Ints, sentence_off: Ints) -> PairBlock:
    """The pairs as rows for reading features."""
    sentence = np.searchsorted(sentence_off, first, side="right") - 1
    return PairBlock(first, second, sentence_off[sentence], sentence_off[sentence + 1])


def relate(clique: CliqueSpec, values: CorpusValues) -> Pairs:
    """The instances of a relational clique in a corpus."""
    sentence_off = np.asarray(values.corpus.sentence_off, np.int64)
    equalities, of_first, of_second, rest = _taken_apart(clique, values)
    tokens = np.arange(sentence_off[-1], dtype=np.int64)
    itself = pair_block(tokens, tokens, sentence_off)
    fits_first, fits_second = _fits(of_first, itself, values), _fits(of_second, itself, values)
    keys = [equality_codes(key, values, itself) for key in equalities]
    for left, right in keys:
        fits_first &= left >= 0
        fits_second &= right >= 0
    least, most = _gaps(clique, values)
    group = _group([left for left, _ in keys], [right for _, right in keys], itself.start)
    join = _Join(group, tokens[fits_first], tokens[fits_second], least, len(tokens) if most is None else most)

    def accepted(first: Ints, second: Ints) -> Mask:
        block = pair_block(first, second, sentence_off)
        return _fits(rest, block, values) & _sites_apart(clique, block)

    every = clique.link == "all" or clique.order == "any"
    first, second = join.every(clique.order == "any", accepted) if every else join.nearest(accepted)
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    return Pairs(first, second, np.searchsorted(first, sentence_off).astype(np.int64))


def _taken_apart(
    clique: CliqueSpec, values: CorpusValues
) -> tuple[list[Equals], list[Condition], list[Condition], list[Condition]]:
    """The parts of `where`: equalities of the first position and the second, tests of each position, and the rest."""
    assert clique.where is not None
    where = fixed_condition(values.spec, with_offsets(clique.where, clique.positions))
    keys: list[Equals] = []
    parts: dict[frozenset[int], list[Condition]] = {}
    for part in conjuncts(where):
        if isinstance(part, Equals) and not part.negated:
            sides = [_reads(side, values) for side in (part.left, part.right)]
            if sides == [{1}, {2}]:
                keys.append(part)
                continue
            if sides == [{2}, {1}]:
                keys.append(Equals(left=part.right, right=part.left))
                continue
        parts.setdefault(frozenset(_reads(part, values)), []).append(part)
    first, second = parts.pop(frozenset({1}), []), parts.pop(frozenset({2}), [])
    return keys, first, second, [part for several in parts.values() for part in several]


def _reads(condition: Condition | Reference | Apply, values: CorpusValues) -> set[int]:
    return {split_offset(offset)[0] for _, offset in leaves(values.spec, condition)}


def _fits(conditions: Sequence[Condition], block: PairBlock, values: CorpusValues) -> Mask:
    out = np.ones(block.num_rows, np.bool_)
    for condition in conditions:
        out &= joint_test(condition, values)(block) == TRUE
    return out


def _sites_apart(clique: CliqueSpec, block: PairBlock) -> Mask:
    """[R] whether all sites lie in the sentence, and no two are the same variable."""
    places = [
        (site.variable, named_offset(clique.positions.index(site.place.position), site.place.shift))
        for site in clique.sites
        if isinstance(site.place, Named)
    ]
    out = block.inside([offset for _, offset in places])
    for (variable, offset), (other, there) in combinations(places, 2):
        if other == variable:
            out &= block.tokens(offset)[0] != block.tokens(there)[0]
    return out


def _gaps(clique: CliqueSpec, values: CorpusValues) -> tuple[int, int | None]:
    """The least and the largest distance, by settings and by `where`."""
    settled = (
        plain(values.spec.settled(gap)) if isinstance(gap, Reference) else gap
        for gap in (clique.min_gap, clique.max_gap)
    )
    least, most = (gap if isinstance(gap, int) else None for gap in settled)
    least = least or 1
    if clique.order == "forward" and clique.where is not None:
        low, high = index_gaps(values.spec, clique.where, clique.positions)
        least = least if low is None else max(least, low)
        most = high if most is None else most if high is None else min(most, high)
    return least, most


def _group(left: list[Ints32], right: list[Ints32], start: Ints) -> tuple[Ints, Ints]:
    """A number for each sentence and combination of key codes: of each token as the first, and as the second."""
    columns = [np.concatenate([start, start]), *(np.concatenate(pair) for pair in zip(left, right, strict=True))]
    _, number = np.unique(np.stack(columns), axis=1, return_inverse=True)
    number = number.ravel().astype(np.int64)
    return number[: len(start)], number[len(start) :]


@dataclass(frozen=True)
class _Join:
    """The candidates: `group` of each token as first and as second [N]; tokens that may be first, and second."""

    group: tuple[Ints, Ints]
    first: Ints
    second: Ints
    min_gap: int
    max_gap: int

    def _ranges(self, backwards: bool) -> tuple[Ints, list[tuple[Ints, Ints]]]:
        """Second tokens by group and token; where in them those of each first token begin and end: later ones, and with
        `backwards` earlier ones.
        """
        size = len(self.group[0])
        number = self.group[1][self.second] * (size + 1) + self.second  # of group and token together
        order = np.argsort(number, kind="stable")
        number, base = number[order], self.group[0][self.first] * (size + 1)
        distances = [(self.min_gap, self.max_gap), *([(-self.max_gap, -self.min_gap)] if backwards else [])]
        ranges = []
        for low, high in distances:
            begin = np.searchsorted(number, base + np.clip(self.first + low, 0, size))
            end = np.searchsorted(number, base + np.clip(self.first + high, -1, size), side="right")
            ranges.append((begin, np.maximum(begin, end)))
        return self.second[order], ranges

    def nearest(self, accepted: _Accepted) -> tuple[Ints, Ints]:
        """The first acceptable later token of each; candidates are tried in rounds, the nearest first."""
        seconds, ((at, end),) = self._ranges(backwards=False)
        waiting = np.flatnonzero(at < end)
        found_first, found_second = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        while len(waiting):
            first, second = self.first[waiting], seconds[at[waiting]]
            good = accepted(first, second)
            found_first.append(first[good])
            found_second.append(second[good])
            waiting = waiting[~good]
            at[waiting] += 1
            waiting = waiting[at[waiting] < end[waiting]]
        return np.concatenate(found_first), np.concatenate(found_second)

    def every(self, backwards: bool, accepted: _Accepted) -> tuple[Ints, Ints]:
        """All acceptable later tokens of each, and with `backwards` all earlier ones."""
        seconds, ranges = self._ranges(backwards)
        count = sum(int((end - begin).sum()) for begin, end in ranges)
        if count > MOST_PAIRS:
            remedy = "use `link = next`, a `max_gap`, or a condition that fewer positions share"
            message = f"a relational clique would join {count:,} pairs of positions"
            raise data_error("too-many-pairs", message, help=remedy)
        found_first, found_second = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for begin, end in ranges:
            counts = end - begin
            first = np.repeat(self.first, counts)
            step = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
            second = seconds[np.repeat(begin, counts) + step]
            good = accepted(first, second)
            found_first.append(first[good])
            found_second.append(second[good])
        return np.concatenate(found_first), np.concatenate(found_second)
