"""log Z of sentences whose labels are restricted: each case of an event is a sequence with its states clamped.

    log p(case | x) = log Z of the labellings in the case − log Z
    p(part | x)     = Σ over its disjoint cases of p(case | x)

One factor of a single variable at each position restricts it, so a case adds no loop, and whatever is exact without
it is exact with it. Not here: events and their cases (`label_events`), what is made of the sums
(`event_probabilities`, `calibration`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..foundation import Floats, Ints32, Mask, data_error
from ..inference import METHODS, RunStatus, Workers, repeated_data, run_inference
from ..semantics import Case
from .predictor import Predictor

FEW_STATES = 128
MOST_TOKENS = 2**20  # of the sequences that are bound at once

PlacedCase = tuple[int, Case]  # of a sentence by its number
Part = tuple[int, Sequence[Case]]  # of a sentence by its number: the disjoint cases of what is asked about there


class CaseSums(NamedTuple):
    """log_z [R]: natural logs, -inf where no labelling is possible.   approximate: whether messages estimated them."""

    log_z: Floats
    approximate: bool
    status: RunStatus


def log_shares(
    predictor: Predictor, parts: Sequence[Part], weights: Floats, workers: Workers, log_z: dict[int, float]
) -> tuple[Floats, CaseSums]:
    """log p of each part [n] at `weights` [W], NaN in a sentence without any labelling; and the sums behind it.

    log_z: of sentences, where it is known; gets that of the others. All are given the labels that the predictor knows.
    DcrfError if `ModelStructure.sums_fit` does not hold.
    """
    if not parts:
        return np.empty(0), CaseSums(np.empty(0), False, RunStatus())
    if not predictor.structure.sums_fit:
        message = "the probability of an event is a ratio of sums over all labellings, and `pruned` leaves some out"
        raise data_error("cannot-prune", message, help="`tag --marginals` has the probabilities of single labels")
    whole = sorted({s for s, _ in parts} - log_z.keys())
    cases: list[PlacedCase] = [(s, {}) for s in whole]
    cases += [(s, case) for s, of_part in parts for case in of_part]
    sums = sums_of_cases(predictor, cases, weights, workers)
    log_z |= dict(zip(whole, sums.log_z.tolist(), strict=False))
    logs, end = np.full(len(parts), np.nan), len(whole)
    for n, (s, of_part) in enumerate(parts):
        start, end = end, end + len(of_part)
        if np.isfinite(log_z[s]):
            logs[n] = _log_sum(sums.log_z[start:end]) - log_z[s]
    return logs, sums


def _log_sum(logs: Floats) -> float:
    """log Σ exp; -inf of nothing."""
    peak = float(logs.max(initial=-np.inf))
    if len(logs) < 2 or peak == -np.inf:
        return peak
    return peak + float(np.log(np.exp(logs - peak).sum()))


def sums_of_cases(predictor: Predictor, cases: Sequence[PlacedCase], weights: Floats, workers: Workers) -> CaseSums:
    """log Z of each case [R] at `weights` [W], also where the model's own method leaves labellings out."""
    name, settings = predictor.structure.comparable_method
    entry = METHODS[name]
    sets = _sets_of(cases, predictor.structure.graph.cards)
    tables = {variable: _table(of, predictor.structure.graph.cards[variable]) for variable, of in sets.items()}
    data = predictor.restricted(tables, programs=entry.programs)
    status, approximate = RunStatus(), False
    log_z = np.zeros(len(cases))
    for first, last in _runs(cases, predictor.corpus.lengths().tolist()):
        part = cases[first:last]
        sentences = np.array([sentence for sentence, _ in part], np.int64)
        codes = _codes(part, sets, predictor.corpus.lengths()[sentences].tolist())
        repeated = repeated_data(data, sentences, codes)
        method = entry.build(repeated, settings)
        out = run_inference(repeated, method, repeated.potentials_at(weights, predictor.constant_weights), workers)
        log_z[first:last] = out.log_z
        status, approximate = status + out.summary(), approximate or method.approximate
    return CaseSums(log_z, approximate, status)


def _sets_of(cases: Sequence[PlacedCase], cards: Sequence[int]) -> dict[int, dict[int, int]]:
    """For each variable that is restricted its sets of states, with a code for each from 1 on.

    The commonest ones, each state and all but it, always have the same codes: most events then share what is bound.
    """
    bits_of = {variable: dict[int, None]() for variable in sorted({v for _, case in cases for _, v in case})}
    for variable, found in bits_of.items():
        card = cards[variable]
        if card <= FEW_STATES:
            found.update(dict.fromkeys(1 << state for state in range(card)))
            found.update(dict.fromkeys((1 << card) - 1 - (1 << state) for state in range(card)))
    for _, case in cases:
        for (_, variable), bits in case.items():
            bits_of[variable][bits] = None
    return {variable: {bits: n + 1 for n, bits in enumerate(found)} for variable, found in bits_of.items()}


def _table(sets: dict[int, int], card: int) -> Mask:
    """Which states each code allows, [1 + sets, card]; code 0 allows all."""
    size = (card + 7) // 8
    packed = [np.frombuffer(bits.to_bytes(size, "little"), np.uint8) for bits in sets]
    rows = [np.unpackbits(row, count=card, bitorder="little").astype(np.bool_) for row in packed]
    return np.array([np.ones(card, np.bool_), *rows])


def _codes(cases: Sequence[PlacedCase], sets: dict[int, dict[int, int]], lengths: Sequence[int]) -> Ints32:
    """[variables, tokens of all cases]"""
    row = {variable: n for n, variable in enumerate(sets)}
    codes, start = np.zeros((len(sets), sum(lengths)), np.int32), 0
    for (_, case), length in zip(cases, lengths, strict=True):
        for (position, variable), bits in case.items():
            codes[row[variable], start + position] = sets[variable][bits]
        start += length
    return codes


def _runs(cases: Sequence[PlacedCase], lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Runs of cases, (first, last + 1), that are bound at once."""
    first = tokens = 0
    for n, (sentence, _) in enumerate(cases):
        if tokens and tokens + lengths[sentence] > MOST_TOKENS:
            yield first, n
            first, tokens = n, 0
        tokens += lengths[sentence]
    if first < len(cases):
        yield first, len(cases)
